// Zones, and one zone: settings, DNS records, hostnames of customers and certificates.

import { all, call, find, path } from "/page/api.js";
import { failure, h, link, table, tell, time } from "/page/dom.js";

export async function zones() {
  const found = await all("/zones");
  return [
    h("h1", {}, "Zones"),
    table("Zones", [
      ["Name", (zone) => link(`zone/${encodeURIComponent(zone.id)}`, zone.name)],
      ["Status", (zone) => zone.status],
      ["Account", (zone) => zone.account?.name ?? ""],
      ["Origins", (zone) => (zone.origins ?? []).join(", ")],
      ["Declared at", (zone) => zone.declared_at ?? "the API"],
    ], found, "There is no zone. `[[zones]]` in the file or the API makes one."),
  ];
}

const state = (word) => h("span", { class: word === "active" ? "good" : "warn" }, word);

/** One setting: shown, and changed if that is a value of its own. */
function value(zone, setting) {
  const text = JSON.stringify(setting.value);
  if (!setting.editable) return h("code", {}, text);
  const input = h("input", { value: text, "aria-label": `Value of ${setting.id}`, spellcheck: "false", size: "24" });
  const place = h("span", {});
  const submit = async (event) => {
    event.preventDefault();
    let wanted = input.value;
    try { wanted = JSON.parse(input.value); } catch { /* A word without quotes is that word. */ }
    try {
      const { result } = await call("PATCH", path`/zones/${zone}/settings/${setting.id}`, { body: { value: wanted } });
      input.value = JSON.stringify(result.value);
      place.replaceChildren(h("span", { class: "good" }, "✓"));
      tell(`${setting.id} is set.`);
    } catch (error) {
      place.replaceChildren(failure(error));
    }
  };
  return h("form", { class: "row", onsubmit: submit }, input, h("button", { type: "submit" }, "Set"), place);
}

export async function zone({ rest: [id] }) {
  const [shown, settings, records, hostnames, packs] = await Promise.all([
    find(path`/zones/${id}`), find(path`/zones/${id}/settings`), all(path`/zones/${id}/dns_records`),
    all(path`/zones/${id}/custom_hostnames`), all(path`/zones/${id}/ssl/certificate_packs`),
  ]);
  if (!shown) return [h("h1", {}, "Zone"), h("p", {}, "There is no such zone.")];
  return [
    h("h1", {}, shown.name),
    h("p", { class: "quiet" }, shown.declared_at ? `Declared at ${shown.declared_at}, and changed there.` : `Made over the API, ${shown.created_on}.`),
    h("div", { class: "row" }, link(`events?owner=zones/${encodeURIComponent(id)}`, "Events"), link(`rules?zone=${encodeURIComponent(id)}`, "Rules"), link(`history?zone=${encodeURIComponent(id)}`, "History")),
    h("h2", {}, "DNS records"),
    table("DNS records", [
      ["Name", (record) => record.name], ["Type", (record) => record.type], ["Content", (record) => record.content],
      ["Proxied", (record) => (record.proxied ? h("span", { class: "good" }, "proxied") : "DNS only")],
      ["TTL", (record) => (record.ttl === 1 ? "auto" : record.ttl), true], ["Comment", (record) => record.comment ?? ""],
    ], records, "No record: requests go to the origins of the zone."),
    h("h2", {}, "Hostnames of customers"),
    table("Hostnames", [
      ["Hostname", (hostname) => hostname.hostname], ["State", (hostname) => state(hostname.status)],
      ["Certificate", (hostname) => (hostname.ssl ? state(hostname.ssl.status) : "none")],
      ["What is missing", (hostname) => [...(hostname.verification_errors ?? []), ...(hostname.ssl?.validation_errors ?? []).map(({ message }) => message)].join("; ")],
    ], hostnames, "None."),
    h("h2", {}, "Certificates"),
    table("Certificates", [
      ["Names", (pack) => (pack.hosts ?? []).join(", ")], ["State", (pack) => state(pack.status)], ["Kind", (pack) => pack.type],
      ["Ends", (pack) => (pack.certificates?.[0]?.expires_on ? time(pack.certificates[0].expires_on) : "–")],
      ["What is missing", (pack) => (pack.validation_errors ?? []).map(({ message }) => message).join("; ")],
    ], packs, "None of its own."),
    h("h2", {}, "Settings"),
    table("Settings", [["Setting", (setting) => setting.id], ["Value", (setting) => value(id, setting)]], settings ?? []),
  ];
}
