"""Benign requests by kind: `plain-*` as applications send them all day, `text-*` with code or markup in them."""

import base64
import itertools
import json
import urllib.parse

QUERIES = {
    "en": ["running shoes size 10 & a half", "O'Brien's pub near me", "what's the best laptop for under $1,000?", "rock 'n' roll t-shirt", "C++ vs C#", "tom & jerry", "50% off winter sale", "how to tie a tie", "it's raining; what now?", "black or white dress", "select the right size", "union jobs in ohio", "table and chairs (set of 4)", "drop shipping", "cat food", "id card holder", "\"exact phrase\" search", "AT&T phone plans", "5' 11\" in cm", "who is the king of spain", "order by phone", "1 or 2 bedroom flat", "cheap flights JFK->LAX", "e=mc^2", "ping pong table", "sleep tracker", "echo dot 5", "kill bill vol. 2", "men's boots 8.5", "<3 heart emoji", "a/b testing", "24/7 pharmacy", "R&B music; soul", "#hashtag ideas", "@username search", "50-100 people", "price: $10 - $20", "between 1 and 2", "script writing course", "alert system for home", "the who tickets", "where to eat & drink", "find and replace", "group by activity ideas", "like new iphone", "having fun with kids", "update my address", "delete account", "insert coin game", "create table plan for wedding", "john o'groats", "d'artagnan", "l'oreal shampoo", "rock & roll hall of fame", "10% discount code", "1+1=2", "x > y", "what is 7*7", "(almost) free", "f(x) = x^2", "user's guide; manual", "node js", "python book", "bash street kids", "perl necklace", "ruby ring", "java coffee", "go game", "rust remover", "shell station", "curl cream", "dir en grey", "net curtains", "type 2 diabetes", "ms-dos", "windows 11 home"],
    "fr": ["l'été d'une femme", "où est-ce qu'on mange ?", "c'est l'heure d'aujourd'hui", "crème brûlée & café", "qu'est-ce que c'est", "prix: 10€ - 20€", "j'ai besoin d'aide", "vêtements d'hiver", "l'union fait la force", "déjà vu"],
    "de": ["Schuhe Größe 43", "Müller & Söhne", "günstige Flüge nach Köln", "wie geht's?", "Straße 12/3", "Tische und Stühle", "Öffnungszeiten heute", "50 % Rabatt", "Bücher über Märchen", "rock'n'roll"],
    "es": ["zapatos niño", "¿qué hora es?", "año nuevo", "mañana por la mañana", "precio < 20€", "camión y coche", "corazón", "¡hola!", "unión europea", "información general"],
    "it": ["l'aquila città", "com'è il tempo", "perché no?", "dell'acqua", "caffè & tè", "un po' di più", "scarpe donna", "prezzo 10,50", "città d'arte", "quell'uomo"],
    "pt": ["são paulo", "promoção 50%", "água d'oeste", "coração", "não é?", "calçados", "pão & queijo", "avião", "informática", "maçã"],
    "pl": ["żółte buty", "książki", "łódź i kraków", "cześć!", "źródło", "święta", "kawa & herbata", "ćwiczenia", "późno", "gdzie jest"],
    "ru": ["купить ботинки", "сколько стоит?", "как дела", "новый год", "кофе и чай", "цена < 100", "объявления", "погода в Москве", "книги", "союз"],
    "ja": ["靴 メンズ", "今日の天気は？", "東京駅", "カフェ＆レストラン", "価格：１００円", "「本」を探す", "映画；音楽", "新しい携帯", "会社（東京）", "ありがとう"],
    "zh": ["运动鞋", "今天天气怎么样？", "北京到上海", "价格：100元", "“手机”壳", "咖啡；茶", "电脑（二手）", "你好，世界", "图书馆", "丧尸电影"],
    "tr": ["ayakkabı", "İstanbul'da hava", "Ankara'nın nüfusu", "çay & kahve", "ne zaman?", "ucuz uçak bileti", "şeker", "güneş gözlüğü", "Türkiye'de", "ölçü"],
    "ar": ["أحذية رياضية", "كيف حالك؟", "سعر الذهب اليوم", "مطعم قريب", "كتاب"],
}
NAMES = ["Sinéad O'Connor", "Conan O'Brien", "D'Angelo Russell", "Anne-Marie Müller", "José María", "Łukasz Żak", "Dr. Smith, Jr.", "Mary \"May\" Jones", "Nguyễn Văn A", "Zoë N'Diaye", "Jean d'Arc", "M. L'Hôpital", "Ian McKellen & Co.", "Shaquille O'Neal", "Björk Guðmundsdóttir", "O'Reilly Media", "Null Jennifer", "Robert Tables", "Drew Union", "李小龙", "山田 太郎", "Иван Петров", "Select Comfort Inc.", "Smith; Jones LLP", "Mac'Allister", "T'Challa", "Peter van 't Hof", "'s-Hertogenbosch"]
STREETS = ["221B Baker St.", "Rue de l'Église 5", "St. John's Rd #12", "Straße des 17. Juni 135", "Apt. 4/5, 10 Main St; rear door", "1600 Pennsylvania Ave. NW", "Calle Ñuñoa 3º B", "c/o O'Hara, Dublin 2", "P.O. Box 123 (north)", "12 King's Cross, London"]
WORDS = "time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work government number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city community name president team minute idea kid body information back parent face others level office door health person art war history party result change morning reason research girl guy moment air teacher force education".split()
UUIDS = ["3f2504e0-4f89-41d3-9a0c-0305e82c3301", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "f47ac10b-58cc-4372-a567-0e02b2c3d479"]


