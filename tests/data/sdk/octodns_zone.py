"""Plans, applies and dumps a zone of 3,000 records with octoDNS against an edge, of which it only gets the base URL."""

import logging
import os
import tempfile

from octodns.manager import Manager

ZONE = "octo.example."
logging.disable(logging.WARNING)


def rows():
    yield """'':
  - type: MX
    values: [{exchange: mail.octo.example., preference: 10}, {exchange: mail2.octo.example., preference: 20}]
  - type: CAA
    value: {flags: 0, tag: issue, value: ca.example}
  - type: TXT
    values: ['v=spf1 -all', 'with \\; semicolon']
sub:
  - type: NS
    values: [ns1.example.net., ns2.example.net.]
  - {type: DS, value: {key_tag: 1, algorithm: 13, digest_type: 2, digest: %s}}
ssh: {type: SSHFP, value: {algorithm: 1, fingerprint_type: 1, fingerprint: %s}}
loc:
  type: LOC
  value: {lat_degrees: 31, lat_minutes: 58, lat_seconds: 52.1, lat_direction: S, long_degrees: 115, long_minutes: 49,
    long_seconds: 11.7, long_direction: E, altitude: 20, size: 10, precision_horz: 10, precision_vert: 2}
naptr:
  type: NAPTR
  value: {order: 10, preference: 100, flags: S, service: SIP+D2U, regexp: '!^.*$!sip:info@example.com!', replacement: .}
_443._tcp.tlsa:
  type: TLSA
  value: {certificate_usage: 3, selector: 1, matching_type: 1, certificate_association_data: %s}
svcb: {type: SVCB, value: {svcpriority: 1, targetname: h0.octo.example., svcparams: {port: '8443', alpn: [h2, h3]}}}
https: {type: HTTPS, value: {svcpriority: 1, targetname: ., svcparams: {alpn: [h2]}}}
ptr: {type: PTR, value: host.example.com.}
""" % ("ab" * 32, "ab" * 20, "ab" * 32)
    for nth in range(3_000):
        yield [
            f"h{nth}: {{type: A, ttl: 300, values: [192.0.2.{nth % 250}, 198.51.100.{nth % 250}]}}",
            f"h{nth}: {{type: AAAA, value: '2001:db8::{nth:x}'}}",
            f"h{nth}: {{type: CNAME, value: h0.octo.example.}}",
            f"h{nth}: {{type: TXT, value: text number {nth}}}",
            f"_s{nth}._tcp: {{type: SRV, value: {{priority: 1, weight: 2, port: {nth + 1}, target: h0.octo.example.}}}}",
            f"h{nth}: {{type: A, octodns: {{cloudflare: {{proxied: true}}}}, value: 203.0.113.{nth % 250}}}",
        ][nth % 6] + "\n"


folder = tempfile.mkdtemp()
os.mkdir(f"{folder}/zones")
with open(f"{folder}/zones/octo.example.yaml", "w") as file:
    file.write("---\n" + "".join(rows()))
with open(f"{folder}/octo.yaml", "w") as file:
    file.write(f"""
providers:
  files: {{class: octodns.provider.yaml.YamlProvider, directory: {folder}/zones, default_ttl: 3600, enforce_order: false}}
  dumped: {{class: octodns.provider.yaml.YamlProvider, directory: {folder}/dumped, default_ttl: 3600}}
  edge:
    class: octodns_cloudflare.CloudflareProvider
    token: {os.environ["TOKEN"]}
    account_id: default
    api_url: {os.environ["API"]}
    pagerules: false
    min_ttl: 60
    retry_count: 0
zones:
  {ZONE}: {{sources: [files], targets: [edge]}}
""")


def sync(**more):
    return Manager(f"{folder}/octo.yaml").sync(eligible_zones=[ZONE], **more)


assert sync(dry_run=True, force=True) == 0, "a plan changes nothing"
applied = sync(dry_run=False, force=True)
assert applied == 3_012, applied
left = sync(dry_run=False)
assert left == 0, f"{left} changes are left"
with open(f"{folder}/zones/octo.example.yaml") as file:
    changed = file.read().replace("192.0.2.0,", "192.0.2.251,", 1).replace("ptr: {type", "ptr2: {type")
with open(f"{folder}/zones/octo.example.yaml", "w") as file:
    file.write(changed)
assert sync(dry_run=False) == 3, "a change, one record more and one less"
assert sync(dry_run=False) == 0
os.mkdir(f"{folder}/dumped")
Manager(f"{folder}/octo.yaml").dump(ZONE, f"{folder}/dumped", ["edge"])
with open(f"{folder}/dumped/octo.example.yaml") as file:
    dumped = file.read()
assert dumped.count("type: SRV") == 500 and "192.0.2.251" in dumped, dumped[:2_000]
print("ok")
