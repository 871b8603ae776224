"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const status = document.getElementById("status");
  const progress = document.getElementById("progress");
  const button = document.getElementById("go");
  const HASHES = 16;
  // If cookies are not kept, this page would come in the same place again and again.
  const MAX_ROUNDS = 4, ROUNDS_MS = 60000;

  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const say = (text) => { status.textContent = text; };

  function rounds() {
    try {
      const now = Date.now();
      const recent = JSON.parse(sessionStorage.getItem("svc-challenge") || "[]").filter(([at]) => now - at < ROUNDS_MS);
      recent.push([now, location.href]);
      sessionStorage.setItem("svc-challenge", JSON.stringify(recent));
      return recent.filter(([, where]) => where === location.href).length;
    } catch { return 1; }
  }

  // SHA-256 (FIPS 180-4). The browser's own is not there over plain HTTP.
  const K = new Uint32Array(64), INITIAL = new Uint32Array(8);
  (() => {
    const fraction = (x) => ((x - Math.floor(x)) * 4294967296) >>> 0;
    for (let n = 2, found = 0; found < 64; n++) {
      let prime = true;
      for (let d = 2; d * d <= n; d++) if (n % d === 0) { prime = false; break; }
      if (!prime) continue;
      if (found < 8) INITIAL[found] = fraction(Math.sqrt(n));
      K[found++] = fraction(Math.cbrt(n));
    }
  })();
  const W = new Uint32Array(64);
  // Hashes the block in the first sixteen words of W.
  function block(H) {
    for (let i = 16; i < 64; i++) {
      const x = W[i - 15], y = W[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      W[i] = (W[i - 16] + s0 + W[i - 7] + s1) | 0;
    }
    let a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    return [a, b, c, d, e, f, g, h].map((word, i) => (word + H[i]) >>> 0);
  }
  function hash(bytes) {
    const padded = new Uint8Array(((bytes.length + 8) >> 6) * 64 + 64);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    const view = new DataView(padded.buffer);
    view.setUint32(padded.length - 4, bytes.length * 8);
    let H = INITIAL;
    for (let at = 0; at < padded.length; at += 64) {
      for (let i = 0; i < 16; i++) W[i] = view.getUint32(at + i * 4);
      H = block(H);
    }
    return H;
  }

  const pause = () => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(0);
  });

  async function solve() {
    const seed = hash(Uint8Array.from(data.puzzle.match(/../g), (digits) => parseInt(digits, 16)));
    const shift = 32 - data.bits;
    const numbers = [];
    let until = performance.now() + 30;
    for (let nth = 0; nth < HASHES; nth++) {
      for (let number = 0; ; number++) {
        W.set(seed);
        // Forty bytes and their length, in one block.
        W[8] = nth; W[9] = number; W[10] = 0x80000000;
        W[11] = W[12] = W[13] = W[14] = 0; W[15] = 320;
        if (block(INITIAL)[0] >>> shift === 0) { numbers.push(number); break; }
        if ((number & 255) === 255 && performance.now() > until) {
          progress.value = nth / HASHES;
          await pause();
          until = performance.now() + 30;
        }
      }
    }
    progress.value = 1;
    return data.puzzle + "." + numbers.join(",");
  }

  const clicked = () => new Promise((resolve) => {
    say("Please confirm that you want to go on.");
    button.hidden = false;
    button.addEventListener("click", (event) => { if (event.isTrusted) { button.disabled = true; resolve(); } });
    button.focus();
  });

  // The names and values of a form, from what a browser sent of it; null if that cannot be read as one did.
  function entries(type, body) {
    const text = new TextDecoder("utf-8", { fatal: true });
    const plain = type.split(";")[0].trim().toLowerCase();
    if (plain === "application/x-www-form-urlencoded") {
      const decode = (part) => {
        const out = [];
        for (let i = 0; i < part.length; i++) {
          const hex = part[i] === 0x25 ? /^[0-9a-f]{2}$/i.exec(String.fromCharCode(part[i + 1], part[i + 2])) : null;
          if (hex) { out.push(parseInt(hex[0], 16)); i += 2; } else out.push(part[i] === 0x2b ? 0x20 : part[i]);
        }
        return text.decode(Uint8Array.from(out));
      };
      const found = [];
      for (let at = 0; at < body.length;) {
        let end = body.indexOf(0x26, at);
        if (end < 0) end = body.length;
        const part = body.subarray(at, end), equals = part.indexOf(0x3d);
        if (equals < 0) return null;
        found.push({ name: decode(part.subarray(0, equals)), value: decode(part.subarray(equals + 1)) });
        at = end + 1;
      }
      return found;
    }
    if (plain !== "multipart/form-data") return null;
    const boundary = /;\s*boundary="?([^";]+)/i.exec(type);
    if (!boundary) return null;
    // One character for each byte, to search in.
    let raw = "";
    for (let at = 0; at < body.length; at += 8192) raw += String.fromCharCode(...body.subarray(at, at + 8192));
    const utf8 = (bytes) => text.decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0)));
    const unescape = (name) => name.replace(/%0D/gi, "\r").replace(/%0A/gi, "\n").replace(/%22/g, '"');
    const parts = ("\r\n" + raw).split("\r\n--" + boundary[1]);
    if (parts.length < 2 || !parts[parts.length - 1].startsWith("--")) return null;
    return parts.slice(1, -1).map((part) => {
      const split = part.indexOf("\r\n\r\n");
      const head = utf8(part.slice(0, split)), content = part.slice(split + 4);
      const name = /;\s*name="([^"]*)"/i.exec(head), file = /;\s*filename="([^"]*)"/i.exec(head);
      if (!name || split < 0) throw new Error("a part has no name");
      if (!file) return { name: unescape(name[1]), value: utf8(content) };
      const kind = /content-type:\s*([^\r\n]*)/i.exec(head);
      const bytes = Uint8Array.from(content, (c) => c.charCodeAt(0));
      return { name: unescape(name[1]), file: unescape(file[1]), kind: kind ? kind[1] : "", bytes };
    });
  }

  function sendForm(type, found) {
    const form = document.createElement("form");
    form.setAttribute("method", "post");
    form.setAttribute("action", location.href.split("#")[0]);
    form.setAttribute("enctype", type.split(";")[0].trim().toLowerCase());
    form.setAttribute("accept-charset", "utf-8");
    form.hidden = true;
    for (const entry of found) {
      const input = document.createElement("input");
      input.setAttribute("name", entry.name);
      if (entry.bytes) {
        input.setAttribute("type", "file");
        if (entry.file !== "" || entry.bytes.length > 0) {
          const files = new DataTransfer();
          files.items.add(new File([entry.bytes], entry.file, { type: entry.kind }));
          input.files = files.files;
        }
      } else {
        input.setAttribute("type", "hidden");
        input.value = entry.value;
      }
      form.append(input);
    }
    document.body.append(form);
    HTMLFormElement.prototype.submit.call(form);
  }

  function goOn() {
    const form = data.form;
    if (form === null) { location.reload(); return; }
    let found = null;
    try {
      const type = form.lost ? "" : atob(form.type);
      found = form.lost ? null : entries(type, bytesOf(form.body));
      if (found) { say("The check is done. Your form is sent."); sendForm(type, found); return; }
    } catch { /* The visitor sends it again. */ }
    say("The check is done. Go back, and send your form again.");
    button.textContent = "Go back";
    button.disabled = false;
    button.hidden = false;
    button.addEventListener("click", () => history.back());
  }

  if (!navigator.cookieEnabled || rounds() > MAX_ROUNDS) {
    say("This check needs cookies. Allow them for this site, and load the page again.");
    return;
  }
  try {
    progress.hidden = false;
    const solving = solve();
    if (data.click) await clicked();
    const solution = await solving;
    const answer = await fetch(data.path, { method: "POST", body: solution, credentials: "same-origin" });
    if (!answer.ok) throw new Error(String(answer.status));
    progress.hidden = true;
    goOn();
  } catch {
    say("The check did not go well. Load the page again.");
  }
})();