def gen():
    from generate import get, post, multipart, file_part, field_part, quote
    return get, post, multipart, file_part, field_part, quote


def token(chooser):
    b = lambda data: base64.urlsafe_b64encode(data).decode().rstrip("=")
    return ".".join([b(b'{"alg":"RS256","typ":"JWT","kid":"k1"}'), b(json.dumps({"sub": str(chooser.randrange(10**9)), "exp": 1790000000}).encode()), b(chooser.randbytes(64))])


def sentence(chooser, least=4, most=14):
    words = [chooser.choice(WORDS) for _ in range(chooser.randint(least, most))]
    return words[0].capitalize() + " " + " ".join(words[1:]) + chooser.choice([".", "!", "?", " :)", " - thanks", "; more later."])


def searches(chooser):
    get, *_, quote = gen()
    every = [(lang, text) for lang, texts in QUERIES.items() for text in texts]
    for lang, text in every:
        yield get(f"/search?q={quote(text)}&lang={lang}")
        yield get(f"/s?k={urllib.parse.quote_plus(text)}&page={chooser.randint(1, 9)}&sort=price_asc", Referer="https://www.example.com/")
        yield get(f"/api/suggest?term={quote(text[: max(3, len(text) // 2)])}")
    for (a, b) in itertools.islice(itertools.permutations([t for t in QUERIES["en"]], 2), 0, 4000, 11):
        yield get(f"/search?q={quote(a + ' ' + b)}&filter={quote(chooser.choice(['color:red|blue', 'size:[10 TO 20]', 'brand=a;b', 'in:title -used', 'price>=10', 'tags:(a OR b)']))}")


def forms(chooser):
    get, post, *_, quote = gen()
    for i in range(600):
        name, street = chooser.choice(NAMES), chooser.choice(STREETS)
        fields = {"name": name, "email": f"user{i}+news@example.com", "address": street, "city": chooser.choice(["Saint-Étienne", "Coeur d'Alene", "Köln", "New York, NY", "'s-Gravenhage"]), "phone": chooser.choice(["+1 (555) 010-9999", "0049/89/1234", "555-0100 ext. 5", "+44 20 7946 0018"]), "message": sentence(chooser, 5, 30) + chooser.choice(["", "\n" + sentence(chooser), " I'd say it's ok; don't you think?", "\n\nBest,\n" + name, " 50% & more..."]), "agree": "on", "amount": chooser.choice(["1,000.50", "$5", "-3", "10%"]), "csrf": base64.b64encode(chooser.randbytes(24)).decode(), "date": "2026-11-21T10:00:00+01:00", "password": "".join(chooser.choice("abcXYZ019!@#$%^&*()-_=+[]{}|;:,.?/~") for _ in range(12)) if i % 4 == 0 else "correct horse battery staple"}
        yield post(chooser.choice(["/contact", "/signup", "/checkout", "/profile"]), "application/x-www-form-urlencoded", urllib.parse.urlencode(fields))


def json_apis(chooser):
    get, post, *_ = gen()
    for i in range(700):
        kind = i % 7
        body = [
            {"id": i, "title": sentence(chooser), "tags": [chooser.choice(WORDS) for _ in range(4)], "price": 9.99, "active": True, "note": None, "author": chooser.choice(NAMES)},
            {"query": {"bool": {"must": [{"match": {"title": chooser.choice(QUERIES["en"])}}], "filter": [{"range": {"price": {"gte": 10, "lte": 20}}}]}}, "size": 10, "sort": [{"date": "desc"}]},
            {"event": "page_view", "url": "https://www.example.com/a?b=c&d=e#f", "ts": 1790000000 + i, "props": {"utm_source": "news|letter", "ab": "A/B;c", "path": "/a/../b", "viewport": "1280x720"}},
            [{"op": "replace", "path": "/name", "value": chooser.choice(NAMES)}, {"op": "add", "path": "/tags/-", "value": "x/y"}],
            {"user": {"name": chooser.choice(NAMES), "bio": sentence(chooser, 8, 25), "urls": ["https://example.com/~user", "http://blog.example.org:8080/"], "locale": "en-US,en;q=0.9"}, "settings": {"cron": "*/5 * * * *", "tz": "Europe/Berlin", "theme": {"primary": "#ff00aa"}}},
            {"filters": [{"field": "status", "operator": "in", "value": ["open", "closed"]}, {"field": "name", "operator": "like", "value": "%" + chooser.choice(WORDS) + "%"}], "select": ["id", "name"], "orderBy": "created_at desc", "limit": 50},
            {"model": "m-1", "data": base64.b64encode(chooser.randbytes(90)).decode(), "hash": chooser.randbytes(32).hex(), "uuid": chooser.choice(UUIDS), "regex": "^[a-z0-9_-]{3,16}$", "format": "{name}, {city}", "template": "Hello {{name}}!", "version": ">=1.2.3 <2.0.0"},
        ][kind]
        method = ["POST", "POST", "POST", "PATCH", "PUT", "POST", "POST"][kind]
        content_type = "application/json-patch+json" if kind == 3 else "application/json; charset=utf-8" if i % 3 else "application/json"
        yield post(f"/api/v1/{chooser.choice(WORDS)}s/{i}", content_type, json.dumps(body, ensure_ascii=bool(i % 2)), method=method, Authorization="Bearer " + token(chooser))


