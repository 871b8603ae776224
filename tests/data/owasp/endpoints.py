"""Benign requests made from public API documentation: well-known paths, members with telling names, documents
with a type, and talk of commands. None of them may be refused for its endpoint or a name alone.
"""

import json

NAMES = ["ann", "bo", "cem", "dana", "eli", "fay", "gus", "hana"]
SITES = ["https://blog.example.com", "https://www.example.org/notes", "http://wiki.example.net"]
TOPICS = ["release", "budget", "harbour", "garden", "latency", "table", "winter", "printer", "editor", "queue"]


def helpers():
    import generate

    return generate.get, generate.post, generate.quote


def value(kind, text):
    return f"<value><{kind}>{text}</{kind}></value>"


def call(method, values):
    params = "".join(f"<param>{one}</param>" for one in values)
    return f'<?xml version="1.0"?>\n<methodCall><methodName>{method}</methodName><params>{params}</params></methodCall>'


def xml_rpc(chooser):
    """XML-RPC: pingbacks and the calls of blog editors."""
    get, post, _ = helpers()
    paths = ["/xmlrpc.php", "/blog/xmlrpc.php", "/RPC2", "/xmlrpc"]
    for i in range(320):
        topic, name = chooser.choice(TOPICS), chooser.choice(NAMES)
        page = f"{chooser.choice(SITES)}/{topic}-{i}"
        title = value("string", f"The {topic} of {name}")
        member = f"<member><name>title</name>{title}</member><member><name>post_status</name>{value('string', 'draft')}</member>"
        body = [
            call("pingback.ping", [value("string", page), value("string", f"https://app.example/{topic}")]),
            call("wp.getUsersBlogs", [value("string", name), value("string", f"correct horse {topic} {i}")]),
            call("wp.newPost", [value("int", 1), value("string", name), value("string", "pass phrase"), f"<value><struct>{member}</struct></value>"]),
            call("metaWeblog.getRecentPosts", [value("string", "1"), value("string", name), value("string", "pass phrase"), value("int", 10)]),
            call("system.listMethods", []),
            call("weblogUpdates.ping", [value("string", f"The {topic} of {name}"), value("string", page)]),
            call("demo.sayHello", []),
        ][i % 7]
        yield post(paths[i % 4], "text/xml", body)


def documents(chooser):
    """XML with a document type: property lists, drawings, feeds, SOAP."""
    get, post, _ = helpers()
    for i in range(200):
        topic, name = chooser.choice(TOPICS), chooser.choice(NAMES)
        plist = f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n<plist version="1.0"><dict><key>MessageType</key><string>CheckOut</string><key>Topic</key><string>com.example.{topic}</string><key>UDID</key><string>0000{i:08x}</string></dict></plist>'
        svg = f'<?xml version="1.0" standalone="no"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n<svg xmlns="http://www.w3.org/2000/svg" width="{i}" height="40" viewBox="0 0 {i} 40"><title>{topic}</title><rect width="10" height="10" fill="#0a0"/><path d="M0 0 L{i} 40 Z"/><text x="4" y="20">{name}</text></svg>'
        xhtml = f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{topic}</title></head><body><p>{name} wrote about the {topic}.</p></body></html>'
        soap = f'<?xml version="1.0"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><m:GetStock xmlns:m="https://example.com/stock"><m:Item>{topic}</m:Item><m:Count>{i}</m:Count></m:GetStock></soap:Body></soap:Envelope>'
        atom = f'<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><title>{topic}</title><id>urn:uuid:0000{i:08x}</id><author><name>{name}</name></author><content type="text">Notes on the {topic}.</content></entry>'
        propfind = '<?xml version="1.0" encoding="utf-8" ?><D:propfind xmlns:D="DAV:"><D:prop><D:getcontentlength/><D:getlastmodified/></D:prop></D:propfind>'
        path, kind, body = [
            ("/mdm/checkin", "application/xml", plist),
            ("/drawings", "image/svg+xml", svg),
            ("/pages", "application/xhtml+xml", xhtml),
            ("/services/stock", "text/xml; charset=utf-8", soap),
            ("/feed/entries", "application/atom+xml", atom),
            ("/dav/notes/", "application/xml", propfind),
        ][i % 6]
        yield post(f"{path}?v={i}", kind, body)


def reports(chooser):
    """Reports that browsers send by themselves."""
    get, post, _ = helpers()
    for i in range(200):
        topic = chooser.choice(TOPICS)
        page = f"https://www.example.com/{topic}/{i}"
        csp = {"csp-report": {"document-uri": page, "referrer": "", "violated-directive": "script-src-elem", "effective-directive": "script-src-elem", "original-policy": "default-src 'self'; script-src 'self' 'nonce-abc'; report-uri /csp", "disposition": "enforce", "blocked-uri": ["inline", "eval", "data", "https://cdn.example.net/a.js"][i % 4], "line-number": i, "script-sample": ""}}
        nel = [{"age": i, "type": "network-error", "url": page, "body": {"elapsed_time": 18, "method": "GET", "phase": "connection", "protocol": "http/1.1", "referrer": page, "sampling_fraction": 1.0, "server_ip": "192.0.2.1", "status_code": 0, "type": ["tcp.reset", "dns.name_not_resolved", "tls.cert.date_invalid"][i % 3]}}]
        crash = [{"type": "crash", "age": i, "url": page, "user_agent": "Mozilla/5.0", "body": {"reason": "oom"}}]
        deprecation = [{"type": "deprecation", "age": i, "url": page, "body": {"id": "UnloadHandler", "message": "Unload event listeners are deprecated and will be removed.", "sourceFile": "https://www.example.com/app.js", "lineNumber": i, "columnNumber": 3}}]
        kind, body = [
            ("application/csp-report", csp),
            ("application/reports+json", nel),
            ("application/reports+json", crash),
            ("application/reports+json", deprecation),
            ("application/reports+json", [{"type": "csp-violation", "age": 1, "url": page, "body": {"documentURL": page, "effectiveDirective": "img-src", "blockedURL": "https://img.example.net/a.png", "disposition": "report", "sample": ""}}]),
        ][i % 5]
        yield post("/reports", kind, json.dumps(body))


