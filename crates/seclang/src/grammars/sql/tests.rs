use super::*;

fn strength(value: &[u8]) -> Option<Strength> {
    sql(value, Question::ANY).map(|found| found.strength)
}

#[test]
fn injections() {
    for value in [
        "1' OR '1'='1",
        "' or 1=1--",
        "\" or \"\"=\"",
        "') or ('1'='1",
        "1 or 1=1",
        "1 AND 5>3",
        "' or true--",
        "'||1#",
        "' or ''='",
        "' or sleep(5)",
        "admin'--",
        "admin' #",
        "admin'/*",
        "x')--",
        "1 union select 1,2",
        "1/**/UNION/**/ALL/**/SELECT/**/1",
        "' union(select 1)",
        "1;drop table users",
        "'; exec xp_cmdshell 'dir'",
        "1 order by 10--",
        "' order by 3#",
        "' having 1=1--",
        "1 and (select count(*) from a)>0",
        "(select(0)from(select(sleep(6)))v)",
        "if(now()=sysdate(),sleep(6),0)",
        "1-sleep(5)",
        "'||(select password from users)||'",
        "1 and exists(select 1)",
        "' and ascii(substr(user(),1,1))>64--",
        "1) or (1=1",
        "1 procedure analyse(1)",
        "' into outfile '/tmp/x",
        "1' and 1=1 #",
        "' like '%",
        "0' or name like '%a",
        "1%' and '%'='",
        "{ user(name: \"x' or 1=1--\") }",
        "1||1=1",
        "1&&1=1",
        "1 or true",
        "-1 or not false",
        "1 or name regexp '^a'",
        "1 is not null#",
        "x\\' or 1=1--",
        "x'or'1'='1",
        "'='",
        "'-0||'",
        "1 and sleep(5)",
        "-1 union select null,null",
        "' or 1 -- -",
        "1 in (select 1)",
        "case when 1=1 then 1 else 2 end",
        "or 1=1",
        "admin' and password like 'a%",
        "'; waitfor delay '0:0:5'--",
        "`' or '1'='1`",
        "\"x' or '1'='1",
        "admin'/**/or/**/'1",
        "admin \"#",
    ] {
        assert!(strength(value.as_bytes()) == Some(Strength::Certain), "{value}");
    }
}

#[test]
fn texts() {
    for value in [
        "O'Brien and sons",
        "Rock 'n' roll or blues",
        "20% off, select items",
        "the students' and teachers' rights",
        "SELECT * FROM t WHERE a = 'x' OR b = 'y'",
        "why is `SELECT * FROM t WHERE a = 'x' OR b = 'y'` so slow?",
        "query = \"SELECT * FROM t WHERE a = 'x' OR b = 'y'\"",
        "name eq 'O''Brien' and price gt 5",
        "1 or 2 apples",
        "if (a == 'x' || b == 'y') {",
        "'Hello ' + name + '!'",
        "it's 5 o'clock or later",
        "5' 11\" tall",
        "union of select members",
        "\"foo\" and \"bar\"",
        "l'amour et l'eau",
        "don't; update me",
        "2-1",
        "1,2,3",
        "use the '#' character",
        "order by phone",
        "",
        "'quoted'",
        "rock 'n' roll or 'blues",
        "a = b",
        "12--34",
        "C# or F#",
        "black or white = grey",
        "d'or",
        "(see table 1)",
        "John (and Mary)",
        "-5",
        "null",
        "50 and 60",
        "{\"a\": \"b\", \"c\": 'd'}",
    ] {
        assert!(strength(value.as_bytes()) < Some(Strength::Likely), "{value}");
    }
}

#[test]
fn what_stands_around_an_injection_hides_nothing() {
    for value in [
        "1' OR '1'='1",
        "1 or 1=1",
        "x'; drop table users--",
        "1 union all select 1,2",
        "1; update users set role='admin' where id=1",
    ] {
        for text in [
            format!("Hello team,\nI had a look at the form.\n{value}\nPlease tell me if that works."),
            format!("The size of the shoes that we have in stock is {value}"),
            format!("user: hi there\nassistant: how can I help?\nuser: {value}\nassistant: one moment"),
            format!("{}{value}", "winter boots ".repeat(5000)),
        ] {
            assert_eq!(strength(text.as_bytes()), Some(Strength::Certain), "{value} in {text}");
        }
    }
}

#[test]
fn no_number_of_spaces_in_an_injection_lowers_it() {
    let mut ran = 0;
    for value in [
        "1; insert into users (name, role, mail) values (1, 2, 3)",
        "1; delete from users where id > 5 --",
        "x'; insert into users (name, role) values ('a', 'b') --",
        "1 union all select name , role from users --",
        "' or ( 1 = 1 ) --",
        "1 and exists ( select 1 )",
    ] {
        for (before, after) in [("", ""), ("we talked about the boots ", " and the price of them")] {
            let text = |space: &str| format!("{before}{}{after}", value.replace(' ', space));
            let plain = strength(text(" ").as_bytes());
            for spaces in [2, 5, 14, 15, 16, 17, 31, 32, 200] {
                for space in [" ".repeat(spaces), "\t".repeat(spaces), "/**/ ".repeat(spaces)] {
                    assert!(
                        strength(text(&space).as_bytes()) >= plain,
                        "{plain:?}: {spaces} {}",
                        text(&space)
                    );
                    ran += 1;
                }
            }
        }
    }
    assert_eq!(ran, 324);
}