def graphql(chooser):
    get, post, *_, quote = gen()
    documents = [
        "query GetUser($id: ID!) { user(id: $id) { id name email posts(first: 10) { edges { node { id title } } pageInfo { hasNextPage } } } }",
        "mutation AddComment($input: AddCommentInput!) {\n  addComment(input: $input) {\n    comment { id body author { name __typename } __typename }\n    __typename\n  }\n}",
        "query Search($q: String!, $first: Int = 20) { search(query: $q, type: PRODUCT, first: $first) { nodes { ... on Product { id name price { amount currency } } } } }",
        "{ viewer { login repositories(last: 3, orderBy: {field: NAME, direction: ASC}) { nodes { name stars: stargazerCount } } } }",
        "fragment UserParts on User { id name avatar(size: 64) } query Q { me { ...UserParts } friends { ...UserParts } }",
        "subscription OnMessage($room: ID!) { messageAdded(room: $room) { id text } }",
        "query P($withPrice: Boolean!) { product(id: 5) { name price @include(if: $withPrice) reviews @skip(if: false) { text } } }",
        "query D { a: item(id: 1) { ...F } b: item(id: 2) { ...F } c: item(id: 3) { ...F } } fragment F on Item { id title parent { id parent { id parent { id } } } }",
    ]
    for i in range(300):
        document = documents[i % len(documents)]
        variables = {"id": str(i), "q": chooser.choice(QUERIES["en"]), "first": 10, "input": {"body": sentence(chooser, 5, 20), "name": chooser.choice(NAMES)}, "room": chooser.choice(UUIDS), "withPrice": True}
        body = {"operationName": None, "query": document, "variables": variables}
        if i % 5 == 0:
            yield get("/graphql?query=" + quote(documents[3]) + "&variables=" + quote(json.dumps({"n": i})))
        elif i % 7 == 0:
            yield post("/graphql", "application/json", json.dumps([body, body]))
        else:
            yield post("/graphql", "application/json", json.dumps(body))


def odata(chooser):
    get, post, *_, quote = gen()
    filters = ["Name eq 'O''Brien'", "Price gt 5 and Price lt 100", "contains(Name,'chai')", "startswith(City,'S') or endswith(City,'n')", "year(Created) eq 2026", "(Status eq 'open' or Status eq 'new') and Owner ne null", "Tags/any(t: t eq 'a')", "Id in (1,2,3)", "not (Rating ge 3)", "length(Name) gt 3", "substringof('x',Name) eq true", "geo.distance(Loc,geography'POINT(1 2)') lt 10"]
    for i in range(200):
        parts = {"$filter": chooser.choice(filters), "$select": "Id,Name,Price", "$orderby": chooser.choice(["Name asc", "Price desc,Name"]), "$top": "20", "$skip": str(i), "$expand": chooser.choice(["Orders", "Orders($select=Id;$top=5)", "Customer/Address"]), "$count": "true"}
        yield get("/odata/v4/Products?" + "&".join(f"{k}={quote(v)}" for k, v in parts.items()))
        yield get(f"/odata/Products({i})/Orders('{i}')?$format=json")
        if i % 2:
            jql = chooser.choice(['project = ABC AND status in ("In Progress", Done) ORDER BY created DESC', 'assignee = currentUser() AND resolution = Unresolved', 'text ~ "log in" and labels = "a-b"', 'created >= -7d'])
            yield get("/rest/api/2/search?jql=" + quote(jql) + "&maxResults=50")


