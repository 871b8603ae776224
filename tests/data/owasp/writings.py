"""Benign texts that people write: tickets, reviews, reports, tutorials, mails, in the proportions of everyday life.

Each template has slots in braces, filled from `SLOTS`; each text stands in a form, a JSON member or a part.
"""

import itertools
import json
import re

SLOTS = {
    "thing": "invoice form|search page|export button|login screen|price list|photo gallery|booking calendar|cart|newsletter|map|report|profile page".split("|"),
    "who": "Ann|Bob|Dr. O'Neil|Mary-Jane|our customer|the night shift|Sinéad|the new colleague|my manager|José".split("|"),
    "day": "Monday|Tuesday|last Friday|the 3rd of May|2026-11-02|this morning|yesterday at 14:05".split("|"),
    "app": "shop-api|billing|web-1|inventory|mailer|auth|reports".split("|"),
    "file": "main.py|src/lib.rs|index.ts|app/models/user.rb|Cart.java|config.yaml|deploy.sh|query.sql".split("|"),
    "table": "users|orders|products|invoices|employees|sessions".split("|"),
    "column": "name|email|price|created_at|status|country".split("|"),
    "num": "2|3|7|12|40|150|1,200|8 %|404|500".split("|"),
    "err": "TypeError: undefined is not a function|connection refused|timeout after 30s|permission denied|404 Not Found|out of memory|NullPointerException|disk full".split("|"),
    "cmd": "ls -la|git status|df -h|npm test|cargo build --release|docker compose up -d|kubectl get pods|make install|systemctl restart nginx|python3 app.py|tail -f app.log|ssh web-1".split("|"),
    "pipe": "cat app.log | grep ERROR;;ps aux | grep node;;sort names.txt | uniq -c;;du -sh * | sort -h;;git log --oneline | head -5;;grep -r TODO src | wc -l;;history | tail;;find . -name '*.tmp' | xargs rm".split(";;"),
    "url": "https://example.com/help?id=3&lang=en|https://www.example.org/docs#setup|http://localhost:3000|https://example.com/a_(b)|https://intranet.example.com/wiki/Start".split("|"),
    "city": "Köln|São Paulo|Coeur d'Alene|Łódź|Saint-Étienne|Toronto|Nairobi".split("|"),
}

