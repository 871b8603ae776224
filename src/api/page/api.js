// The management API and the metrics, with the token of this tab.

const KEY = "portcullis-token";

export const token = () => sessionStorage.getItem(KEY);
export const keep = (value) => sessionStorage.setItem(KEY, value);
export const forget = () => sessionStorage.removeItem(KEY);

/** Every error of an answer, each in a line. */
export class ApiError extends Error {
  constructor(status, errors) {
    const line = ({ code, message, source }) => `${message}${source?.pointer ? ` (${source.pointer})` : ""} [${code}]`;
    super(errors.map(line).join("\n") || `The edge answered ${status}.`);
    this.status = status;
  }
}

/** A call; an answer has `result`, `result_info` and `messages`. */
export async function call(method, path, { query, body } = {}) {
  const asked = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => value !== "" && value !== undefined));
  const headers = { authorization: `Bearer ${token()}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(`/client/v4${path}${asked.size ? `?${asked}` : ""}`,
    { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  const envelope = await answer.json().catch(() => ({ success: false, errors: [] }));
  if (!envelope.success) throw new ApiError(answer.status, envelope.errors ?? []);
  return envelope;
}

export const get = async (path, query) => (await call("GET", path, { query })).result;

/** What there is, or `null` if that is not there. */
export async function find(path, query) {
  try {
    return await get(path, query);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** All pages of a list, up to a bound. */
export async function all(path, query = {}, most = 500) {
  const found = [];
  for (let page = 1; found.length < most; page += 1) {
    const { result, result_info: info } = await call("GET", path, { query: { ...query, page, per_page: 50 } });
    found.push(...result);
    if (!info || result.length === 0 || page >= (info.total_pages ?? 1)) break;
  }
  return found;
}

const encode = encodeURIComponent;
export const path = (strings, ...values) => strings.reduce((text, part, nth) => text + encode(values[nth - 1]) + part);

/** The samples of the metrics: `[{name, labels, value}]`. */
export async function metrics() {
  const text = await (await fetch("/metrics", { cache: "no-store" })).text();
  const samples = [];
  for (const line of text.split("\n")) {
    const parts = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!parts) continue;
    const labels = {};
    for (const [, name, value] of (parts[2] ?? "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name] = value.replace(/\\(.)/g, (_, letter) => (letter === "n" ? "\n" : letter));
    }
    samples.push({ name: parts[1], labels, value: Number(parts[3]) });
  }
  return samples;
}
