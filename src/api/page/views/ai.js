// AI gateways: budgets, and the calls that went through.

import { all, call, path } from "/page/api.js";
import { choice, h, number, table, time } from "/page/dom.js";

const money = (value) => (value === null || value === undefined ? "–" : `$${Number(value).toFixed(4)}`);
const limit = ({ measure, limit: most, interval, by }) =>
  `${measure === "cost" ? `$${most}` : `${number(most)} ${measure}`} every ${interval}${by?.length ? ` by ${by.join(", ")}` : ""}`;

/** What a model of a route is called at its provider, and what limits and conditions stand before it. */
const element = ({ type, properties: is = {} }) => {
  switch (type) {
    case "model": return `${is.provider}/${is.model}`;
    case "rate": return is.limitType === "cost" ? `at most $${is.limit} every ${number(is.window)} s` : `at most ${number(is.limit)} calls every ${number(is.window)} s`;
    case "conditional": return "a condition";
    case "percentage": return "shares";
    default: return null;
  }
};

const HOUR = 3600e3;
const PERIODS = { hour: ["the last hour", HOUR], day: ["the last day", 24 * HOUR], week: ["the last week", 168 * HOUR], month: ["the last 30 days", 720 * HOUR] };

/** What calls can be added up by: members of rows, and entries of metadata that limits or calls name. */
const dimensions = (gateway, rows) => {
  const entries = new Set((gateway?.limits ?? []).flatMap(({ by }) => by ?? []).filter((by) => by.startsWith("metadata.")));
  // Clients choose their keys; the API adds up by those that have no quote.
  const isKey = (key) => key.length > 0 && key.length <= 40 && !/["\0]/.test(key);
  rows.forEach(({ metadata }) => Object.keys(metadata ?? {}).filter(isKey).forEach((key) => entries.add(`metadata.${key}`)));
  return [["token", "token"], ["model", "model or tool"], ["provider", "provider"], ["route", "route"], ["status", "status"], ["day", "day"], ["hour", "hour"],
    ...[...entries].sort().map((entry) => [entry, entry.slice("metadata.".length)])];
};

/** Who used what, and what it cost. */
async function usage({ base, gateway, rows, query, go }) {
  const known = dimensions(gateway, rows);
  const by = known.find(([word]) => word === query.by)?.[0] ?? known.find(([word]) => word.startsWith("metadata."))?.[0] ?? "token";
  const period = PERIODS[query.period] ? query.period : "week";
  const start = new Date(Date.now() - PERIODS[period][1]).toISOString();
  const [{ result: totals }, tokens] = await Promise.all([
    call("GET", `${base}/usage`, { query: { by, start_date: start, per_page: 50 } }),
    by === "token" ? all(`${base}/tokens`) : [],
  ]);
  const named = (value) => (by === "token" ? tokens.find(({ id }) => id === value)?.name || value : value) || "(none)";
  return [
    h("h2", {}, "Usage"),
    h("div", { class: "filters" },
      choice("By", known, by, (value) => go({ by: value, period })),
      choice("In", Object.entries(PERIODS).map(([word, [text]]) => [word, text]), period, (value) => go({ by, period: value }))),
    table("Usage", [
      [known.find(([word]) => word === by)[1], (row) => named(row.value)],
      ["Calls", (row) => number(row.calls), true],
      ["Failed", (row) => number(row.failed), true],
      ["From the cache", (row) => number(row.cached), true],
      ["Tokens in", (row) => number(row.tokens_in), true],
      ["Tokens out", (row) => number(row.tokens_out), true],
      ["Cost", (row) => money(row.cost), true],
    ], totals, "No call in this time."),
  ];
}

export async function ai({ query }) {
  const accounts = await all("/accounts");
  const gateways = (await Promise.all(accounts.map(async ({ id }) =>
    (await all(path`/accounts/${id}/ai-gateway/gateways`)).map((gateway) => ({ ...gateway, account: id }))))).flat();
  const known = gateways.map(({ account, id }) => [`${account}/${id}`, `${account} / ${id}`]);
  if (known.length === 0) return [h("h1", {}, "AI"), h("p", {}, "There is no gateway. `[[gateways]]` in the file or the API makes one.")];
  const chosen = query.gateway ?? known[0][0];
  const [account, id] = chosen.split("/");
  const gateway = gateways.find((one) => one.account === account && one.id === id);
  const base = path`/accounts/${account}/ai-gateway/gateways/${id}`;
  const page = Number(query.page ?? 1);
  const { result, result_info: info } = await call("GET", `${base}/logs`, { query: { page, per_page: 50 } });
  const routes = await all(`${base}/routes`);
  const go = (change) => {
    const kept = Object.fromEntries(["by", "period"].filter((name) => query[name]).map((name) => [name, query[name]]));
    location.hash = `/ai?${new URLSearchParams({ gateway: chosen, ...kept, ...change })}`;
  };
  return [
    h("h1", {}, "AI"),
    h("div", { class: "filters" }, choice("Gateway", known, chosen, (value) => go({ gateway: value }))),
    h("p", {}, `${gateway?.authentication ? "Calls need a token of the gateway." : "Calls need no token."} `,
      gateway?.limits?.length ? `Limits: ${gateway.limits.map(limit).join("; ")}.` : "No limits."),
    routes.length === 0 ? null : h("h2", {}, `Routes: ${number(routes.length)}`),
    routes.length === 0 ? null : table("Dynamic routes", [
      ["Model", (route) => `dynamic/${route.name}`],
      ["Leads to", (route) => (route.elements ?? []).map(element).filter(Boolean).join(", ")],
      ["Version", (route) => (route.declared_at ? "of the file" : time(route.version?.created_at))],
    ], routes, ""),
    await usage({ base, gateway, rows: result, query, go }),
    (gateway?.mcp_servers ?? []).length === 0 ? null : h("h2", {}, "Servers of tools"),
    (gateway?.mcp_servers ?? []).length === 0 ? null : table("Servers of tools", [
      ["Name", (server) => server.name],
      ["Address", (server) => server.url],
      ["Tools", (server) => (server.tools ? server.tools.join(", ") || "none" : "all")],
    ], gateway.mcp_servers, ""),
    h("h2", {}, `Calls: ${number(info?.total_count ?? result.length)}`),
    table("AI calls", [
      ["Time", (row) => time(row.created_at)],
      ["Provider", (row) => row.provider],
      ["Model", (row) => (row.route ? `${row.model} (dynamic/${row.route})` : (row.model ?? "–"))],
      ["Status", (row) => h("span", { class: row.success ? "good" : "bad" }, `${row.success ? "✓" : "✗"} ${row.status_code ?? ""}`)],
      ["Tokens in", (row) => number(row.tokens_in ?? 0), true],
      ["Tokens out", (row) => number(row.tokens_out ?? 0), true],
      ["Cost", (row) => money(row.cost), true],
      ["Took", (row) => `${number(row.duration ?? 0)} ms`, true],
      ["Cached", (row) => (row.cached ? "yes" : "")],
    ], result, "No call was logged yet."),
    h("p", { class: "row" },
      page > 1 ? h("button", { type: "button", onclick: () => go({ page: page - 1 }) }, "Newer") : null,
      page < (info?.total_pages ?? 1) ? h("button", { type: "button", onclick: () => go({ page: page + 1 }) }, "Older") : null),
  ];
}
