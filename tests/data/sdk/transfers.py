"""Names name servers of others and hands a zone over with the official SDK, every answer validated."""

import base64
import os

import cloudflare

client = cloudflare.Cloudflare(
    api_token=os.environ["TOKEN"], base_url=os.environ["API"], max_retries=0, _strict_response_validation=True
)
zone = client.zones.create(name="transfers.example", account={"id": "default"}).id
transfers = client.dns.zone_transfers
secret = base64.b64encode(b"0123456789abcdef" * 2).decode()

key = transfers.tsigs.create(account_id="default", name="k.example.", algo="hmac-sha512.", secret=secret)
assert transfers.tsigs.get(key.id, account_id="default").secret == secret
key = transfers.tsigs.update(key.id, account_id="default", name="k2.example.", algo="hmac-sha256.", secret=secret)
assert [known.name for known in transfers.tsigs.list(account_id="default")] == ["k2.example"]

acl = transfers.acls.create(account_id="default", ip_range="192.0.2.53/28", name="a")
acl = transfers.acls.update(acl.id, account_id="default", ip_range="192.0.2.0/24", name="b")
assert [known.ip_range for known in transfers.acls.list(account_id="default")] == ["192.0.2.0/24"]

peer = transfers.peers.create(account_id="default", name="p")
peer = transfers.peers.update(
    peer.id, account_id="default", name="p", ip="127.0.0.1", port=9, tsig_id=key.id, ixfr_enable=True
)
assert transfers.peers.get(peer.id, account_id="default") == peer

outgoing = transfers.outgoing.create(zone_id=zone, name="transfers.example.", peers=[peer.id])
assert transfers.outgoing.status.get(zone_id=zone) == "Enabled"
assert transfers.outgoing.disable(zone_id=zone) == "Disabled"
assert transfers.outgoing.enable(zone_id=zone) == "Enabled"
assert transfers.outgoing.force_notify(zone_id=zone) == "OK"
transfers.outgoing.update(zone_id=zone, name="transfers.example.", peers=[peer.id])
assert transfers.outgoing.get(zone_id=zone).peers == [peer.id]
assert transfers.outgoing.delete(zone_id=zone).id == outgoing.id

incoming = transfers.incoming.create(
    zone_id=zone, name="transfers.example.", peers=[peer.id], auto_refresh_seconds=86_400
)
transfers.incoming.update(zone_id=zone, name="transfers.example.", peers=[peer.id], auto_refresh_seconds=3_600)
assert transfers.force_axfr.create(zone_id=zone) == "OK"
assert transfers.incoming.get(zone_id=zone).auto_refresh_seconds == 3_600
assert transfers.incoming.delete(zone_id=zone).id == incoming.id

transfers.peers.delete(peer.id, account_id="default")
transfers.tsigs.delete(key.id, account_id="default")
transfers.acls.delete(acl.id, account_id="default")

assert client.dns.records.scan_trigger(zone_id=zone).success
assert list(client.dns.records.scan_list(zone_id=zone)) == []
record = {"type": "A", "name": "x.transfers.example", "content": "192.0.2.1", "ttl": 60}
review = client.dns.records.scan_review(zone_id=zone, accepts=[record], rejects=[])
assert review.accepts[0].content == "192.0.2.1"
assert client.dns.dnssec.edit(zone_id=zone, status="active").status == "pending"
assert client.dns.dnssec.get(zone_id=zone).key_tag
client.dns.dnssec.delete(zone_id=zone)
print("ok")
