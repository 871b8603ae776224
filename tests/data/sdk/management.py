import os
import cloudflare
from cloudflare import Cloudflare
c = Cloudflare(base_url=os.environ["API"], api_token=os.environ["TOKEN"], max_retries=0, _strict_response_validation=True)
acc="acme"
import json, types
def of(o): return json.loads(json.dumps(o), object_hook=lambda d: types.SimpleNamespace(**d)) if isinstance(o, dict) else o
assert "acme" in [account.id for account in c.accounts.list()]
z = c.zones.create(account={"id": acc}, name="sdk.example", type="full")
assert [x.name for x in c.zones.list(name="sdk.example")] == ["sdk.example"]
assert c.zones.get(zone_id=z.id).id == z.id
managed = list(c.rulesets.list(account_id=acc))
owasp = next(r for r in managed if r.phase == "http_request_firewall_managed")
full = c.rulesets.get(owasp.id, account_id=acc)
last = full.rules[-1]
try:
    c.rulesets.phases.get("http_request_firewall_managed", zone_id=z.id); raise SystemExit("no 404")
except cloudflare.NotFoundError as e: assert e.errors[0].code == 10003, e
r = of(c.rulesets.create(zone_id=z.id, kind="zone", name="x", phase="http_request_firewall_managed", rules=[]))
r = of(c.rulesets.rules.create(r.id, zone_id=z.id, action="execute", action_parameters={"id": owasp.id}, expression="true", description="d"))
assert r.version == "2", r
r = of(c.rulesets.rules.edit(r.rules[0].id, ruleset_id=r.id, zone_id=z.id, action="execute", expression="true",
    action_parameters={"id": owasp.id, "overrides": {"categories": [{"category": "paranoia-level-4", "enabled": False}], "rules": [{"id": last.id, "score_threshold": 60, "action": "log"}]}}))
assert r.rules[0].action_parameters.overrides.rules[0].score_threshold == 60
p = of(c.rulesets.phases.update("http_request_firewall_managed", zone_id=z.id, rules=[{"action": "execute", "expression": "true", "action_parameters": {"id": owasp.id}}]))
assert [v.version for v in c.rulesets.versions.list(p.id, zone_id=z.id)][0] == p.version
try:
    c.rulesets.rules.create(r.id, zone_id=z.id, action="execute", action_parameters={"id": owasp.id}, expression="nope nope")
    raise SystemExit("accepted")
except cloudflare.BadRequestError as e: assert e.errors[0].code == 20125, e
c.rulesets.delete(r.id, zone_id=z.id)
g = c.ai_gateway.create(account_id=acc, id="sdk", cache_invalidate_on_update=False, cache_ttl=0, collect_logs=True, rate_limiting_interval=60, rate_limiting_limit=10, rate_limiting_technique="fixed")
g = c.ai_gateway.update("sdk", account_id=acc, cache_invalidate_on_update=False, cache_ttl=None, collect_logs=True, rate_limiting_interval=None, rate_limiting_limit=None)
assert g.rate_limiting_limit is None
budget = dict(id="team", limit=20.5, limit_type="cost", window=86400, technique="fixed", enabled=True, model=dict(mode="filter", values=["gpt-4o"]), metadata=dict(team=dict(mode="partition"), stage=dict(mode="filter", values=["live"])))
policy = dict(id="keys", action="BLOCK", check=["REQUEST", "RESPONSE"], enabled=True, profiles=["credential"])
plain = dict(account_id=acc, cache_invalidate_on_update=False, cache_ttl=None, collect_logs=True, rate_limiting_interval=None, rate_limiting_limit=None)
g = c.ai_gateway.update("sdk", **plain, spend_limits=dict(enabled=True, rules=[budget]), dlp=dict(enabled=True, policies=[policy]))
assert g.spend_limits.rules[0].limit == 20.5 and g.spend_limits.rules[0].limit_type == "cost" and g.dlp.policies[0].check == ["REQUEST", "RESPONSE"], g
g = c.ai_gateway.update("sdk", **plain, dlp=dict(enabled=True, action="FLAG", profiles=["pii"]))
assert g.dlp.action == "FLAG" and g.spend_limits is None, g
g = c.ai_gateway.update("sdk", **{**plain, "cache_invalidate_on_update": True}, otel=[dict(url="https://spans.example/v1/traces", authorization="", headers={}, content_type="json")])
assert (g.otel[0].url, g.otel[0].content_type, g.cache_invalidate_on_update) == ("https://spans.example/v1/traces", "json", True), g
assert "sdk" in [x.id for x in c.ai_gateway.list(account_id=acc)]
routes, at = c.ai_gateway.dynamic_routing, dict(account_id=acc, gateway_id="sdk")
def graph(model): return [{"id": "start", "type": "start", "outputs": {"next": {"elementId": "if"}}},
    {"id": "if", "type": "conditional", "properties": {"conditions": {"metadata.plan": {"$eq": "paid"}}}, "outputs": {"true": {"elementId": "rate"}, "false": {"elementId": "split"}}},
    {"id": "split", "type": "percentage", "outputs": {"10%": {"elementId": "model"}, "else": {"elementId": "end"}}},
    {"id": "rate", "type": "rate", "properties": {"key": "metadata.user", "limit": 5, "limitType": "count", "window": 60}, "outputs": {"success": {"elementId": "model"}, "fallback": {"elementId": "end"}}},
    {"id": "model", "type": "model", "properties": {"provider": "openai", "model": model, "retries": 1, "timeout": 1000}, "outputs": {"success": {"elementId": "end"}, "fallback": {"elementId": "end"}}},
    {"id": "end", "type": "end", "outputs": {}}]
route = routes.create(account_id=acc, gateway_id="sdk", name="support", elements=graph("a"))
assert [x.id for x in routes.list("sdk", account_id=acc).data.routes] == [route.id]
assert routes.update(route.id, name="help", **at).route.name == "help"
second = [v for v in routes.create_version(route.id, elements=graph("b"), **at).elements if v.type == "model"][0]
assert second.properties.model == "b"
versions = routes.list_versions(route.id, **at).data.versions
assert [v.active for v in versions] == ["false", "true"], versions
routes.create_deployment(route.id, version_id=versions[0].version_id, **at)
got = routes.get(route.id, **at)
assert (got.name, got.version_id, got.version.active) == ("help", versions[0].version_id, "true"), got
assert routes.get_version(versions[1].version_id, id=route.id, **at).active == "false"
assert len(routes.list_deployments(route.id, **at).data.deployments) == 2
assert routes.delete(route.id, **at).name == "help"
c.ai_gateway.delete("sdk", account_id=acc)
groups = {x.name: x.id for x in Cloudflare(base_url=os.environ["API"], api_token=os.environ["TOKEN"]).user.tokens.permission_groups.list()}
t = c.user.tokens.create(name="sdk", policies=[{"effect": "allow", "permission_groups": [{"id": groups["Zone Read"]}], "resources": {"com.svc.api.account.*": "*"}}])
limited = Cloudflare(base_url=os.environ["API"], api_token=t.value, max_retries=0, _strict_response_validation=True)
assert limited.user.tokens.verify().status == "active"
assert limited.zones.get(zone_id=z.id).id == z.id
try: limited.zones.delete(zone_id=z.id); raise SystemExit("deleted")
except cloudflare.PermissionDeniedError as e: assert "Zone Write" in e.errors[0].message, e
assert t.id in [x.id for x in c.user.tokens.list()]
c.user.tokens.delete(t.id)
c.zones.edit(zone_id=z.id, paused=False)
assert c.zones.delete(zone_id=z.id).id == z.id
print("ok")
