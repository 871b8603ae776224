//! Bodies of one megabyte for the benches of the scanner. All are made here, from a fixed seed.

use std::fmt::Write as _;

/// What a body is a measure of.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Nothing to find, as most bodies.
    Clean,
    /// Thousands of findings.
    Dense,
    /// Made to cost as much as can be.
    Hostile,
}

type Body = fn() -> Vec<u8>;

pub const BODIES: &[(Kind, &str, Body)] = &[
    (Kind::Clean, "json", json),
    (Kind::Clean, "html", html),
    (Kind::Clean, "script", script),
    (Kind::Dense, "records", records),
    (Kind::Hostile, "digits", || repeat("4111 1111 1111 1112 ")),
    (Kind::Hostile, "one_number", || repeat("1234567890")),
    (Kind::Hostile, "groups", || repeat("12 345 67 890 1 ")),
    (Kind::Hostile, "capitals", || repeat("ABCD12EF-3456-")),
    (Kind::Hostile, "at_signs", || repeat("a@")),
    (Kind::Hostile, "addresses", || repeat("a.b@c.d-")),
    (Kind::Hostile, "urls", || repeat("http://a:b@")),
    (Kind::Hostile, "keywords", || repeat("password: iban ssn card cvv secret api key ")),
    (Kind::Hostile, "prefixes", || repeat("sk-ant-api03-xxxxxxxxxxxxxxxx ghp_xxxxxxxxxxxxxxxxxxxx ")),
    (Kind::Hostile, "tokens", || repeat("eyJhbGciOiJIUzI1NiJ9.eyJhbGciOiJIUzI1NiJ9 ")),
    (Kind::Hostile, "escapes", || repeat("4&#49;&nbsp;\\u0040%41")),
    (Kind::Hostile, "colons", || repeat("00:11:")),
    (Kind::Hostile, "less", || repeat("<<<<")),
    (Kind::Hostile, "frames", || repeat(" on line at Exception: \n")),
    (Kind::Hostile, "columns", || [b"nip,nhs number\n".to_vec(), repeat("1234567,")].concat()),
    (Kind::Hostile, "headers", || repeat("<th>nip<tr><td>1234567 ")),
    (Kind::Hostile, "countries", || repeat("GB82WEST12345698765431 ")),
];

const BYTES: usize = 1_000_000;

/// A small generator (xorshift), for bodies that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn word(&mut self) -> &'static str {
        const WORDS: &[&str] = &[
            "garden", "window", "market", "river", "album", "order", "product", "travel", "summer", "paper",
            "silver", "image", "table", "engine", "local", "story", "letter", "school", "people", "music",
            "the", "of", "and", "to", "in", "a", "is", "with", "for", "on", "that", "by", "this", "from",
            "are",
        ];
        WORDS.get(self.below(WORDS.len() as u64) as usize).copied().unwrap_or("the")
    }

    fn words(&mut self, count: u64) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

fn repeat(text: &str) -> Vec<u8> {
    text.repeat(BYTES / text.len() + 1).into_bytes()
}

fn filled(mut append: impl FnMut(&mut Numbers, &mut String)) -> Vec<u8> {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut text = String::with_capacity(BYTES + 1_000);
    while text.len() < BYTES {
        append(&mut numbers, &mut text);
    }
    text.into_bytes()
}

/// Orders of a shop.
fn json() -> Vec<u8> {
    filled(|n, text| {
        let (id, sku, hash) = (n.below(10_000_000), n.below(100_000), n.next());
        let (title, city, note) = (n.words(4), n.word(), n.words(9));
        // INVARIANT: writing to a `String` cannot fail.
        let _ = write!(
            text,
            r#"{{"id":{id},"sku":"{city}-{sku}","title":"{title}","price":{}.{:02},"currency":"EUR","quantity":{},"#,
            n.below(900),
            n.below(100),
            n.below(9) + 1
        );
        let _ = write!(
            text,
            r#""created_at":"2026-11-{:02}T{:02}:{:02}:{:02}Z","etag":"{hash:016x}","city":"{city}","note":"{note}","active":true}},"#,
            n.below(28) + 1,
            n.below(24),
            n.below(60),
            n.below(60)
        );
    })
}

/// A page of articles.
fn html() -> Vec<u8> {
    filled(|n, text| {
        let (title, body, class) = (n.words(5), n.words(60), n.word());
        let _ = write!(
            text,
            r#"<article class="card card-{class} mb-4" id="post-{}"><h2 class="title"><a href="/{class}/{}">{title}</a></h2>
  <time datetime="2026-11-{:02}">{} November 2026</time>
  <p>{body} &amp; {}.</p><img src="/images/{class}-{}x{}.jpg" alt="{title}" width="640" height="360" loading="lazy">
</article>
"#,
            n.below(100_000),
            n.word(),
            n.below(28) + 1,
            n.below(28) + 1,
            n.word(),
            n.below(2_000),
            n.below(2_000)
        );
    })
}

/// A minified script.
fn script() -> Vec<u8> {
    filled(|n, text| {
        let (a, b, c) = (n.word(), n.word(), n.word());
        let _ = match n.below(5) {
            0 => write!(
                text,
                "function {a}{}(e,t,n){{var r=e.{b},i=t.{c};return null===r?i:(r&&r.{b}(n),{})}}",
                n.below(99),
                n.below(1_000)
            ),
            1 => write!(
                text,
                "const {a}=Object.freeze({{{b}:{},{c}:\"{a}-{b}\",enabled:!0}});",
                n.below(5_000)
            ),
            2 => write!(
                text,
                "if(!this.{a}||e.length>{}){{this._{b}.set({c},(()=>{{this.{a}({},\"{c}\")}}))}}",
                n.below(300),
                n.below(90)
            ),
            3 => write!(
                text,
                ".{a}-{b}{{display:flex;margin:{}px {}px;color:#{:06x}}}",
                n.below(50),
                n.below(50),
                n.below(1 << 24)
            ),
            _ => write!(
                text,
                "e.prototype.get{a}By{b}Name=function(t){{for(var n=0;n<t.{c}.length;++n)if(t[n]%{}===0)return t[n]}};",
                n.below(64)
            ),
        };
    })
}

/// People with everything that may leak of them.
fn records() -> Vec<u8> {
    filled(|n, text| {
        let user = n.word();
        let _ = writeln!(
            text,
            r#"{{"name":"{user}","email":"{user}{}@example.com","phone":"+1 202-555-01{:02}","card":"4111 1111 1111 1111","ssn":"281-87-8310","iban":"DE89370400440532013000","key":"{}"}},"#,
            n.below(10_000),
            n.below(100),
            concat!("AK", "IAQYLPMN5HHHFPZAM2")
        );
    })
}
