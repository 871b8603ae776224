//! The grammar of expressions.
//!
//! ```text
//! or         = xor { ("or" | "||") xor }
//! xor        = and { ("xor" | "^^") and }
//! and        = not { ("and" | "&&") not }
//! not        = ("not" | "!") not | "(" or ")" | "true" | "false"
//!            | ("any" | "all") "(" comparison ")" | comparison
//! comparison = operand [ operator literal ]
//! operand    = ( field | function "(" argument { "," argument } ")" ) { "[" (text | number | "*") "]" }
//! ```

mod comparison;

use super::Mistake;
use super::cursor::Cursor;
use super::field::{FIELDS, Field, KnownIn};
use super::functions::{FUNCTIONS, Function, Parameter};
use super::named_set::NamedSets;
use super::node::{Node, Operand, Source, Step};
use super::test::{Order, Test};
use super::value::{Scalar, Type, Value};
use diagnostic::nearest;
use model::Phase;
use pattern::Pattern;

/// How deep parentheses, functions and negations may nest.
const MAX_DEPTH: usize = 32;

/// The operators, by what they are called and by what they are written.
const ORDERS: [(&str, &str, Order); 6] = [
    ("eq", "==", Order::Eq),
    ("ne", "!=", Order::Ne),
    ("le", "<=", Order::Le),
    ("lt", "<", Order::Lt),
    ("ge", ">=", Order::Ge),
    ("gt", ">", Order::Gt),
];

pub(super) struct Parser<'t> {
    cursor: Cursor<'t>,
    phase: Phase,
    sets: &'t NamedSets,
    depth: usize,
}