def cookies(chooser):
    get, *_, quote = gen()
    for i in range(350):
        jar = [
            f"_ga=GA1.2.{chooser.randrange(10**9)}.{1790000000 + i}; _gid=GA1.2.{i}.1; _gat=1; _fbp=fb.1.{1790000000000 + i}.{i}; _gcl_au=1.1.{i}.{i}",
            "OptanonConsent=isGpcEnabled=0&datestamp=Sat+Nov+21+2026+10%3A00%3A00+GMT%2B0100+(Central+European+Standard+Time)&version=202409.1.0&groups=C0001%3A1%2CC0002%3A0&hosts=&consentId=" + chooser.choice(UUIDS),
            "session=" + base64.b64encode(chooser.randbytes(48)).decode() + "; csrftoken=" + chooser.randbytes(16).hex(),
            "cart=" + quote(json.dumps({"items": [{"id": i, "qty": 2, "name": chooser.choice(NAMES)}]})) + "; currency=EUR; locale=de_DE",
            "connect.sid=s%3A" + chooser.randbytes(16).hex() + "." + quote(base64.b64encode(chooser.randbytes(32)).decode()) + "; remember_me=1",
            "intercom-id-a=" + chooser.choice(UUIDS) + "; ajs_user_id=%22" + str(i) + "%22; ajs_anonymous_id=%22" + chooser.choice(UUIDS) + "%22; __stripe_mid=" + chooser.choice(UUIDS),
            "PHPSESSID=" + chooser.randbytes(13).hex() + "; wp-settings-1=libraryContent%3Dbrowse%26editor%3Dtinymce; wordpress_logged_in_x=admin%7C1790000000%7Cabc",
            "token=" + token(chooser) + "; utm=source|medium|campaign; prefs=a:1,b:2;c=d",
            "hubspotutk=" + chooser.randbytes(16).hex() + "; __hstc=1.2.3.4.5; _hjSessionUser_1=" + quote(base64.b64encode(json.dumps({"id": chooser.choice(UUIDS), "created": 1790000000}).encode()).decode()),
            "lastSearch=" + quote(chooser.choice(QUERIES["en"])) + "; viewed=" + "%7C".join(str(i + j) for j in range(5)),
        ][i % 10]
        yield get(chooser.choice(["/", "/account", "/api/me", "/cart?step=2"]), Cookie=jar, Referer="https://www.example.com/a?b=c&x=" + quote(chooser.choice(QUERIES["en"])))


def uploads(chooser):
    get, post, multipart, file_part, field_part, quote = gen()
    names = ["photo.jpg", "IMG_2024 (1).jpeg", "Rapport d'été.pdf", "report.v2.final.docx", "data-2026-11.csv", "résumé.pdf", "archive.tar.gz", "song.mp3", "телефон.png", "notes.txt", "invoice #12.pdf", "scan & sign.pdf", "logo@2x.png", "my.config.json", "backup.zip", "budget 50%.xlsx", "a'b.png", "video.mp4", "O'Brien CV.pdf", "photo.jpg"]
    for i in range(250):
        name = names[i % len(names)]
        content = chooser.choice(["id,name,price\n1,O'Brien,5\n2,\"Smith, J.\",6\n", "Dear all,\nplease find the notes of the meeting below.\n- budget & plan\n- who does what\n", "%PDF-1.7 fake", "plain content " * 20, "{\"a\": 1, \"b\": [1,2,3]}", "PNG fake"])
        yield multipart([field_part("title", sentence(chooser)), field_part("folder", "/Documents/2026"), file_part(name, content, chooser.choice(["image/jpeg", "application/pdf", "text/csv", "text/plain", "application/octet-stream"]))])


def webhooks(chooser):
    get, post, *_ = gen()
    for i in range(300):
        body = [
            {"action": "opened", "number": i, "pull_request": {"url": "https://api.example.com/repos/a/b/pulls/1", "title": "Fix: don't drop the table header", "body": sentence(chooser, 10, 30), "head": {"ref": "fix/header-1"}, "user": {"login": "ann"}}, "repository": {"full_name": "a/b", "clone_url": "https://example.com/a/b.git", "ssh_url": "git@example.com:a/b.git"}},
            {"id": "evt_" + str(i), "object": "event", "type": "payment_intent.succeeded", "data": {"object": {"amount": 2000, "currency": "eur", "receipt_email": "a@example.com", "description": "Order #" + str(i)}}, "livemode": False},
            {"type": "message", "channel": "C0", "text": f"<@U1> {sentence(chooser)} <https://example.com|link>", "ts": "1790000000.000100", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "*bold* & _it_"}}]},
            {"ref": "refs/heads/main", "commits": [{"id": chooser.randbytes(20).hex(), "message": "Merge branch 'dev'; update docs\n\nSee #12", "author": {"name": chooser.choice(NAMES), "email": "a@example.com"}, "added": ["src/a.rs", "docs/b.md"], "modified": ["Cargo.toml"]}]},
            {"alerts": [{"status": "firing", "labels": {"alertname": "HighLoad", "instance": "10.0.0.5:9100", "severity": "warning"}, "annotations": {"summary": "load > 5 on node-1", "description": "value is 7.5 (limit 5)"}, "startsAt": "2026-11-21T10:00:00Z", "generatorURL": "https://prom.example.com/graph?g0.expr=node_load1%20%3E%205"}]},
            {"csp-report": {"document-uri": "https://www.example.com/", "violated-directive": "script-src 'self'", "blocked-uri": "https://cdn.example.net/x.js", "original-policy": "default-src 'none'; script-src 'self' https://cdn.example.com; report-uri /csp", "line-number": 1}},
        ][i % 6]
        yield post("/hooks/" + str(i % 9), "application/csp-report" if i % 6 == 5 else "application/json", json.dumps(body))


