// What was changed, how two versions differ, and the way back.

import { all, call, find, get, path } from "/page/api.js";
import { choice, failure, h, phaseTitle, table, tell, time } from "/page/dom.js";

/** Lines of two texts that only one of them has: the longest common lines are left out. */
function diff(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i][j] = old[i] === now[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) { lines.push([" ", old[i]]); i += 1; j += 1; }
    else if (j < now.length && (i === old.length || common[i][j + 1] >= common[i + 1][j])) { lines.push(["+", now[j]]); j += 1; }
    else { lines.push(["-", old[i]]); i += 1; }
  }
  return lines;
}

/** What of a rule people write. */
const written = (ruleset) => JSON.stringify((ruleset.rules ?? []).map(({ version, last_updated, ...rule }) => rule), null, 1);

function showDiff(before, after) {
  return h("pre", { tabindex: "0" }, diff(before, after).map(([sign, line]) =>
    h("span", { class: { "+": "good", "-": "bad", " ": "quiet" }[sign] }, `${sign} ${line}\n`)));
}

async function phase(zone, ruleset) {
  const base = path`/zones/${zone}/rulesets/phases/${ruleset.phase}/entrypoint`;
  const past = (await find(`${base}/history`)) ?? [];
  const place = h("div", {});
  const look = async (version) => {
    try {
      const [then, now] = await Promise.all([get(`${base}/versions/${encodeURIComponent(version)}`), get(base)]);
      const restore = async () => {
        try {
          await call("POST", path`/zones/${zone}/rulesets/${ruleset.id}/versions/${version}/restore`, { body: {} });
          tell(`Version ${version} is in force again.`);
          place.replaceChildren(h("p", { class: "good" }, `✓ Version ${version} is in force again.`));
        } catch (error) {
          place.append(failure(error));
        }
      };
      place.replaceChildren(h("h3", {}, `From now (version ${now.version}) to version ${version}`), showDiff(written(now), written(then)),
        h("button", { class: "main", type: "button", onclick: restore }, `Put version ${version} in force`));
    } catch (error) {
      place.replaceChildren(failure(error));
    }
  };
  return [
    h("h2", {}, phaseTitle(ruleset.phase)),
    table(`History of ${phaseTitle(ruleset.phase)}`, [
      ["Version", (row) => row.version],
      ["When", (row) => time(row.at ?? row.last_updated)],
      ["Who", (row) => row.actor ?? ""],
      ["Go back", (row) => (row.version === ruleset.version ? "in force" : h("button", { type: "button", onclick: () => look(row.version) }, "Compare…"))],
    ], past, "It was never changed over the API."),
    place,
  ];
}

async function records(zone) {
  const past = (await find(path`/zones/${zone}/dns_records/history`)) ?? [];
  const place = h("div", {});
  const back = async (serial) => {
    const body = { serial };
    try {
      const { result } = await call("POST", path`/zones/${zone}/dns_records/rollback`, { query: { dry_run: "true" }, body });
      const confirm = async () => {
        try {
          await call("POST", path`/zones/${zone}/dns_records/rollback`, { body });
          place.replaceChildren(h("p", { class: "good" }, `✓ Records are as they were at serial ${serial}.`));
          tell("Records are as they were.");
        } catch (error) {
          place.append(failure(error));
        }
      };
      place.replaceChildren(h("p", {}, `This would be done to go back to serial ${serial}:`), h("pre", { tabindex: "0" }, JSON.stringify(result, null, 2)),
        h("button", { class: "main", type: "button", onclick: confirm }, `Go back to serial ${serial}`));
    } catch (error) {
      place.replaceChildren(failure(error));
    }
  };
  return [
    h("h2", {}, "DNS records"),
    table("History of records", [
      ["Serial", (row) => row.serial], ["When", (row) => time(row.at)], ["Who", (row) => row.actor],
      ["Made or changed", (row) => row.put, true], ["Deleted", (row) => row.deleted, true],
      ["Go back", (row) => h("button", { type: "button", onclick: () => back(row.serial) }, "Go back…")],
    ], past, "Records were never changed over the API."),
    place,
  ];
}

export async function history({ query }) {
  const zones = await all("/zones");
  if (zones.length === 0) return [h("h1", {}, "History"), h("p", {}, "There is no zone.")];
  const zone = query.zone ?? zones[0].id;
  const rulesets = (await get(path`/zones/${zone}/rulesets`)).filter(({ kind }) => kind === "zone");
  const phases = await Promise.all(rulesets.map((ruleset) => phase(zone, ruleset)));
  return [
    h("h1", {}, "History"),
    h("div", { class: "filters" }, choice("Zone", zones.map(({ id, name }) => [id, name]), zone, (value) => { location.hash = `/history?zone=${encodeURIComponent(value)}`; })),
    ...phases.flat(),
    ...(await records(zone)),
  ];
}