type Parsed<T> = Result<T, Mistake>;

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, phase: Phase, sets: &'t NamedSets) -> Self {
        Self { cursor: Cursor::new(text), phase, sets, depth: 0 }
    }

    /// The whole text.
    pub(super) fn whole(mut self) -> Parsed<Node> {
        let node = self.or()?;
        if self.cursor.is_at_end() {
            return Ok(node);
        }
        Err(self.cursor.expected("`and`, `or`, `xor` or the end"))
    }

    /// The whole text as a value.
    pub(super) fn whole_value(mut self) -> Parsed<(Operand, Type)> {
        self.cursor.skip_space();
        let start = self.cursor;
        let (operand, kind) = self.argument()?;
        if !self.cursor.is_at_end() {
            return Err(self.cursor.expected("the end"));
        }
        match operand.is_each() {
            true => Err(start.mistake("`[*]` stands for many values: name one, or leave the brackets out")),
            false => Ok((operand, kind)),
        }
    }

    fn or(&mut self) -> Parsed<Node> {
        self.chain(["or", "||"], Self::xor, Node::Or)
    }

    fn xor(&mut self) -> Parsed<Node> {
        self.chain(["xor", "^^"], Self::and, Node::Xor)
    }

    fn and(&mut self) -> Parsed<Node> {
        self.chain(["and", "&&"], Self::not, Node::And)
    }

    fn chain(
        &mut self,
        [word, sign]: [&str; 2],
        part: fn(&mut Self) -> Parsed<Node>,
        join: fn(Vec<Node>) -> Node,
    ) -> Parsed<Node> {
        let first = part(self)?;
        let mut nodes = vec![first];
        while self.cursor.take_word(word) || self.cursor.take(sign) {
            nodes.push(part(self)?);
        }
        match nodes.pop() {
            Some(only) if nodes.is_empty() => Ok(only),
            last => {
                nodes.extend(last);
                nodes.shrink_to_fit();
                Ok(join(nodes))
            }
        }
    }

    /// Runs a part one level down.
    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.cursor.mistake(format!("this nests more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let parsed = part(self);
        self.depth -= 1;
        parsed
    }

    fn not(&mut self) -> Parsed<Node> {
        let cursor = &mut self.cursor;
        if cursor.take_word("not") || cursor.take("!") {
            return self.deeper(|parser| parser.not().map(|node| Node::Not(Box::new(node))));
        }
        if cursor.take("(") {
            return self.deeper(|parser| {
                let node = parser.or()?;
                parser.close(")").map(|()| node)
            });
        }
        match cursor.peek_word() {
            word @ ("true" | "false") => {
                cursor.take_word(word);
                Ok(Node::Constant(word == "true"))
            }
            word @ ("any" | "all") => {
                cursor.take_word(word);
                self.each(word == "all")
            }
            _ => self.comparison(),
        }
    }

    fn close(&mut self, sign: &str) -> Parsed<()> {
        if self.cursor.take(sign) { Ok(()) } else { Err(self.cursor.expected(&format!("`{sign}`"))) }
    }

    /// What follows `any` and `all`.
    fn each(&mut self, all: bool) -> Parsed<Node> {
        self.close("(")?;
        self.cursor.skip_space();
        let start = self.cursor;
        let (operand, kind) = self.deeper(Self::operand)?;
        let test = match kind {
            Type::One(scalar) if operand.is_each() => self.test(scalar)?,
            Type::List(Scalar::Bool) => Test::Flag(true),
            _ => return Err(start.mistake("`any` and `all` take a list with `[*]`, compared with something")),
        };
        self.close(")")?;
        Ok(Node::Each { all, operand, test })
    }

    fn comparison(&mut self) -> Parsed<Node> {
        self.cursor.skip_space();
        let start = self.cursor;
        let (operand, kind) = self.operand()?;
        if operand.is_each() {
            return Err(
                start.mistake("`[*]` stands for many values: put the comparison into any(…) or all(…)")
            );
        }
        match kind {
            Type::One(scalar) => Ok(Node::Compare(operand, self.test(scalar)?)),
            _ => Err(start.mistake(format!("this is {kind}; it cannot be compared as a whole"))),
        }
    }

    fn operand(&mut self) -> Parsed<(Operand, Type)> {
        self.cursor.skip_space();
        let start = self.cursor;
        let word = self.cursor.peek_word();
        if word.is_empty() {
            return Err(start.expected("a field, such as `http.request.uri.path`"));
        }
        self.cursor.take_word(word);
        let (source, kind) = if word == "regex_replace" {
            (self.deeper(Self::regex_replace)?, Type::One(Scalar::Text))
        } else if self.cursor.take("(") {
            let function = FUNCTIONS.iter().find(|function| function.name == word);
            let names = FUNCTIONS.iter().map(|function| function.name).chain(["regex_replace"]);
            let function = function.ok_or_else(|| unknown(start, "function", word, names))?;
            let (arguments, kind) = self.deeper(|parser| parser.arguments(function, start))?;
            (Source::Call(function, arguments), kind)
        } else {
            let field = self.field(word, start)?;
            (Source::Field(field), field.kind)
        };
        self.steps(Operand { source, steps: Vec::new() }, kind)
    }

    /// What follows `regex_replace`: a text, and a pattern and a text in quotes.
    fn regex_replace(&mut self) -> Parsed<Source> {
        self.close("(")?;
        self.cursor.skip_space();
        let start = self.cursor;
        let (text, kind) = self.argument()?;
        if kind != Type::One(Scalar::Text) || text.is_each() {
            return Err(start.mistake("`regex_replace` takes one text first"));
        }
        self.close(",")?;
        self.cursor.skip_space();
        let start = self.cursor;
        let source = String::from_utf8(self.cursor.text()?);
        let source = source.map_err(|_| start.mistake("a pattern is written in UTF-8"))?;
        let pattern = Pattern::new(&source).map_err(|why| start.mistake(why))?;
        self.close(",")?;
        let to = self.cursor.text()?;
        self.close(")")?;
        Ok(Source::Replaced { text: Box::new(text), pattern: Box::new(pattern), to })
    }

    fn field(&self, word: &str, start: Cursor<'_>) -> Parsed<&'static Field> {
        let names = FIELDS.iter().map(|field| field.name);
        let field = FIELDS.iter().find(|field| field.name == word);
        let field = field.ok_or_else(|| unknown(start, "field", word, names))?;
        let managed = Phase::HttpRequestFirewallManaged;
        let (is_known, when) = match field.known {
            KnownIn::AllPhases => (true, String::new()),
            KnownIn::WithBody => (!self.phase.is_of_response(), "in the phases of a request only".to_owned()),
            KnownIn::WithCountries => (
                self.sets.knows().countries,
                "with a database of countries in `geo_databases` only".to_owned(),
            ),
            KnownIn::WithAsns => (
                self.sets.knows().asns,
                "with a database of autonomous systems in `geo_databases` only".to_owned(),
            ),
            KnownIn::WithScore => (self.phase > managed, format!("behind phase `{}` only", managed.word())),
            KnownIn::WithResponse => {
                let phase = Phase::HttpResponseFirewallManaged.word();
                (self.phase.is_of_response(), format!("in phases of a response, such as `{phase}`, only"))
            }
        };
        match is_known {
            true => Ok(field),
            false => Err(start.mistake(format!("`{word}` is known {when}"))),
        }
    }

    /// What follows an operand in brackets.
    fn steps(&mut self, mut operand: Operand, mut kind: Type) -> Parsed<(Operand, Type)> {
        while self.cursor.take("[") {
            let start = self.cursor;
            if operand.is_each() {
                return Err(start.mistake("nothing follows `[*]`"));
            }
            let step;
            (step, kind) = match kind {
                Type::Map => (Step::Name(self.cursor.text()?), Type::List(Scalar::Text)),
                Type::List(scalar) if self.cursor.take("*") => (Step::Each, Type::One(scalar)),
                Type::List(scalar) => {
                    let index = usize::try_from(self.cursor.number()?);
                    let index = index.map_err(|_| start.mistake("a list is counted from 0"))?;
                    (Step::Index(index), Type::One(scalar))
                }
                Type::One(_) => return Err(start.mistake(format!("this is {kind}, which has no parts"))),
            };
            operand.steps.push(step);
            self.close("]")?;
        }
        Ok((operand, kind))
    }

    fn arguments(&mut self, function: &Function, start: Cursor<'_>) -> Parsed<(Vec<Operand>, Type)> {
        let mut arguments: Vec<Operand> = Vec::new();
        let most = if function.repeats { usize::MAX } else { function.parameters.len() };
        let least = function.parameters.len() - function.optional;
        loop {
            self.cursor.skip_space();
            let at = self.cursor;
            let parameter = function.parameters.get(arguments.len()).or(function.parameters.last());
            let (Some(parameter), true) = (parameter, arguments.len() < most) else {
                return Err(at.mistake(format!("`{}` takes at most {most} arguments", function.name)));
            };
            let (argument, kind) = self.argument()?;
            let fits = match parameter {
                Parameter::Text => kind == Type::One(Scalar::Text),
                Parameter::Int => kind == Type::One(Scalar::Int),
                Parameter::Ip => kind == Type::One(Scalar::Ip),
                Parameter::Key => matches!(kind, Type::One(Scalar::Text | Scalar::Int)),
                Parameter::Scalar => matches!(kind, Type::One(Scalar::Int | Scalar::Bool | Scalar::Ip)),
                Parameter::Texts => kind == Type::List(Scalar::Text),
                Parameter::Sized => matches!(kind, Type::One(Scalar::Text) | Type::List(_) | Type::Map),
            };
            if !fits {
                return Err(at.mistake(format!("`{}` does not take {kind} here", function.name)));
            }
            if argument.is_each() && arguments.iter().any(Operand::is_each) {
                return Err(at.mistake("only one argument may stand for many values"));
            }
            arguments.push(argument);
            if !self.cursor.take(",") {
                break;
            }
        }
        if arguments.len() < least {
            return Err(start.mistake(format!("`{}` takes at least {least} arguments", function.name)));
        }
        self.close(")")?;
        let many = arguments.iter().any(Operand::is_each);
        if many && function.gives_list {
            return Err(start.mistake(format!("`{}` gives a list, and takes no `[*]`", function.name)));
        }
        let kind = match many || function.gives_list {
            true => Type::List(function.result),
            false => Type::One(function.result),
        };
        arguments.shrink_to_fit();
        Ok((arguments, kind))
    }

    /// A literal or an operand.
    fn argument(&mut self) -> Parsed<(Operand, Type)> {
        let literal = |value, scalar| {
            (Operand { source: Source::Literal(value), steps: Vec::new() }, Type::One(scalar))
        };
        let rest = self.cursor.rest();
        if ["\"", "r\"", "r#"].iter().any(|open| rest.starts_with(open)) {
            return self.cursor.text().map(|text| literal(Value::Text(text.into()), Scalar::Text));
        }
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return self.cursor.number().map(|number| literal(Value::Int(number), Scalar::Int));
        }
        self.operand()
    }
}

fn unknown<'n>(
    at: Cursor<'_>,
    what: &str,
    word: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Mistake {
    let help = match nearest(word, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.clone().next().is_none() => "there is none".to_owned(),
        None => format!("known are {}", names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    at.mistake(format!("no {what} `{word}`; {help}"))
}