def beacons(chooser):
    get, post, *_, quote = gen()
    for i in range(400):
        page = "https://www.example.com/p/" + chooser.choice(WORDS) + "?utm_source=a&utm_medium=b%7Cc"
        if i % 4 == 0:
            yield get(f"/collect?v=2&tid=G-ABC&_p={i}&cid={i}.{i}&ul=en-us&sr=1920x1080&dl={quote(page)}&dt={quote(sentence(chooser))}&en=page_view&_s=1&ep.x={quote('a|b;c')}")
        elif i % 4 == 1:
            yield post("/beacon", "text/plain;charset=UTF-8", json.dumps({"t": "perf", "u": page, "m": {"lcp": 1200.5, "cls": 0.01}, "ua": "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"}))
        elif i % 4 == 2:
            yield get(f"/pixel.gif?e={quote(json.dumps({'ev': 'click', 'el': 'a.btn > span', 'tx': chooser.choice(QUERIES['en'])}))}&r={quote(page)}&z=0.{i}")
        else:
            yield post("/error-log", "application/json", json.dumps({"message": "Uncaught TypeError: Cannot read properties of undefined (reading 'id')", "stack": "TypeError: x is not a function\n    at foo (https://www.example.com/app.js:1:2345)\n    at HTMLButtonElement.onclick (https://www.example.com/:12:3)", "url": page}))


def rest(chooser):
    get, post, *_, quote = gen()
    for i in range(500):
        yield [
            lambda: get(f"/users/{i}/orders?status=open&status=paid&created[gte]=2026-01-01&sort=-created,name&fields=id,name&include=items.product"),
            lambda: post(f"/users/{i}", "application/merge-patch+json", json.dumps({"nick": chooser.choice(NAMES)}), method="PATCH"),
            lambda: {**get(f"/users/{i}?soft=true"), "method": "DELETE"},
            lambda: get(f"/oauth/authorize?client_id=abc&redirect_uri={quote('https://app.example.com/callback?x=1')}&scope={quote('openid profile email')}&state={quote(base64.b64encode(chooser.randbytes(18)).decode())}&code_challenge={base64.urlsafe_b64encode(chooser.randbytes(32)).decode().rstrip('=')}&response_type=code"),
            lambda: get(f"/files/{quote('Year End (final) & more.pdf')}?download=1&v={i}"),
            lambda: get(f"/img/{quote('a b')}/{i}.jpg?w=300&h=200&fit=crop&url={quote('https://images.example.com/x.jpg')}"),
            lambda: get(f"/maps?bbox=-0.5,51.2,0.3,51.7&center=51.5;-0.12&z={i % 20}&layers=a|b|c"),
            lambda: {**get("/api/items"), "method": "OPTIONS", "headers": {**get("/")["headers"], "Origin": "https://app.example.com", "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type,x-a"}},
            lambda: get(f"/share?u={quote('https://www.example.com/post/1?a=b&c=d#e')}&text={quote(sentence(chooser))}&hashtags=a,b"),
            lambda: post("/saml/acs", "application/x-www-form-urlencoded", "SAMLResponse=" + quote(base64.b64encode(b"<samlp:Response xmlns:samlp='urn:oasis:names:tc:SAML:2.0:protocol' ID='x'>" + chooser.randbytes(60) + b"</samlp:Response>").decode()) + "&RelayState=%2Fhome"),
            lambda: get(f"/report?from=2026-01-01T00:00:00%2B02:00&to=2026-12-31&group=day&metric=sum(price)&tz=America%2FNew_York&cols[]=a&cols[]=b"),
            lambda: post("/soap", "text/xml; charset=utf-8", f"<?xml version=\"1.0\"?><soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body><GetOrder><Id>{i}</Id><Name>O'Brien &amp; Sons</Name></GetOrder></soap:Body></soap:Envelope>"),
        ][i % 12]()