def hooks(chooser):
    """Webhooks of a dozen services, and APIs whose members are called session or sid."""
    get, post, quote = helpers()
    for i in range(200):
        topic, name = chooser.choice(TOPICS), chooser.choice(NAMES)
        bodies = [
            {"session_id": f"cs_test_{i}", "mode": "payment", "customer_email": f"{name}@example.com", "success_url": f"https://app.example/ok?session_id={{CHECKOUT_SESSION_ID}}"},
            {"sid": f"SM{i:032x}", "account_sid": f"AC{i:032x}", "from": "+15005550006", "to": "+15005550009", "body": f"The {topic} is ready"},
            {"session": {"id": i, "user": name, "started": "2026-11-21T10:00:00Z"}, "event": "session.updated"},
            {"sessionId": f"{i:08x}-0000-4000-8000-000000000000", "step": topic, "state": {"done": False}},
            {"type": "session.update", "session": {"modalities": ["text", "audio"], "instructions": f"Talk about the {topic}.", "voice": "alloy"}},
            {"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "search", "arguments": {"query": topic}, "_meta": {"session": name}}},
            {"action": "completed", "workflow_run": {"id": i, "name": "build", "head_branch": "main", "path": ".github/workflows/build.yml", "conclusion": "success"}, "sender": {"login": name}},
            {"object_kind": "pipeline", "object_attributes": {"id": i, "ref": "main", "status": "success", "stages": ["build", "test", "deploy"]}, "user": {"username": name}},
            {"event": "app_mention", "token": "verification", "team_id": "T0", "text": f"<@U0> where is the {topic}?", "session": str(i)},
            {"eventType": "push", "publisherId": "tfs", "resource": {"commits": [{"comment": f"Fix the {topic}"}], "repository": {"name": "site", "remoteUrl": "https://dev.example.com/site"}}},
            {"version": "4", "groupKey": "{}:{alertname=\"HighLoad\"}", "status": "firing", "commonLabels": {"alertname": "HighLoad", "severity": "page"}, "externalURL": "https://alerts.example.com"},
            {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": f"{i:08x}", "operation": "CREATE", "namespace": "default", "name": topic}},
        ]
        if i % 13 == 12:
            yield post("/voice", "application/x-www-form-urlencoded", f"CallSid=CA{i:032x}&AccountSid=AC{i:032x}&From=%2B15005550006&session={i}&sid={i:x}&Digits=1")
        else:
            yield post(f"/hooks/{topic}", "application/json", json.dumps(bodies[i % 12]))


COMMANDS = [
    "kubectl get pods -n prod | grep CrashLoop",
    "tail -f /var/log/nginx/error.log",
    "docker run --rm -it -p 8080:80 nginx:alpine",
    "find . -name '*.tmp' -mtime +7 -delete",
    "curl -fsSL https://example.com/install.sh | sh",
    "cat /etc/os-release; uname -a",
    "git log --oneline | head -20 && git status",
    "ps aux | sort -rk 3 | head",
    "ssh deploy@192.0.2.10 'sudo systemctl restart app'",
    "chmod 600 ~/.ssh/id_ed25519",
    "SELECT name FROM users WHERE id = 5 ORDER BY name;",
    "rm -rf node_modules && npm ci",
]


def chats(chooser):
    """Chats of operators with models, whose messages are full of command lines."""
    get, post, _ = helpers()
    asks = [
        "What does this command do: `{c}`?",
        "I ran {c} and it hangs. What can I look at?",
        "Explain step by step:\n```sh\n{c}\n```\nand tell me what could go wrong on the {t} host.",
        "Please write a runbook entry that uses {c} for the {t} service.",
        "Our pipeline fails at '{c}' since the {t} upgrade. Any idea?",
    ]
    for i in range(320):
        text = asks[i % 5].format(c=chooser.choice(COMMANDS), t=chooser.choice(TOPICS))
        messages = [{"role": "system", "content": "You help operators of servers."}, {"role": "user", "content": text}]
        path, body = [
            ("/v1/chat/completions", {"model": "gpt-4o", "messages": messages, "stream": i % 2 == 0}),
            ("/v1/messages", {"model": "claude-sonnet-4-5", "max_tokens": 512, "messages": messages[1:]}),
            ("/v1/responses", {"model": "gpt-4o", "input": text}),
            ("/api/generate", {"model": "llama3", "prompt": text}),
        ][i % 4]
        yield post(path, "application/json", json.dumps(body))


KINDS = {
    "endpoint-xmlrpc": xml_rpc,
    "endpoint-document": documents,
    "endpoint-report": reports,
    "endpoint-hook": hooks,
    "endpoint-chat": chats,
}
