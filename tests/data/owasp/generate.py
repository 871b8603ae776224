#!/usr/bin/env python3
"""Writes the requests in this folder: `attacks/<family>.yaml` and `benign/<kind>.yaml`.

Every attack is a payload of `payloads.py`, in a place of a request, as it is or behind an encoding. Every
benign request is made of the texts in `texts.py` or `endpoints.py`. The same input gives the same files: choices come from a
seed for each file.
"""

import json
import pathlib
import random
import urllib.parse

import endpoints
import payloads
import texts
import writings

HERE = pathlib.Path(__file__).parent
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
THRESHOLD_RULE = 90010


def quote(text):
    return urllib.parse.quote(text, safe="")


def head(**more):
    fields = {"Host": "app.example", "User-Agent": AGENT, "Accept": "*/*"}
    fields.update({name.replace("_", "-"): value for name, value in more.items()})
    return fields


def get(uri, **fields):
    return {"method": "GET", "uri": uri, "headers": head(**fields)}


def post(uri, content_type, data, method="POST", **fields):
    fields = head(**fields)
    fields["Content-Type"] = content_type
    fields["Content-Length"] = str(len(data.encode()))
    return {"method": method, "uri": uri, "headers": fields, "data": data}


def crlf(text):
    """As browsers send texts, and as the runner rewrites them."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def multipart(parts, uri="/upload"):
    boundary = "----edge7d91c0b2"
    body = "".join(f"--{boundary}\r\n{header}\r\n\r\n{crlf(content)}\r\n" for header, content in parts)
    return post(uri, f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n")


def file_part(name, content, kind="application/octet-stream", field="file"):
    return (f'Content-Disposition: form-data; name="{field}"; filename="{name}"\r\nContent-Type: {kind}', content)


def field_part(name, value):
    return (f'Content-Disposition: form-data; name="{name}"', value)


# Places of a request that a value can stand in.
PLACES = {
    "query": lambda v: get("/search?lang=en&q=" + quote(v)),
    "form": lambda v: post("/contact", "application/x-www-form-urlencoded", "name=Ann&message=" + quote(v)),
    "json": lambda v: post("/api/items", "application/json", json.dumps({"id": 7, "item": {"note": v}})),
    "json-escaped": lambda v: post("/api/items", "application/json", json.dumps({"tags": ["a", v]}).replace("'", "\\u0027").replace("<", "\\u003c").replace("/", "\\/")),
    "cookie": lambda v: get("/account", Cookie="theme=dark; pref=" + quote(v)),
    "path": lambda v: get("/items/" + quote(v)),
    "multipart": lambda v: multipart([field_part("title", "x"), field_part("comment", v)]),
    "xml": lambda v: post("/soap", "application/xml", "<?xml version=\"1.0\"?><order><note>" + v.replace("&", "&amp;").replace("<", "&lt;") + "</note></order>"),
    "agent": lambda v: {"method": "GET", "uri": "/", "headers": {"Host": "app.example", "User-Agent": v, "Accept": "*/*"}},
    "referer": lambda v: get("/", Referer=v),
    "forwarded": lambda v: get("/", X_Forwarded_For=v),
    "name": lambda v: get("/search?" + quote(v) + "=1"),
    "twice": lambda v: get("/search?q=" + quote(quote(v))),
    "text": lambda v: post("/notes", "text/plain", v),
    "polluted": lambda v: get("/search?q=shoes&q=" + quote(v)),
    "put": lambda v: post("/api/items/7", "application/json", json.dumps({"name": v}), method="PUT"),
}
IN_HEADERS = {"agent", "referer", "forwarded"}


def fits(place, value):
    if place in IN_HEADERS:
        return value.isascii() and value.isprintable() and value.strip() == value
    if place in ("xml", "text", "multipart"):
        return "\x00" not in value and not any(ord(c) < 9 for c in value)
    return True


def request_of(entry):
    """A payload that says itself where it stands, as a whole request."""
    kind, *rest = entry
    if kind == "get":
        return get(rest[0], **(rest[1] if len(rest) > 1 else {}))
    if kind == "post":
        return post(*rest)
    if kind == "header":
        return {"method": "GET", "uri": "/", "headers": head() | {rest[0]: rest[1]}}
    if kind == "file":
        return multipart([file_part(*rest)])
    if kind == "method":
        return {"method": rest[0], "uri": "/", "headers": head()}
    raise ValueError(kind)


def attacks(family, chooser):
    spec = payloads.FAMILIES[family]
    for entry in spec.get("requests", []):
        yield request_of(entry)
    for value in spec.get("values", []):
        places = [place for place in spec.get("places", ["query", "form", "json"]) if fits(place, value)]
        first = places[0]
        yield PLACES[first](value)
        for place in chooser.sample(places[1:], min(spec.get("more", 2), len(places) - 1)):
            yield PLACES[place](value)
        for evade in chooser.sample(spec.get("evasions", []), min(1, len(spec.get("evasions", [])))):
            hidden = evade(value, chooser)
            if hidden != value:
                yield PLACES[chooser.choice(["query", "form", "json"])](hidden)


def write(path, prefix, requests, is_attack):
    path.parent.mkdir(exist_ok=True)
    expected = {"expect_ids": [THRESHOLD_RULE]} if is_attack else {"no_expect_ids": [THRESHOLD_RULE]}
    seen, lines = set(), []
    for request in requests:
        text = json.dumps(request, sort_keys=True)
        if text in seen:
            continue
        seen.add(text)
        test = {"test_title": f"{prefix}-{len(lines) + 1}", "stages": [{"input": request, "output": {"log": expected}}]}
        lines.append("  - " + json.dumps(test, ensure_ascii=False))
    path.write_text("# Written by generate.py.\ntests:\n" + "\n".join(lines) + "\n")
    return len(lines)


def main():
    sums = [0, 0]
    for family in sorted(payloads.FAMILIES):
        sums[0] += write(HERE / "attacks" / f"{family}.yaml", family, attacks(family, random.Random(family)), True)
    kinds = {**texts.KINDS, **writings.KINDS, **endpoints.KINDS}
    for kind in sorted(kinds):
        sums[1] += write(HERE / "benign" / f"{kind}.yaml", kind, kinds[kind](random.Random(kind)), False)
    print(f"{sums[0]} attacks, {sums[1]} benign requests")


if __name__ == "__main__":
    main()