HEADERS = [
    {"Sec-CH-UA": '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"', "Sec-CH-UA-Mobile": "?0", "Sec-CH-UA-Platform": '"Windows"', "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Accept-Language": "en-US,en;q=0.9,de;q=0.8", "Accept-Encoding": "gzip, deflate, br, zstd", "Priority": "u=1, i"},
    {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", "Accept-Language": "fr-FR,fr;q=0.5", "Upgrade-Insecure-Requests": "1", "DNT": "1", "Sec-GPC": "1", "Connection": "keep-alive", "TE": "trailers"},
    {"If-None-Match": 'W/"33a64df5-14af"', "If-Modified-Since": "Sat, 21 Nov 2026 07:28:00 GMT", "Cache-Control": "max-age=0, no-cache"},
    {"Authorization": 'Digest username="ann", realm="r@example.com", nonce="dcd98b7102dd", uri="/dir/index.html", qop=auth, nc=00000001, cnonce="0a4f113b", response="6629fae49393a05397450978507c4ef1", opaque="5ccc069c403e"'},
    {"Authorization": "AWS4-HMAC-SHA256 Credential=EXAMPLEID/20261121/us-east-1/s3/aws4_request, SignedHeaders=host;range;x-amz-date, Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024", "X-Amz-Date": "20261121T000000Z"},
    {"Authorization": 'OAuth realm="Photos", oauth_consumer_key="dpf43f3p2l4k3l03", oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131200", oauth_nonce="wIjqoxSZ", oauth_callback="http%3A%2F%2Fprinter.example.com%2Fready"'},
    {"Authorization": "Basic YW5uOnNlY3JldCBwYXNz", "X-Requested-With": "XMLHttpRequest", "X-CSRF-Token": "kZ9+/a1b2c3d4=="},
    {"Forwarded": 'for=192.0.2.60;proto=http;by=203.0.113.43, for="[2001:db8::1]:4711"', "Via": "1.1 varnish (Varnish/7.4), 1.1 cache.example.net", "X-Forwarded-For": "203.0.113.195, 2001:db8:85a3::8a2e:370:7334", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "www.example.com:443"},
    {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "baggage": "userId=alice,serverNode=DF%2028,isProduction=false;ttl=5", "sentry-trace": "771a43a4192642f0b136d5159a501700-9e6a-1"},
    {"Prefer": "return=representation; odata.metadata=none, respond-async, wait=10", "OData-Version": "4.0", "Accept": "application/json;odata.metadata=minimal"},
    {"apollo-require-preflight": "true", "x-apollo-operation-name": "GetCart", "Accept": "multipart/mixed;deferSpec=20220824, application/graphql-response+json, application/json"},
    {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1"},
    {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "From": "googlebot(at)googlebot.com"},
    {"User-Agent": "Mozilla/5.0 (Linux; Android 15; SM-S921B Build/AP3A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/142.0 Mobile Safari/537.36 [FBAN/EMA;FBLC/de_DE;FBAV/400.0;]"},
    {"User-Agent": "okhttp/4.12.0", "X-App-Version": "5.2.1 (build 1234; release)", "X-Device": "Pixel 9 Pro / Android 16"},
    {"User-Agent": "curl/8.5.0"}, {"User-Agent": "python-requests/2.32.3"}, {"User-Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"},
    {"Signature": 'sig1=:K2qGT5srn2OGbOIDzQ6kYT+ruaycnDAAUpKv+ePFfD0=:', "Signature-Input": 'sig1=("@method" "@path" "content-digest");created=1618884473;keyid="test-key"', "Content-Digest": "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"},
    {"Referer": "https://www.example.com/search?q=how+to+drop+a+table+in+sql&hl=en", "Origin": "https://www.example.com"},
    {"Referer": "android-app://com.example.app/", "X-Client-Data": "CIa2yQEIorbJAQipncoBCKijygE="},
    {"Content-Disposition": 'attachment; filename="Rapport d\'avril.pdf"; size=12', "X-Upload-Meta": '{"folder":"/a/b","tags":["x","y"]}'},
    {"CF-Visitor": '{"scheme":"https"}', "X-Real-IP": "203.0.113.7", "True-Client-IP": "203.0.113.7"},
    {"Range": "bytes=0-1023", "Accept": "*/*", "Icy-MetaData": "1"},
    {"X-Stainless-Lang": "python", "X-Stainless-Runtime": "CPython", "X-Stainless-OS": "MacOS", "OpenAI-Beta": "assistants=v2", "Idempotency-Key": "stainless-python-retry-1"},
    {"NewRelic": "eyJ2IjpbMCwxXSwiZCI6eyJ0eSI6IkJyb3dzZXIifX0=", "X-NewRelic-ID": "VQUAVFdUGwQGUFVVDwQ="},
    {"Link": '<https://api.example.com/items?page=2>; rel="next"', "X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=d57c68ca6f92289e6987922ff26938930f6e66a2d161ef06abdf1859230aa23c"},
]


def headers(chooser):
    get, post, *_ = gen()
    for i in range(300):
        request = chooser.choice([lambda: get("/api/items?page=2"), lambda: get("/"), lambda: post("/api/items", "application/json", '{"a":1}')])()
        for fields in (HEADERS[i % len(HEADERS)], chooser.choice(HEADERS)):
            request["headers"].update(fields)
        yield request


CODE = [
    "SELECT u.id, u.name, COUNT(o.id) AS orders\nFROM users u\nLEFT JOIN orders o ON o.user_id = u.id\nWHERE u.active = 1 AND u.country IN ('DE', 'FR')\nGROUP BY u.id\nHAVING COUNT(o.id) > 5\nORDER BY orders DESC\nLIMIT 10;",
    "def total(items):\n    \"\"\"Sum of prices.\"\"\"\n    return sum(i['price'] * i['qty'] for i in items if i['qty'] > 0)\n\nif __name__ == '__main__':\n    import os\n    print(total([]), os.environ.get('HOME'))",
    "#!/bin/bash\nset -euo pipefail\nfor f in *.log; do\n  gzip \"$f\" && mv \"$f.gz\" /var/backups/\ndone\necho \"done: $(date)\" | tee -a run.log",
    "const app = require('express')();\napp.get('/', (req, res) => {\n  res.send(`<h1>Hello ${req.query.name}</h1>`);\n});\napp.listen(3000, () => console.log('http://localhost:3000'));",
    "<script>\n  document.getElementById('btn').addEventListener('click', () => {\n    fetch('/api/items').then(r => r.json()).then(console.log);\n  });\n</script>",
    "<?php\n$stmt = $pdo->prepare('SELECT * FROM users WHERE email = ?');\n$stmt->execute([$_POST['email']]);\necho htmlspecialchars($stmt->fetch()['name']);\n?>",
    "FROM rust:1.95\nWORKDIR /app\nCOPY . .\nRUN apt-get update && apt-get install -y curl && rm -rf /var/lib/apt/lists/*\nCMD [\"./target/release/app\"]",
    "version: '3'\nservices:\n  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: ${DB_PASSWORD:-secret}\n    ports: ['127.0.0.1:5432:5432']",
    "{% for item in items %}\n  <li>{{ item.name|upper }} - {{ item.price * 1.2 }}</li>\n{% endfor %}",
    "import React from 'react';\nexport default function App({ user }) {\n  return <div onClick={() => alert('Hello ' + user.name)}>Hi {user.name}!</div>;\n}",
    "curl -X POST https://api.example.com/v1/items \\\n  -H 'Authorization: Bearer $TOKEN' \\\n  -d '{\"name\":\"x\"}' | jq .",
    "git checkout -b fix/a && git commit -am \"wip\" && git push origin HEAD\nnpm install && npm test; echo $?",
    "fn main() {\n    let v: Vec<u32> = (1..=10).filter(|x| x % 2 == 0).collect();\n    println!(\"{v:?}\");\n}",
    "INSERT INTO logs (level, msg) VALUES ('info', 'it''s fine');\nUPDATE users SET name = 'x' WHERE id = 1;\nDELETE FROM sessions WHERE expires < NOW();",
    "@app.route('/ping')\ndef ping():\n    host = request.args.get('host')\n    return subprocess.run(['ping', '-c', '1', host], capture_output=True).stdout",
    "SELECT 'a' || 'b' FROM dual UNION ALL SELECT name FROM v$database;",
    "$ cat /etc/nginx/nginx.conf | grep -v '#'\n$ sudo systemctl restart nginx\n$ tail -f /var/log/nginx/error.log",
    "server {\n  listen 80;\n  location / { proxy_pass http://127.0.0.1:3000; proxy_set_header Host $host; }\n  location ~ \\.php$ { fastcgi_pass unix:/run/php.sock; }\n}",
    "WITH t AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) rn FROM x)\nSELECT * FROM t WHERE rn = 1;",
    "try {\n  await db.users.find({ age: { $gt: 18 }, name: { $regex: /^a/ } });\n} catch (e) { console.error(e); process.exit(1); }",
    "Get-Process | Where-Object { $_.CPU -gt 100 } | Sort-Object CPU -Descending | Select-Object -First 5\nInvoke-WebRequest -Uri https://example.com -OutFile x.html",
    ".btn:hover { background: url(data:image/png;base64,iVBORw0KGgo=); }\n@media (max-width: 600px) { .a > .b { display: none; } }",
    "for (int i = 0; i < n; i++) { if (a[i] > max || b[i] == '\\'') max = a[i]; }\nreturn max;",
]
INTROS = ["How do I fix this?", "Can you explain what this code does and why it fails on my machine?", "Here is the script that I use for the backup of our server:", "I get an error when I run this, please help me:", "Please review the following code and tell me what could be better.", "What is the difference between these two?", "Rewrite this so that it is easier to read:", "This is how we did it in the last project:", "Why is this query slow? We have about two million rows in the table.", "Translate this to Python, please, and add comments:", "Bitte erkläre mir, was dieser Code macht und wie ich ihn schneller machen kann.", "Explique-moi ce que fait ce code et comment je peux le corriger, s'il te plaît."]
MARKDOWN = [
    "# Release notes\n\n- **Fixed** a crash when `name` is `null`\n- Added `SELECT` support; see [docs](https://example.com/docs?a=1&b=2)\n\n> It's done!\n\n| a | b |\n|---|---|\n| 1 | `x > 2` |\n",
    "## How to set up\n\n1. Run `npm install && npm start`\n2. Open <http://localhost:3000>\n3. Don't forget to `export API_KEY=...`\n\n![img](../images/a.png)\n",
    "We use `{{ name }}` in templates, `${name}` in JS and `%s` in C.\n\nSee also: ../other/page.md and https://example.com/~user/\n",
    "Use `cat file | grep error | sort | uniq -c` to count the errors in the log, then `tail -n 50` to see the last ones.\n",
    "<details><summary>Log</summary>\n\n```\nerror: cannot open file '/etc/app.conf'\n```\n</details>\n\n- [x] done\n- [ ] todo <br/> next\n",
]
# What quotes a whole attack cannot be told from it: where it is shown or run, it is one.
TALK = [
    "public class Main {\n  public static void main(String[] args) throws Exception {\n    Process p = Runtime.getRuntime().exec(\"ls -la\");\n    System.out.println(p.waitFor());\n  }\n}",
    "To prevent SQL injection, never write `\"... WHERE name = '\" + name + \"'\"`; an attacker sends `' OR '1'='1` and gets every row. Use parameters instead.\n",
    "An XSS example from the training: `<script>alert(1)</script>` typed in the comment field should be shown as text, and not run by the browser.\n",
    "The path `../../etc/passwd` is what scanners try first; our server answers with a 404 to that, as it should, so you can ignore these lines in the log.\n",
]
HTML = [
    "<p>Dear customer,</p>\n<p>your order <b>#123</b> has been <a href=\"https://www.example.com/track?id=1&amp;x=2\">shipped</a>.</p>\n<img src=\"https://www.example.com/logo.png\" alt=\"Logo\" width=\"100\">\n<p style=\"color:#333;font-size:12px\">Don't reply to this mail.</p>",
    "<h2>About us</h2><ul><li>Since 1999</li><li>Over 50 people &amp; growing</li></ul><p>We're based in <em>Köln</em>. <strong>Call us!</strong></p>",
    "<table border=\"1\" cellpadding=\"4\"><tr><th>Name</th><th>Price</th></tr><tr><td>O'Brien</td><td>&lt; 5 &euro;</td></tr></table><p>That is all that we have for you this week.</p>",
    "<div class=\"post\"><h1>My trip to the sea</h1><figure><img src=\"/uploads/a.jpg\" alt=\"\"><figcaption>The beach</figcaption></figure><p>It was a day that I will not forget, and the food was great.</p></div>",
    "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>Newsletter</title>\n<style>body{font-family:sans-serif} .a{color:red}</style>\n</head>\n<body>\n<p>Hello {{first_name}},</p>\n<p>here is the news of this month.</p>\n</body>\n</html>",
    "<blockquote>It's what we said</blockquote>\n<pre><code>&lt;script&gt;alert('hi')&lt;/script&gt;</code></pre>\n<p>This is how you would show it in a page.</p>",
    "<p>Watch the video that we made for you:</p><iframe width=\"560\" height=\"315\" src=\"https://video.example.com/embed/abc\" allowfullscreen></iframe><p>And tell us what you think of it in the comments.</p>",
    "<mjml><mj-body><mj-section><mj-column><mj-text>Hello, this is the mail that you asked for.</mj-text></mj-column></mj-section></mj-body></mjml>",
]


def place(chooser, value, i):
    get, post, multipart, file_part, field_part, quote = gen()
    return [
        lambda: post("/v1/chat/completions", "application/json", json.dumps({"model": "m-1", "messages": [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": value}], "stream": True})),
        lambda: post("/wiki/edit", "application/x-www-form-urlencoded", urllib.parse.urlencode({"title": "Page", "body": value, "summary": "it's better"})),
        lambda: post("/api/posts", "application/json", json.dumps({"title": "Post", "content": value, "tags": ["a"]})),
        lambda: multipart([field_part("title", "t"), field_part("body", value)]),
    ][i % 4]()


def text_code(chooser):
    for i in range(400):
        yield place(chooser, chooser.choice(CODE), i)
        yield place(chooser, chooser.choice(CODE) + "\n\n" + chooser.choice(CODE), i + 1)


def text_prompts(chooser):
    for i in range(500):
        fence = chooser.choice(["```\n", "```python\n", ""])
        yield place(chooser, chooser.choice(INTROS) + "\n\n" + fence + chooser.choice(CODE) + ("\n```" if fence else ""), i if i % 3 else 0)


def text_markdown(chooser):
    for i in range(400):
        yield place(chooser, chooser.choice(MARKDOWN) + "\n" + sentence(chooser, 8, 30) + "\n\n" + chooser.choice(MARKDOWN), i)


def text_html(chooser):
    for i in range(400):
        yield place(chooser, chooser.choice(HTML) + "\n" + "<p>" + sentence(chooser, 6, 30) + "</p>" + chooser.choice(["", chooser.choice(HTML)]), i)


def talk(chooser):
    for i in range(200):
        yield place(chooser, sentence(chooser, 6, 20) + "\n\n" + chooser.choice(TALK) + sentence(chooser, 6, 20), i)


def text_chat(chooser):
    lines = ["lol that's what she said ;)", "can u run `ls -la` and tell me what it says?", "try `git status`; then `git pull`", "the fix: set x = 'a' or use null", "<3 <3 thx!!", "see https://example.com/a?b=c; it's #1", "use SELECT * FROM users, then filter", "nope -> 404 :/", "I'd go w/ option A && B", "price is $5 (or 10%?)", "what does `$(pwd)` do?", "his code: if (a > b) { return 'x'; }", "ok; ls works, cat doesn't", "echo chamber | noise", "rm -rf is dangerous :D", "drop the table name, keep the id", "DM me: <user@example.com>", "ctrl+c & ctrl+v", "{{name}} isn't replaced in the mail", "the path is C:\\Users\\ann\\file.txt", "it prints \"a\" or \"b\"", "the <b> tag isn't closed", "1 or 2? 1=yes 2=no", "cd ..; make; make install", "union of A and B; select one"]
    for i in range(400):
        yield place(chooser, chooser.choice(lines) + " " + sentence(chooser, 3, 12), i)


KINDS = {
    "plain-search": searches, "plain-form": forms, "plain-json": json_apis, "plain-graphql": graphql, "plain-odata": odata,
    "plain-cookie": cookies, "plain-upload": uploads, "plain-webhook": webhooks, "plain-beacon": beacons, "plain-rest": rest, "plain-headers": headers,
    "text-code": text_code, "text-prompt": text_prompts, "text-markdown": text_markdown, "text-html": text_html, "text-chat": text_chat,
    "talk": talk,
}
