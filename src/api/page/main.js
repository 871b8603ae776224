// Sign-in, and which view the address names: `#/events?action=block`.

import * as api from "/page/api.js";
import { failure, h } from "/page/dom.js";
import { overview } from "/page/views/overview.js";
import { events, request } from "/page/views/events.js";
import { ai } from "/page/views/ai.js";
import { rules } from "/page/views/rules.js";
import { zone, zones } from "/page/views/zones.js";
import { history } from "/page/views/history.js";

/** By their names: title in the navigation, if it stands there, and what shows it. */
const VIEWS = {
  overview: ["Overview", overview],
  events: ["Events", events],
  request: [null, request],
  ai: ["AI", ai],
  rules: ["Rules", rules],
  zones: ["Zones", zones],
  zone: [null, zone],
  history: ["History", history],
};

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const leave = document.getElementById("leave");
let shown = 0;
let stop = () => {};

function signIn(message) {
  nav.replaceChildren();
  leave.hidden = true;
  document.title = "Sign in · Portcullis";
  const input = h("input", { id: "token", type: "password", autocomplete: "current-password", required: true, spellcheck: "false" });
  const enter = async (event) => {
    event.preventDefault();
    api.keep(input.value.trim());
    try {
      await api.get("/user");
      show();
    } catch (error) {
      api.forget();
      signIn(error);
    }
  };
  main.replaceChildren(h("form", { class: "sign", onsubmit: enter },
    h("h1", {}, "Sign in"),
    h("p", {}, "With a token of the management API. The first start of the edge printed one; it is kept in this tab alone."),
    h("label", { for: "token" }, "API token", input),
    h("button", { class: "main", type: "submit" }, "Sign in"),
    message ? failure(message) : null));
  input.focus();
}

async function show() {
  stop();
  if (!api.token()) return signIn();
  const address = location.hash.replace(/^#\/?/, "") || "overview";
  const [path, query] = address.split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  const [title, view] = VIEWS[name] ?? VIEWS.overview;
  nav.replaceChildren(...Object.entries(VIEWS).filter(([, [text]]) => text).map(([to, [text]]) =>
    h("a", { href: `#/${to}`, "aria-current": to === name ? "page" : undefined }, text)));
  leave.hidden = false;
  document.title = `${title ?? rest[0] ?? name} · Portcullis`;
  shown += 1;
  const mine = shown;
  const place = h("div", {}, h("p", { class: "quiet", role: "status" }, "Loading…"));
  main.replaceChildren(place);
  const ends = new AbortController();
  stop = () => ends.abort();
  try {
    const content = await view({ rest, query: Object.fromEntries(new URLSearchParams(query)), ended: ends.signal });
    // Another view may have been asked for meanwhile.
    if (mine === shown) place.replaceChildren(...content.flat(Infinity).filter(Boolean));
  } catch (error) {
    if (mine !== shown) return;
    if (error.status === 401 || error.status === 403 && name === "overview") {
      api.forget();
      signIn(error);
    } else {
      place.replaceChildren(failure(error));
    }
  }
  if (mine === shown) main.focus({ preventScroll: true });
}

leave.addEventListener("click", () => { api.forget(); show(); });
window.addEventListener("hashchange", show);
show();
