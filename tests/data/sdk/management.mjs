import Cloudflare from 'cloudflare';
const c = new Cloudflare({ baseURL: process.env.API, apiToken: process.env.TOKEN, maxRetries: 0 });
const assert = (x, m) => { if (!x) { console.error(m); process.exit(1); } };
const z = await c.zones.create({ account: { id: 'acme' }, name: 'js.example', type: 'full' });
const names = []; for await (const x of c.zones.list({ name: 'js.example' })) names.push(x.name);
assert(names.length === 1 && names[0] === 'js.example', names);
const managed = []; for await (const r of c.rulesets.list({ account_id: 'acme' })) managed.push(r);
const owasp = managed.find(r => r.phase === 'http_request_firewall_managed');
const full = await c.rulesets.get(owasp.id, { account_id: 'acme' });
const last = full.rules[full.rules.length - 1];
try { await c.rulesets.phases.get('http_request_firewall_managed', { zone_id: z.id }); assert(false, 'no 404'); } catch (e) { assert(e.status === 404 && e.errors[0].code === 10003, e); }
let r = await c.rulesets.create({ zone_id: z.id, kind: 'zone', name: 'x', phase: 'http_request_firewall_managed', rules: [] });
r = await c.rulesets.rules.create(r.id, { zone_id: z.id, action: 'execute', action_parameters: { id: owasp.id }, expression: 'true', description: 'd' });
assert(r.version === '2' && r.rules.length === 1, r);
r = await c.rulesets.rules.edit(r.rules[0].id, { ruleset_id: r.id, zone_id: z.id, action: 'execute', expression: 'true', action_parameters: { id: owasp.id, overrides: { rules: [{ id: last.id, score_threshold: 60, action: 'log' }] } } });
assert(r.rules[0].action_parameters.overrides.rules[0].score_threshold === 60, r);
await c.rulesets.delete(r.id, { zone_id: z.id });
const g = await c.aiGateway.create({ account_id: 'acme', id: 'js', cache_invalidate_on_update: false, cache_ttl: 0, collect_logs: true, rate_limiting_interval: 60, rate_limiting_limit: 10, rate_limiting_technique: 'fixed' });
assert(g.id === 'js' && g.rate_limiting_limit === 10, g);
await c.aiGateway.delete('js', { account_id: 'acme' });
const groups = []; for await (const x of c.user.tokens.permissionGroups.list()) groups.push(x);
const read = groups.find(x => x.name === 'Zone Read');
const t = await c.user.tokens.create({ name: 'js', policies: [{ effect: 'allow', permission_groups: [{ id: read.id }], resources: { 'com.svc.api.account.*': '*' } }] });
const limited = new Cloudflare({ baseURL: process.env.API, apiToken: t.value, maxRetries: 0 });
assert((await limited.user.tokens.verify()).status === 'active');
try { await limited.zones.delete({ zone_id: z.id }); assert(false, 'deleted'); } catch (e) { assert(e.status === 403, e); }
await c.user.tokens.delete(t.id);
assert((await c.zones.delete({ zone_id: z.id })).id === z.id);
console.log('ok');
