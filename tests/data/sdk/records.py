"""Writes records of every type with the official SDK, every answer validated, and reads them back."""

import json
import os
import pathlib

import cloudflare

client = cloudflare.Cloudflare(
    api_token=os.environ["TOKEN"], base_url=os.environ["API"], max_retries=0, _strict_response_validation=True
)
zone = client.zones.create(name="records.example", account={"id": "acme"}).id
records = client.dns.records

types = pathlib.Path(__file__).parent.parent / "dns" / "types.jsonl"
made = 0
for line in types.read_text().splitlines():
    kind, name, value, content = json.loads(line)
    fields = {"type": kind, "name": name, "ttl": 1, **value}
    record = records.create(zone_id=zone, **fields)
    assert record.content == content, record
    assert records.get(record.id, zone_id=zone).to_dict() == record.to_dict()
    assert records.update(record.id, zone_id=zone, **fields).to_dict() == record.to_dict()
    assert records.edit(record.id, zone_id=zone, **fields).to_dict() == record.to_dict()
    for field, sent in value.get("data", {}).items():
        assert getattr(record.data, field) == sent, (field, record)
    made += 1
assert made == 21
assert len(list(records.list(zone_id=zone, per_page=5))) == made
assert [record.type for record in records.list(zone_id=zone, type="SRV")] == ["SRV"]
exported = records.export(zone_id=zone)
assert exported.count("\tIN\t") == made, exported
batch = records.batch(zone_id=zone, posts=[{"type": "A", "name": "b", "content": "192.0.2.5", "ttl": 1}])
batch = records.batch(zone_id=zone, patches=[{"id": batch.posts[0].id, "content": "192.0.2.6"}])
assert records.delete(batch.patches[0].id, zone_id=zone).id == batch.patches[0].id
imported = records.import_(zone_id=zone, file="new 300 IN A 192.0.2.77\n", proxied="true")
assert (imported.recs_added, imported.total_records_parsed) == (1, 1)
settings = client.dns.settings.zone.edit(zone_id=zone, soa={"refresh": 7200}, flatten_all_cnames=True)
assert settings.soa.refresh == 7200 and client.dns.settings.zone.get(zone_id=zone).flatten_all_cnames
account = client.dns.settings.account.edit(account_id="acme", zone_defaults={"ns_ttl": 3600})
assert account.zone_defaults.ns_ttl == 3600
try:
    records.create(zone_id=zone, type="A", name="bad", content="x", ttl=1)
    raise SystemExit("a wrong address was taken")
except cloudflare.BadRequestError as error:
    assert error.errors[0].code == 9005, error
print("ok")