#[test]
fn forms_of_dialects_are_read() {
    for value in [
        "x' or 1::int=1--",
        "x' or 1==1--",
        "x' or id==id--",
        "x' or --1=1#",
        "x' or 1=--1#",
        "x' or ---1=-1#",
        "1 or --1=1",
        "x' and 1==1 and '1'='1",
        "1 or 1==1",
        "x' or a::text='a'--",
        "x' or array[1]=array[1]--",
        "x' or [id]=[id]--",
        "x' or a[1].b=1--",
        "x' or (1,2)=(1,2)--",
        "x' or {x 1}--",
        "x' or 1 isnull--",
        "x' or 'a' notnull--",
        "x' or 1+1-0=2--",
        "x' or id-1=0--",
        "x' or 1;#",
        "x' or 1;",
        "x' limit 1--",
        "x' for update--",
        "x' offset 1 rows--",
        "x'; commit--",
        "x'; listen x --",
        "x'; raiserror('x',1,1)-- -",
        "1;table users",
        "1;lock tables a write",
        "1;kill 5",
        "1;show tables",
        "1;bulk insert a from 'b'",
        "1 or 1::int=1",
        "1 or 2-1=1",
    ] {
        assert_eq!(strength(value.as_bytes()), Some(Strength::Certain), "{value}");
    }
    for text in [
        "Clean up; show tables and chairs",
        "the students'; they learn C++",
        "std::vector<int> or std::list<int>",
        "[WIP] or [DONE] = closed",
        "text[1] and text[2]",
        "a 5; check table 3 --",
    ] {
        assert!(strength(text.as_bytes()) < Some(Strength::Certain), "{text}");
    }
}

#[test]
fn no_number_of_signs_or_operands_hides_a_condition() {
    let mut ran = 0;
    for count in [1, 3, 4, 5, 9, 16, 17, 50, 60, 200, 600] {
        let times = |unit: &str| unit.repeat(count);
        for value in [
            format!("' or {}1{}=1-- -", times("("), times(")")),
            format!("' or {}1=1-- -", times("~")),
            format!("' or {}1=1-- -", times("-+")),
            format!("' or {}1=1-- -", times("!(")),
            format!("' or {}1=1-- -", times("not ")),
            format!("' or 1{}=1-- -", times("+0")),
            format!("' or 1{}=1-- -", times(" - 0")),
            format!("' or '{}'<'b'-- -", times("a ")),
            format!("'{} or 1=1-- -", times(")")),
            format!("'{} drop table a", times(";")),
        ] {
            let found = strength(value.as_bytes());
            assert!(count > 100 && value.contains("not") || found == Some(Strength::Certain), "{value}");
            ran += 1;
        }
    }
    assert_eq!(ran, 110);
}

#[test]
fn words_around_what_goes_on_behind_a_number_hide_nothing() {
    for value in [
        "1 AND CHAR(65)=CHAR(65)",
        "1 or length('a')>0",
        "1 and concat('a', lower('B')) like 'ab'",
        "1 or (1)=(1)",
        "1 ORDER BY 10--",
        "1 GROUP BY 1,2--",
        "1 group by 1, 2 #",
    ] {
        let text = format!("we talked about the boots {value} and the price of them");
        assert_eq!(strength(text.as_bytes()), Some(Strength::Certain), "{text}");
    }
    for text in [
        "the report for 2020 order by 3",
        "pages 1 and 2 in the order by 5 people",
        "if x and length(name)=length(other) then",
        "sort by size or len(a)==len('b') in it",
        "10 people group by 2, 3 or 4",
        "a group by itself -- of 5",
    ] {
        assert!(strength(text.as_bytes()) < Some(Strength::Certain), "{text}");
    }
}

#[test]
fn a_statement_of_the_text_goes_on_with_itself() {
    for text in [
        "let yaml = r#\"\n  first: 1\n  }\"#;\nlet more = 1;",
        "SELECT name FROM cats\nWHERE age > 5\nUNION ALL\nSELECT name FROM dogs\nORDER BY 1;",
        "Use shuf to shuffle or select random lines from a file.",
        "I fixed the form; update the docs and delete from your list what is done.",
        "SELECT a FROM b;\n\nGRANT SELECT ON c TO public;\nDROP TABLE d;",
        "black or white, 5 and 6, this and (that), true or false",
    ] {
        assert!(strength(text.as_bytes()) < Some(Strength::Certain), "{text}");
    }
}

#[test]
fn long_values_are_read_in_windows() {
    let value = "' ".repeat(100_000);
    assert!(strength(value.as_bytes()) < Some(Strength::Certain));
}
