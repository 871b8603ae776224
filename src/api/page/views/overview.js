// What happens now, from two looks at the metrics.

import { get, metrics } from "/page/api.js";
import { h, link, number, s, table, tiles } from "/page/dom.js";

const EVERY = 2000;
const KEPT = 90;

const sum = (samples, name, keep = () => true) =>
  samples.filter((sample) => sample.name === name && keep(sample.labels)).reduce((total, { value }) => total + value, 0);

/** Samples of a name, added up by one label or several. */
function by(samples, name, ...labels) {
  const groups = new Map();
  for (const sample of samples.filter((one) => one.name === name)) {
    const key = labels.map((label) => sample.labels[label] ?? "").join("\u0000");
    groups.set(key, (groups.get(key) ?? 0) + sample.value);
  }
  return groups;
}

/** The time below which a share of requests was answered since the look before, in milliseconds. */
function quantile(before, now, share) {
  const name = "portcullis_request_duration_seconds_bucket";
  const [old, buckets] = [by(before, name, "le"), by(now, name, "le")];
  const counts = [...buckets].map(([le, count]) => [Number(le.replace("+Inf", "Infinity")), count - (old.get(le) ?? 0)])
    .sort((one, other) => one[0] - other[0]);
  const all = counts.at(-1)?.[1] ?? 0;
  if (all <= 0) return "–";
  let [low, below] = [0, 0];
  for (const [high, count] of counts) {
    if (count >= all * share) {
      const part = count > below ? (all * share - below) / (count - below) : 0;
      return Number.isFinite(high) ? `${number((low + (high - low) * part) * 1000)} ms` : `> ${number(low * 1000)} ms`;
    }
    [low, below] = [high, count];
  }
  return "–";
}

function chart(rates) {
  const most = Math.max(1, ...rates);
  const points = rates.map((rate, nth) => `${(nth / (KEPT - 1)) * 100},${38 - (rate / most) * 34}`).join(" ");
  return s("svg", { class: "chart", viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img",
    "aria-label": `Requests a second over the last three minutes: now ${number(rates.at(-1) ?? 0)}, most ${number(most)}` },
  s("polyline", { points }));
}

function byZone(before, now, seconds) {
  const name = "portcullis_requests_total";
  const old = by(before, name, "zone", "verdict");
  const rows = new Map();
  for (const [key, count] of by(now, name, "zone", "verdict")) {
    const [zone, verdict] = key.split("\u0000");
    const row = rows.get(zone) ?? { zone, rate: 0, total: 0, refused: 0 };
    row.total += count;
    row.rate += (count - (old.get(key) ?? 0)) / seconds;
    if (!["pass", "log"].includes(verdict)) row.refused += count;
    rows.set(zone, row);
  }
  return [...rows.values()].sort((one, other) => other.total - one.total).slice(0, 20);
}

function calls(now) {
  const label = ["gateway", "gen_ai_provider_name", "gen_ai_request_model"];
  const [input, output, cost] = ["gen_ai_client_inference_usage_input_tokens_total", "gen_ai_client_inference_usage_output_tokens_total", "gen_ai_client_cost_usd_total"]
    .map((name) => by(now, name, ...label));
  return [...new Set([...input.keys(), ...output.keys(), ...cost.keys()])].map((key) => {
    const [gateway, provider, model] = key.split("\u0000");
    return { gateway, provider, model, input: input.get(key) ?? 0, output: output.get(key) ?? 0, cost: cost.get(key) ?? 0 };
  }).slice(0, 20);
}

export async function overview({ ended }) {
  // Whose token is none has nothing to see here.
  await get("/user");
  const place = h("div", {});
  const rates = [];
  let [before, at] = [await metrics(), performance.now()];
  const draw = (now, seconds) => {
    const change = (name, keep) => Math.max(0, sum(now, name, keep) - sum(before, name, keep)) / seconds;
    const requests = "portcullis_requests_total";
    rates.push(change(requests));
    rates.splice(0, rates.length - KEPT);
    const errors = change(requests, ({ status }) => status.startsWith("5"));
    const refused = change(requests, ({ verdict }) => !["pass", "log"].includes(verdict));
    const origins = now.filter(({ name }) => name === "portcullis_origin_up");
    place.replaceChildren(
      tiles({
        "Requests a second": number(rates.at(-1)),
        "Refused a second": number(refused),
        "5xx a second": number(errors),
        "Half within": quantile(before, now, 0.5),
        "99 % within": quantile(before, now, 0.99),
        "Connections": number(sum(now, "portcullis_connections")),
        "Memory": `${number(sum(now, "process_resident_memory_bytes") / 1e6)} MB`,
        "Snapshot": number(sum(now, "portcullis_snapshot_revision")),
      }),
      chart(rates),
      h("h2", {}, "Zones"),
      table("Requests by zone", [
        ["Zone", (row) => row.zone],
        ["A second", (row) => number(row.rate), true],
        ["Since the start", (row) => number(row.total), true],
        ["Refused", (row) => number(row.refused), true],
      ], byZone(before, now, seconds), "No request yet."),
      h("h2", {}, "Origins"),
      table("Origins", [
        ["Zone", (row) => row.labels.zone],
        ["Origin", (row) => row.labels.origin],
        ["State", (row) => (row.value === 1 ? h("span", { class: "good" }, "✓ up") : h("span", { class: "bad" }, "✗ down"))],
      ], origins, "No origin was asked yet."),
      h("h2", {}, "AI calls"),
      table("AI calls by model", [
        ["Gateway", (row) => row.gateway],
        ["Provider", (row) => row.provider],
        ["Model", (row) => row.model],
        ["Tokens in", (row) => number(row.input), true],
        ["Tokens out", (row) => number(row.output), true],
        ["Cost", (row) => `$${row.cost.toFixed(4)}`, true],
      ], calls(now), "No call yet."));
    before = now;
  };
  draw(before, 1);
  const timer = setInterval(async () => {
    // A page that nobody sees asks for nothing.
    if (document.hidden) return;
    try {
      const now = await metrics();
      const seconds = (performance.now() - at) / 1000;
      at = performance.now();
      if (!ended.aborted) draw(now, seconds);
    } catch {
      place.replaceChildren(h("p", { class: "error", role: "alert" }, "The edge does not answer; trying again."));
    }
  }, EVERY);
  ended.addEventListener("abort", () => clearInterval(timer));
  return [h("h1", {}, "Overview"), place, h("p", { class: "row" }, link("events", "Security events"), link("events?source=dlp", "Sensitive data"))];
}