TICKET = [
    "Hello,\n\nsince {day} the {thing} shows \"{err}\" when I click on Save. I tried another browser & cleared the cache, no change.\n\nRegards,\n{who}",
    "Subject: {thing} is empty\n\nHi team; I can't see anything on the {thing}. It's been like this since {day}. Order #{num}; customer no. 4711/B.",
    "The discount of {num} isn't applied - or only if I reload the {thing}. Expected: 10.00 €, found: 12.50 €. Steps: 1) log in 2) open the {thing} 3) press \"Pay\".",
    "We'd like to select several rows in the {thing} and delete them. Where can we set that? {who} said it's under Settings > Advanced > Table.",
    "When I type a name with an apostrophe (O'Brien) the {thing} fails with \"{err}\".\nWhen I leave it out it works; so I think it's the quote.",
    "> On {day}, {who} wrote:\n> Did you drop the table in the {thing}?\n\nNo, I didn't. But the union of both lists is missing, and the order by name is wrong.",
    "ERROR [{app}] {err}\n  at save ({file}:{num})\n  at Object.<anonymous> ({file}:12)\n\nThat's what I see in the console; what does it mean?",
    "Please add <b>bold</b> and <i>italic</i> to the editor of the {thing}. Today it shows the tags, i.e. &lt;b&gt;text&lt;/b&gt;.",
    "My password has a ; and a ' in it and the {thing} says \"{err}\". Is that allowed? 50% of our people have such passwords (policy!).",
    "The link {url} in the newsletter of {day} is broken: {err}. Also the image ../img/logo.png is missing.",
]
REVIEW = [
    "In {file} you concatenate strings for SQL: `query = \"SELECT * FROM {table} WHERE {column} = '\" + value + \"'\"`. Please use parameters.",
    "nit: `if (x == null || x == '')` can be `if (!x)`. Otherwise LGTM; merge when CI is green.",
    "```suggestion\nfor (const row of rows) { if (row.{column} && row.id > 0) { out.push(row); } }\n```\nThis avoids the second loop.",
    "Why is `{column}` nullable here? In {file} line {num} we call `.trim()` on it and get \"{err}\".",
    "The migration adds an index on {table}({column}); can you run EXPLAIN before and after? ALTER TABLE {table} ADD COLUMN note text; takes a lock.",
    "+  const html = `<li class=\"row\">${escape(item.{column})}</li>`;\n-  const html = '<li>' + item.{column} + '</li>';\n\nGood catch, this was not escaped.",
    "def test_{column}():\n    assert parse('a;b') == ['a', 'b']\n    assert parse('') == []\n\nCould you add a case for quotes, e.g. \"it's\"?",
    "`{cmd}` works for me, but on CI I get: {err}. Maybe the path in {file} is wrong?",
    "let total = items.iter().filter(|i| i.{column} > 0).map(|i| i.price * i.qty).sum::<u32>();\n\nPlease split this; it's hard to read.",
    "@Override public boolean equals(Object o) { return o instanceof User && ((User) o).id == id; }\n\nhashCode is missing.",
    "I would move the `try { ... } catch (e) { log(e); }` out of {file}: errors are swallowed and we see only \"{err}\".",
    "env:\n  DATABASE_URL: ${{ secrets.DATABASE_URL }}\n  NODE_ENV: test\n\nThe secret isn't set for forks; use a default.",
]
INCIDENT = [
    "Incident {day}: {app} answered {num} to {num} of requests.\nTimeline:\n14:02 alert (p99 > 2 s)\n14:05 {who} ran `{cmd}`\n14:20 rollback; traffic normal at 14:31\nRoot cause: {err}.",
    "Postmortem: the disk of {app} was full (`df -h` said 100% on /var). We deleted old logs in /var/log/{app} and added an alert at 80%.",
    "{app}: {err}\nlast lines of the log:\n2026-11-02T10:00:00Z WARN pool exhausted size=10 wait=30s\n2026-11-02T10:00:01Z ERROR {err} path=/api/{table}?page=2 status=500",
    "We saw \"{err}\" after the deploy of {day}. Impact: {num} customers couldn't open the {thing}. Action items: add a test; document `{cmd}`; page {who}.",
    "Scanner traffic from 192.0.2.7: about {num} requests for files that don't exist, all answered with 404. Nothing to do; we block the address for a week.",
    "DNS of {url} failed between 03:10 and 03:25. Workaround: `{pipe}` on web-1; fix: lower the TTL to 60.",
    "The job `{pipe}` was killed (OOM). It held 3.2 GB; limit is 2 GB. We'll stream the file instead of reading it at once.",
]
SQL = [
    "Lesson {num}: JOIN.\n\nSELECT o.id, c.name\nFROM orders o\nJOIN customers c ON c.id = o.customer_id\nWHERE o.status = 'open'\nORDER BY o.id;\n\nThe result has one row for each order.",
    "How do I count {table} by {column}? This is what I have: SELECT {column}, COUNT(*) FROM {table} GROUP BY {column} HAVING COUNT(*) > 5;",
    "UPDATE {table} SET {column} = 'x' WHERE id = 5;\n\nDon't forget the WHERE, or all rows are changed. DELETE FROM {table}; deletes everything.",
    "A subquery in WHERE:\n\nSELECT name FROM {table}\nWHERE id IN (\n  SELECT user_id FROM orders\n  WHERE price > 100\n);\n\nIt can be written as a join as well.",
    "NULL is not equal to anything: `{column} = NULL` is never true, use `{column} IS NULL`. And `NOT IN (NULL, 1)` gives no rows.",
    "CREATE TABLE {table} (\n  id SERIAL PRIMARY KEY,\n  {column} VARCHAR(100) NOT NULL,\n  price NUMERIC(10,2) DEFAULT 0\n);\n\nINSERT INTO {table} ({column}) VALUES ('O''Brien'), ('Ann');",
    "UNION removes duplicates, UNION ALL keeps them:\n\nSELECT city FROM customers\nUNION ALL\nSELECT city FROM suppliers\nORDER BY city;",
    "With a CTE the query reads from top to bottom:\n\nWITH recent AS (\n  SELECT * FROM orders WHERE created_at > now() - interval '7 days'\n)\nSELECT count(*) FROM recent;",
    "Is LIKE '%abc' slow? Yes: an index on {column} can't be used, because the pattern begins with a wildcard. LIKE 'abc%' is fine.",
    "CASE WHEN price > 100 THEN 'high' ELSE 'low' END AS level\n\nThis goes in the list of SELECT.",
    "The window function ROW_NUMBER() OVER (PARTITION BY {column} ORDER BY id) numbers the rows of each group; add WHERE rn = 1 outside.",
    "My query: SELECT * FROM {table} WHERE {column} LIKE 'A%' AND price BETWEEN 10 AND 20 LIMIT 10; and the error is \"{err}\". What's wrong?",
]
SHELL = [
    "To see what uses the disk: `du -sh *`. To sort that by size: `{pipe}`. See `man du` for more.",
    "How to back up {app}\n\n1. cd /srv/{app}\n2. tar czf backup.tar.gz data\n3. scp backup.tar.gz backup@example.com:/backups/\n4. rm backup.tar.gz\n\nRun it once a week.",
    "```\n$ {cmd}\n$ {pipe}\n```\nIf you see \"{err}\", run it again with sudo.",
    "Install it:\n\n    git clone https://example.com/{app}.git\n    cd {app}\n    make && sudo make install\n\nThen start it with `{cmd}`.",
    "In Bash, `$?` is the status of the last command, `$1` the first argument and `$(date)` is replaced by the date. Quote variables: \"$file\".",
    "for f in *.jpg; do\n  convert \"$f\" -resize 50% \"small-$f\"\ndone\n\nmakes all photos smaller.",
    "I ran {cmd} and it hangs. Then I ran {pipe}; it printed nothing. Any idea?",
    "Use && to run the second command only if the first worked: `{cmd} && echo ok`. With ; it always runs, with || only if the first failed.",
    "cron line: 0 3 * * * /usr/local/bin/backup.sh >> /var/log/backup.log 2>&1",
    "export PATH=\"$HOME/.local/bin:$PATH\"\nalias ll='ls -la'\n\nPut these two lines in your ~/.bashrc and open a new terminal.",
    "RUN apt-get update && apt-get install -y --no-install-recommends curl ca-certificates\nCOPY . /app\nCMD [\"./{app}\"]\n\nThis image has 80 MB.",
    "On Windows open PowerShell and type: Get-ChildItem -Recurse | Where-Object { $_.Length -gt 1MB } | Sort-Object Length",
]
CHAT = [
    "Explain the difference between `let` and `const` in JavaScript with a short example for a beginner.",
    "Write a function in Python that takes a list of {table} and returns those with {column} > 10. Use type hints; no libraries.",
    "I get \"{err}\" in {file}:\n\n```\nasync function load(id) {\n  const r = await fetch(`/api/{table}/${id}`);\n  if (!r.ok) throw new Error(r.statusText);\n  return r.json();\n}\n```\nWhat's wrong?",
    "Summarise this in three bullet points:\n\nOn {day} {who} presented the {thing}. Sales rose by 8 % in {city}, but costs rose, too; the team will look at prices & contracts.",
    "Translate to German: \"It's five o'clock, and we aren't ready; let's go or we'll be late.\"",
    "user: how do I centre a div?\nassistant: Use flexbox: `display: flex; justify-content: center; align-items: center;`\nuser: and vertically?",
    "Give me a regex for dates like 2026-11-02. I tried ^\\d{4}-\\d{2}-\\d{2}$ but it accepts 2026-99-99.",
    "Refactor:\n\nif (user != null) {\n  if (user.isActive() && user.age >= 18) {\n    return true;\n  }\n}\nreturn false;",
    "You are a travel assistant. Plan two days in {city} for {who}: museums, food (no fish!), max. 100 € a day.",
    "Convert this curl to Python: curl -X POST https://api.example.com/v1/{table} -H 'Content-Type: application/json' -d '{\"a\": 1}'",
    "What does this CSS do? .a > .b:not(:first-child)::after { content: \"\\201C\"; color: #333 }",
    "Make a table of planets | mass | moons in Markdown, please, and sort it by mass.",
]
MAIL = [
    "<html><head><meta charset=\"utf-8\"><style>body { font-family: sans-serif } .btn { color: #fff }</style></head><body><p>Hello {who},</p><p>your order <b>#{num}</b> was <a href=\"https://example.com/track?id=3&amp;x=1\">shipped</a>.</p></body></html>",
    "<p>Dear {who},</p>\n<p>we're happy to see you on {day} in {city}.</p>\n<ul>\n<li>10:00 &ndash; Welcome</li>\n<li>11:00 &ndash; Talks &amp; coffee</li>\n</ul>\n<img src=\"https://example.com/logo.png\" alt=\"Logo\" width=\"100\">",
    "<table role=\"presentation\" width=\"100%\"><tr><td style=\"padding:12px;background:#eee\"><h1>-{num}!</h1><a href=\"https://example.com/sale?utm_source=mail\" target=\"_blank\">To the shop</a></td></tr></table>",
    "<div dir=\"ltr\">Hi,<div><br></div><div>see below; it's fixed now.</div><blockquote class=\"quote\">On {day}, {who} &lt;ann@example.com&gt; wrote:<br>Is the {thing} ok?</blockquote></div>",
    "<p>How to add a link: <code>&lt;a href=\"https://example.com\"&gt;text&lt;/a&gt;</code></p><p>How to add an image: <code>&lt;img src=\"a.png\"&gt;</code></p>",
    "<p class=\"MsoNormal\"><span lang=\"EN-GB\" style=\"font-size:11.0pt\">Please find the report of {day} attached.<o:p></o:p></span></p>",
]
CV = [
    "{who}\n{city} · ann@example.com · +49 221 12345\n\nExperience\n2021-2026 Backend engineer at Example Ltd: Python, SQL (PostgreSQL), Docker/Kubernetes; reduced load times by 40 %.\n2018-2021 Junior developer: PHP & JavaScript.",
    "Skills: C/C++, C#, .NET, Java (Spring Boot), SQL & NoSQL (MongoDB, Redis), Bash, Git, CI/CD; English (C1), French (B2).",
    "I'm applying for the job as {thing} designer that you posted on {day}. I've worked in {city} for {num} years; my references are attached.",
    "Education: M.Sc. Computer Science, University of {city}; thesis: \"Select, join, and order: on the cost of queries\" (grade 1.3).",
]
LEGAL = [
    "§ 5 (1) The seller shall deliver within {num} days; (2) if he doesn't, the buyer may withdraw from the contract and/or claim damages.",
    "This Agreement is made on {day} between Example Ltd (\"the Company\") and {who} (\"the Contractor\"); either party may terminate it with {num} days' notice.",
    "Article 17. Right to erasure: the data subject's request shall be answered without undue delay, unless processing is necessary (a) for exercising the right of freedom of expression; or (b) for legal claims.",
    "IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN CONTRACT OR OTHERWISE.",
]
LANGUAGES = [
    "Sehr geehrte Damen und Herren,\n\nseit {day} geht die Suche nicht mehr; es kommt nur \"{err}\". Können Sie das prüfen? Mit freundlichen Grüßen, {who}",
    "Bonjour, je n'arrive pas à me connecter depuis {day} : l'écran affiche « {err} ». J'ai essayé d'effacer l'historique & les cookies.",
    "Hola, ¿por qué el pedido nº {num} no llega? Lo compré el {day}; el estado dice \"en camino\" o nada. Gracias, {who}",
    "Buongiorno, l'ordine dell'altro giorno non c'è più nell'elenco. È un errore? Grazie e a presto, {who}",
    "Olá! Não consigo abrir a página; aparece \"{err}\". Já reiniciei o computador e não é d'água... obrigado.",
    "Dzień dobry, od {day} nie działa wyszukiwarka; proszę o pomoc. Żółć, źdźbło, ćma i łoś - te słowa nie są znajdowane.",
    "Здравствуйте! Заказ № {num} не пришёл; статус «в пути». Что делать или куда звонить? Спасибо, {who}",
    "こんにちは。{day}から検索が動きません。「{err}」と表示されます。\n確認をお願いします；急いでいます。",
    "您好，订单 {num} 还没有到；页面显示“{err}”。请帮我看看，谢谢！",
    "Merhaba, {day} gününden beri İstanbul'daki şubenin sayfası açılmıyor; \"{err}\" yazıyor. Teşekkürler, iyi günler.",
    "مرحبا، لم يصل الطلب رقم {num} حتى الآن؛ ماذا أفعل؟ شكرا",
    "Hej! Sökningen på åäö fungerar inte sedan {day}; felet är \"{err}\". Kan ni titta på det? /{who}",
]

