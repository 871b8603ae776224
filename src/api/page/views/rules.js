// Rules of a zone by phase, and what managed rules do under its overrides.

import { all, find, get, path } from "/page/api.js";
import { choice, h, number, phaseTitle, table } from "/page/dom.js";

const MANAGED = "http_request_firewall_managed";

export async function rules({ query }) {
  const zones = await all("/zones");
  if (zones.length === 0) return [h("h1", {}, "Rules"), h("p", {}, "There is no zone.")];
  const zone = query.zone ?? zones[0].id;
  const go = (change) => { location.hash = `/rules?${new URLSearchParams({ zone, ...change })}`; };
  const rulesets = (await get(path`/zones/${zone}/rulesets`)).filter(({ kind }) => kind === "zone" || kind === "custom");
  const whole = await Promise.all(rulesets.map(({ id }) => get(path`/zones/${zone}/rulesets/${id}`)));
  const explained = await find(path`/zones/${zone}/rulesets/phases/${MANAGED}/entrypoint/explain`);
  const words = (query.search ?? "").toLowerCase();
  const managed = explained ?? [];
  const wanted = managed.filter((rule) => !words || JSON.stringify(rule).toLowerCase().includes(words));
  const search = (event) => {
    event.preventDefault();
    go({ search: new FormData(event.target).get("search") });
  };
  return [
    h("h1", {}, "Rules"),
    h("div", { class: "filters" }, choice("Zone", zones.map(({ id, name }) => [id, name]), zone, (value) => go({ zone: value }))),
    ...whole.map((ruleset) => [
      h("h2", {}, phaseTitle(ruleset.phase)),
      h("p", { class: "quiet" }, `${ruleset.phase} · version ${ruleset.version}${ruleset.declared_at ? ` · declared at ${ruleset.declared_at}` : ""}`),
      table(phaseTitle(ruleset.phase), [
        ["Action", (rule) => rule.action],
        ["For", (rule) => h("code", {}, rule.expression)],
        ["Description", (rule) => rule.description ?? ""],
        ["State", (rule) => (rule.enabled === false ? h("span", { class: "warn" }, "off") : "on")],
      ], ruleset.rules ?? []),
    ]).flat(),
    h("h2", {}, "Managed rules"),
    h("form", { class: "filters", onsubmit: search },
      h("label", {}, "Search", h("input", { name: "search", value: query.search ?? "" })),
      h("button", { type: "submit" }, "Search")),
    h("p", { class: "quiet" }, `${number(wanted.length)} of ${number(managed.length)} rules, the first 300 shown`),
    table("Managed rules", [
      ["Rule", (rule) => rule.ref],
      ["What", (rule) => rule.description],
      ["Level", (rule) => rule.paranoia_level ?? "", true],
      ["State", (rule) => (rule.enabled ? "on" : h("span", { class: "warn" }, "off"))],
      ["Decided by", (rule) => rule.enabled_by],
      ["Acts from", (rule) => (rule.score_threshold ? `${rule.score_threshold}: ${rule.action}` : "")],
    ], wanted.slice(0, 300), "No managed ruleset runs for this zone."),
  ];
}
