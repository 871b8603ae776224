// Elements are made of texts alone: nothing that a client of the edge chose is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** An element with attributes, listeners (`onclick`) and children. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** The same in an SVG. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** A table; `columns` are `[title, cell of a row, is a number]`. */
export function table(caption, columns, rows, empty = "Nothing yet.") {
  if (rows.length === 0) return h("p", { class: "quiet" }, empty);
  const kind = (number) => (number ? { class: "number" } : {});
  return h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    h("table", {},
      h("thead", {}, h("tr", {}, columns.map(([title, , number]) => h("th", { scope: "col", ...kind(number) }, title)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, columns.map(([, cell, number]) => h("td", kind(number), cell(row))))))));
}

/** Figures side by side. */
export const tiles = (figures) => h("dl", { class: "tiles" },
  Object.entries(figures).map(([title, value]) => h("div", { class: "tile" }, h("dt", {}, title), h("dd", {}, value))));

export const link = (to, text) => h("a", { href: `#/${to}` }, text);

/** A choice of `[value, text]` pairs. */
export const choice = (title, options, value, onchange) => h("label", {}, title,
  h("select", { onchange: (event) => onchange(event.target.value) },
    options.map(([option, text]) => h("option", { value: option, selected: option === value }, text))));

const PHASES = {
  http_request_dynamic_redirect: "Redirects",
  http_request_redirect: "Redirects of lists",
  http_request_transform: "Changes of URIs",
  http_config_settings: "Settings by rule",
  http_request_firewall_custom: "Custom rules",
  http_ratelimit: "Rate limits",
  http_request_firewall_managed: "Managed rules of requests",
  http_request_late_transform: "Changes of request fields",
  http_request_origin: "Choice of origins",
  http_request_cache_settings: "Kept responses",
  http_response_headers_transform: "Changes of response fields",
  http_response_compression: "Compression",
  http_response_firewall_managed: "Sensitive data in responses",
  http_custom_errors: "Pages for errors",
};

/** What people call a phase. */
export const phaseTitle = (phase) => PHASES[phase] ?? phase;

/** Says something that a reader of the screen hears too. */
export function tell(text) {
  const told = document.getElementById("told");
  told.textContent = text;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => { told.textContent = ""; }, 6000);
}

export const failure = (error) => h("p", { class: "error", role: "alert" }, error.message);

export const number = (value) => Number(value).toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });

export const time = (text) => h("time", { datetime: text }, (text ?? "").replace("T", " ").replace(/\.\d+Z$/, "Z"));
