"""Custom hostnames and certificates with the official SDK, every answer validated."""

import os
import pathlib
import subprocess
import tempfile

import cloudflare

folder = pathlib.Path(tempfile.mkdtemp())


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def read(name):
    return (folder / name).read_text()


def brought(name, kind, host, is_ca="FALSE"):
    """A certificate that signs itself, and its key."""
    openssl(
        "req", "-x509", "-newkey", *kind, "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "9",
        "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{host}",
        "-addext", f"basicConstraints=critical,CA:{is_ca}",
    )
    return {"custom_certificate": read(f"{name}.pem"), "custom_key": read(f"{name}.key")}


RSA, ECDSA = ["rsa:2048"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]

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

pairs = [brought("rsa", RSA, "b.customer.dev"), brought("ecdsa", ECDSA, "b.customer.dev")]
made = hostnames.create(zone_id=zone, hostname="b.customer.dev", ssl={"custom_cert_bundle": pairs})
pack = packs.get(zone_id=zone, certificate_pack_id=made.ssl.id)
assert len(pack.certificates) == 2 and made.ssl.status == "active", pack
path = {"zone_id": zone, "custom_hostname_id": made.id, "certificate_pack_id": made.ssl.id}
of_pack = hostnames.certificate_pack.certificates
[rsa] = [one.id for one in pack.certificates if one.signature == "SHA256WithRSA"]
replaced = of_pack.update(rsa, **path, **brought("next", RSA, "b.customer.dev"))
assert replaced.id == made.id and replaced.ssl.hosts == ["b.customer.dev"], replaced
pack = packs.get(zone_id=zone, certificate_pack_id=made.ssl.id)
[rsa] = [one.id for one in pack.certificates if one.signature == "SHA256WithRSA"]
of_pack.delete(rsa, **path)
assert len(packs.get(zone_id=zone, certificate_pack_id=made.ssl.id).certificates) == 1

subject = {"country": "DE", "state": "Berlin", "locality": "Berlin", "organization": "Shop"}
csrs = client.custom_csrs
csr = csrs.create(zone_id=zone, common_name="saas.dev", sans=["saas.dev"], key_type="p256v1", name="one", **subject)
assert csrs.get(csr.id, zone_id=zone).csr == csr.csr and csr.key_type == "p256v1"
assert [one.id for one in csrs.list(zone_id=zone)] == [csr.id]
brought("ca", ECDSA, "ca.example", "TRUE")
(folder / "request.pem").write_text(csr.csr)
openssl(
    "x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "9",
    "-copy_extensions", "copy", "-out", "signed.pem",
)
certificates = client.custom_certificates
own = brought("own", RSA, "saas.dev")
first = certificates.create(
    zone_id=zone, certificate=own["custom_certificate"], private_key=own["custom_key"], bundle_method="force"
)
second = certificates.create(zone_id=zone, certificate=read("signed.pem"), custom_csr_id=csr.id)
assert second.custom_csr_id == csr.id and second.status == "active" and first.hosts == ["saas.dev"], second
prioritized = certificates.prioritize.update(zone_id=zone, certificates=[{"id": first.id, "priority": 7}])
assert [(one.id, one.priority) for one in prioritized] == [(first.id, 7), (second.id, 0)]
assert [one.id for one in certificates.list(zone_id=zone, status="active")] == [first.id, second.id]
edited = certificates.edit(custom_certificate_id=first.id, zone_id=zone, bundle_method="optimal")
assert certificates.get(custom_certificate_id=first.id, zone_id=zone) == edited and edited.bundle_method == "optimal"
assert certificates.delete(custom_certificate_id=second.id, zone_id=zone).id == second.id
assert csrs.delete(csr.id, zone_id=zone).id == csr.id
csr = csrs.create(account_id="acme", common_name="saas.dev", sans=["saas.dev"], **subject)
assert csr.key_type == "rsa2048" and [one.id for one in csrs.list(account_id="acme")] == [csr.id]

universal = client.ssl.universal.settings
assert universal.get(zone_id=zone).enabled is False
assert universal.edit(zone_id=zone, enabled=True).enabled is True
assert universal.edit(zone_id=zone, enabled=False).enabled is False
settings = client.zones.settings
assert settings.edit(zone_id=zone, setting_id="min_tls_version", value="1.3").value == "1.3"
assert settings.get(zone_id=zone, setting_id="always_use_https").value == "off"
client.zones.delete(zone_id=zone)
print("ok")