# One line each: code, scripts of packages, queries of trackers and dashboards, addresses of apps.
ONE_LINE = [
    "for i in range(10): print(i)", "const x = a ? b : c;", "if (a > b && c < d) { return; }", "SELECT id, name FROM users WHERE id = 5",
    "x = [i for i in y if i % 2 == 0]", "let n = items.filter(i => i.id === 3).map(i => i.name);", "printf(\"%d\\n\", x);",
    "git commit -m 'fix' && git push", "npm run build", "console.log('hello');", "fn main() { println!(\"hi\"); }", "System.out.println(\"x\");",
    "kubectl get pods -n prod | grep api", "pip install -r requirements.txt", "a = b or c", "print(f'{x!r}')", "<div class=\"a\">{name}</div>",
    "SELECT * FROM a JOIN b ON a.id = b.id ORDER BY a.name LIMIT 10;", "awk '{print $1}' file.txt", "x?.y ?? z", "#include <stdio.h>",
    "rm -rf dist && mkdir dist", "NODE_ENV=test jest --ci", "tsc -p . && vite build", "husky install || true", "node scripts/post.js; echo done",
    'project = SHOP AND status in ("To Do", "In Progress") ORDER BY created DESC', "assignee = currentUser() AND resolution = Unresolved",
    'is:open is:issue label:"bug" author:ann', "status:open AND (priority:1 OR priority:2)", 'created >= -7d AND text ~ "login"',
    "source=syslog error | stats count by host", 'level:error AND service:"api" AND NOT path:/health', 'sum(rate(http_requests_total{job="api"}[5m])) by (status)',
    "fields @timestamp, @message | filter @message like /ERROR/ | sort @timestamp desc | limit 20", "_source.user.name:ann AND @timestamp:[now-1d TO now]",
    "myapp://open?id=5&next=/home", "intent://scan/#Intent;scheme=zxing;package=com.example;end", "otpauth://totp/Shop:ann@example.com?issuer=Shop",
    "com.example.app:/oauth2redirect", "geo:52.5,13.4", "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
    "<p>Our video:</p><iframe src=\"https://video.example.com/embed/x1\" width=\"560\" allowfullscreen></iframe>",
    "Correct|Horse&Battery;Staple", "hunter2; --", "((Tr0ub4dor&3))", "P@ss'w0rd\"!", "O'Neil&Sons<1>", "!@#$%^&*()_+-=[]{}",
]


