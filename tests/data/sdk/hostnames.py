"""Custom hostnames and certificates with the official SDK, every answer validated."""

import os

import cloudflare

client = cloudflare.Cloudflare(
    api_token=os.environ["TOKEN"], base_url=os.environ["API"], max_retries=0, _strict_response_validation=True
)
zone = client.zones.create(name="saas.dev", account={"id": "acme"}, type="full").id
client.dns.records.create(zone_id=zone, type="A", name="origin", content="192.0.2.7", ttl=1, proxied=True)

hostnames = client.custom_hostnames
fallback = hostnames.fallback_origin
assert fallback.update(zone_id=zone, origin="origin.saas.dev").status == "active"
assert fallback.get(zone_id=zone).origin == "origin.saas.dev"

ssl = {"method": "txt", "type": "dv", "wildcard": False, "bundle_method": "ubiquitous"}
ssl["settings"] = {"http2": "on", "min_tls_version": "1.2", "tls_1_3": "on"}
made = hostnames.create(
    zone_id=zone, hostname="shop.customer.dev", ssl=ssl, custom_metadata={"tier": "gold"},
    extra_body={"custom_origin_server": "origin.saas.dev"},
)
assert made.hostname == "shop.customer.dev" and made.status == "pending", made
assert made.ownership_verification.name == "_svc-custom-hostname.shop.customer.dev"
assert made.ssl.settings.min_tls_version == "1.2" and made.ssl.method == "txt"
assert hostnames.get(zone_id=zone, custom_hostname_id=made.id).id == made.id
assert [one.id for one in hostnames.list(zone_id=zone)] == [made.id]
assert [one.id for one in hostnames.list(zone_id=zone, ssl=1)] == [made.id]
edited = hostnames.edit(zone_id=zone, custom_hostname_id=made.id, ssl=ssl, custom_metadata={"tier": "tin"})
assert edited.custom_metadata == {"tier": "tin"}
try:
    hostnames.create(zone_id=zone, hostname="shop.customer.dev", ssl=ssl)
    raise SystemExit("a duplicate was taken")
except cloudflare.ConflictError as error:
    assert error.errors[0].code == 1406, error
# The SDK looks for the identifier outside of the envelope.
hostnames.delete(zone_id=zone, custom_hostname_id=made.id)
assert list(hostnames.list(zone_id=zone)) == []

order = client.ssl.certificate_packs.create(
    zone_id=zone, type="advanced", hosts=["saas.dev", "*.saas.dev"], validation_method="txt", validity_days=90,
    certificate_authority="lets_encrypt",
)
assert order.hosts == ["saas.dev", "*.saas.dev"] and order.status == "initializing", order
packs = client.ssl.certificate_packs
assert packs.get(zone_id=zone, certificate_pack_id=order.id).id == order.id
assert order.id in [pack.id for pack in packs.list(zone_id=zone, status="all")]
assert packs.quota.get(zone_id=zone).advanced.used == 1
assert client.ssl.verification.get(zone_id=zone)[0].certificate_status == "initializing"
assert packs.delete(zone_id=zone, certificate_pack_id=order.id).id == order.id

universal = client.ssl.universal.settings
assert universal.get(zone_id=zone).enabled is False
assert universal.edit(zone_id=zone, enabled=True).enabled is True
assert universal.edit(zone_id=zone, enabled=False).enabled is False
settings = client.zones.settings
assert settings.edit(zone_id=zone, setting_id="min_tls_version", value="1.3").value == "1.3"
assert settings.get(zone_id=zone, setting_id="always_use_https").value == "off"
client.zones.delete(zone_id=zone)
print("ok")
