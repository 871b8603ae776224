// Security events, and one request with the change that would let it pass.

import { all, call, find, get, path } from "/page/api.js";
import { choice, failure, h, link, number, table, tell, time } from "/page/dom.js";

const FILTERS = { action: "Action", source: "Source", host: "Host", client: "Client", path: "Path", reference: "Rule", ray: "Ray" };
const CUSTOM = "http_request_firewall_custom";

/** Where events are asked for: `account/ID` or `zone/ID`. */
async function owners() {
  const [accounts, zones] = await Promise.all([all("/accounts"), all("/zones")]);
  return [...accounts.map(({ id, name }) => [`accounts/${id}`, `Account ${name}`]), ...zones.map(({ id, name }) => [`zones/${id}`, name])];
}

/** The path of the events of an owner. */
const eventsOf = (owner) => `/${owner.split("/").map(encodeURIComponent).join("/")}/security/events`;

const address = (query) => `events?${new URLSearchParams(Object.entries(query).filter(([, value]) => value))}`;

export async function events({ query }) {
  const known = await owners();
  const owner = query.owner ?? known[0]?.[0];
  if (!owner) return [h("h1", {}, "Events"), h("p", {}, "There is neither an account nor a zone.")];
  const filters = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, query[name]]));
  const page = Number(query.page ?? 1);
  const base = eventsOf(owner);
  const [{ result, result_info: info }, top] = await Promise.all([
    call("GET", base, { query: { ...filters, page, per_page: 50 } }),
    get(`${base}/top`, { ...filters, field: "reference", per_page: 8 }),
  ]);
  const go = (change) => { location.hash = `/${address({ ...query, owner, page: "", ...change })}`; };
  const fields = Object.entries(FILTERS).map(([name, title]) =>
    h("label", {}, title, h("input", { name, value: query[name] ?? "", size: "14", spellcheck: "false" })));
  const submit = (event) => {
    event.preventDefault();
    go(Object.fromEntries(new FormData(event.target)));
  };
  const step = (to, text) => h("button", { type: "button", onclick: () => go({ page: String(to) }) }, text);
  return [
    h("h1", {}, "Events"),
    h("form", { class: "filters", onsubmit: submit },
      choice("Of", known, owner, (value) => go({ owner: value })), fields,
      h("button", { class: "main", type: "submit" }, "Filter")),
    h("h2", {}, "Most frequent"),
    table("Most frequent rules", [
      ["Rule", (row) => link(address({ ...query, owner, reference: row.value, page: "" }), row.value || "–")],
      ["Events", (row) => number(row.count), true],
    ], top),
    h("h2", {}, `Events: ${number(info.total_count)}`),
    table("Security events", [
      ["Time", (row) => time(row.Datetime)],
      ["Action", (row) => h("span", { class: row.Action === "log" ? "warn" : "bad" }, row.Action)],
      ["What", (row) => `${row.Service}: ${row.Description || row.Ref}`],
      ["Score", (row) => (row.score ? number(row.score) : ""), true],
      ["Client", (row) => row.ClientIP],
      ["Request", (row) => `${row.ClientRequestMethod} ${row.ClientRequestHost}${row.ClientRequestPath}`],
      ["Status", (row) => row.EdgeResponseStatus, true],
      ["Times", (row) => number(row.count), true],
      ["Ray", (row) => (row.RayID ? link(`request/${encodeURIComponent(row.RayID)}?owner=${encodeURIComponent(owner)}`, row.RayID) : "")],
    ], result, "No event is like this."),
    h("p", { class: "row" }, page > 1 ? step(page - 1, "Newer") : null, page < info.total_pages ? step(page + 1, "Older") : null,
      h("span", { class: "quiet" }, `Page ${page} of ${info.total_pages}`)),
  ];
}

/** A text in an expression. */
const quoted = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;