def one_line(chooser):
    from generate import get, post, quote

    for text in ONE_LINE:
        yield get("/search?q=" + quote(text))
        yield post("/form", "application/x-www-form-urlencoded", "user=ann&note=" + quote(text))
        yield post("/api/notes", "application/json", json.dumps({"user": "ann", "note": text}))
        yield get("/?" + chooser.choice(["app_sid", "lastsid", "resid"]) + "=3&q=" + quote(text), Referer="https://other.example/x")
    yield get("/graphql?query=" + quote('{ shop { name products(first: 3, query: "title:shoe") { nodes { id } } } }'))


# How many texts of each kind there are.
SHARES = {
    "ticket": (TICKET, 520), "review": (REVIEW, 360), "incident": (INCIDENT, 240), "sql": (SQL, 240), "shell": (SHELL, 240),
    "chat": (CHAT, 420), "mail": (MAIL, 240), "cv": (CV, 160), "legal": (LEGAL, 160), "languages": (LANGUAGES, 420),
}


def fill(chooser, template):
    return re.sub(r"\{([a-z]+)\}", lambda slot: chooser.choice(SLOTS[slot[1]]) if slot[1] in SLOTS else slot[0], template)


def writer(templates, count):
    from texts import place

    def write(chooser):
        for i, template in zip(range(2 * count), itertools.cycle(templates)):
            # Each third text is in JSON, the next in a form, the next in a part.
            yield place(chooser, fill(chooser, template), 1 + (i + i // len(templates)) % 3)

    return write


KINDS = {f"text-{kind}": writer(*share) for kind, share in SHARES.items() if kind != "chat"}
KINDS["text-question"] = writer(*SHARES["chat"])
KINDS["plain-oneline"] = one_line