/** The narrowest rule that lets a request pass that managed rules refused. */
function exclusion(event) {
  const ids = [...new Set(event.contributions.map(({ RuleID }) => RuleID).filter(Boolean))];
  return {
    action: "skip",
    description: `Let ${event.ClientRequestMethod} ${event.ClientRequestPath} pass (${event.RayID})`.slice(0, 200),
    expression: `http.host eq ${quoted(event.ClientRequestHost)} and http.request.method eq ${quoted(event.ClientRequestMethod)} and raw.http.request.uri.path eq ${quoted(event.ClientRequestPath)}`,
    action_parameters: { rules: { [event.RulesetID]: ids } },
  };
}

/** Writes a rule as the last one of the custom rules of a zone. */
async function add(zone, rule, dry) {
  const query = dry ? { dry_run: "true" } : {};
  const known = await find(path`/zones/${zone}/rulesets/phases/${CUSTOM}/entrypoint`);
  if (!known) return call("PUT", path`/zones/${zone}/rulesets/phases/${CUSTOM}/entrypoint`, { query, body: { rules: [rule] } });
  return call("POST", path`/zones/${zone}/rulesets/${known.id}/rules`, { query, body: { ...rule, position: { index: 1 } } });
}

function letPass(event, zone) {
  const rule = exclusion(event);
  const place = h("div", {});
  const confirm = async () => {
    try {
      await add(zone, rule, false);
      place.replaceChildren(h("p", { class: "good" }, "✓ The rule is in force. It stands first among the custom rules of the zone."));
      tell("The rule is in force.");
    } catch (error) {
      place.append(failure(error));
    }
  };
  const propose = async () => {
    place.replaceChildren(h("p", {}, "This rule would be added. It passes over these managed rules alone, for this host, method and path alone:"),
      h("pre", { tabindex: "0" }, JSON.stringify(rule, null, 2)));
    try {
      await add(zone, rule, true);
      place.append(h("div", { class: "row" }, h("button", { class: "main", type: "button", onclick: confirm }, "Add the rule"),
        h("button", { type: "button", onclick: () => place.replaceChildren() }, "Cancel")));
    } catch (error) {
      place.append(failure(error), error.status === 409 ? h("p", {}, "The zone is declared in a file: add the rule there, under [[zones.rulesets]].") : null);
    }
  };
  return [h("button", { type: "button", onclick: propose }, "Let this pass…"), place];
}

export async function request({ rest: [ray], query }) {
  const owner = query.owner ?? (await owners())[0]?.[0];
  const base = eventsOf(owner);
  const [found, zones] = await Promise.all([get(base, { ray, per_page: 50 }), all("/zones")]);
  if (found.length === 0) return [h("h1", {}, `Request ${ray}`), h("p", {}, "No event of this request is kept.")];
  const sections = found.map((event) => {
    const zone = zones.find(({ name }) => name === event.zone);
    const contributions = event.contributions ?? [];
    const values = Object.entries(event.values ?? {});
    return [
      h("h2", {}, `${event.Service}: ${event.Action}`),
      h("p", {}, time(event.Datetime), ` · rule ${event.Ref} · ${event.Description}`),
      event.score ? h("p", {}, `Score ${event.score}, of these rules:`) : null,
      contributions.length ? table("Rules that made up the score", [
        ["Rule", (row) => row.Ref],
        ["Score", (row) => number(row.score), true],
        ["What", (row) => row.Description],
        ["Where", (row) => h("code", {}, row.variable)],
      ], contributions) : null,
      values.length ? table("What the expression saw", [["Field", ([name]) => h("code", {}, name)], ["Value", ([, value]) => value]], values) : null,
      zone && event.Source === "firewallmanaged" && contributions.length ? letPass(event, zone.id) : null,
    ];
  });
  const first = found[0];
  return [
    h("h1", {}, `${first.ClientRequestMethod} ${first.ClientRequestHost}${first.ClientRequestPath}`),
    h("p", { class: "quiet" }, `Ray ${ray} · client ${first.ClientIP} · ${first.ClientRequestUserAgent || "no user agent"} · status ${first.EdgeResponseStatus}`),
    ...sections.flat(),
  ];
}
