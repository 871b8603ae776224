//! The value is a GraphQL document that costs more than is allowed.

use super::{Argument, Compiled, Definition, Example, Prefilter, Test};
use crate::data::Data;
use crate::grammars::GraphqlCost;
use pattern::ByteSet;

pub(super) const DEFINITION: Definition = Definition {
    name: "graphqlExceeds",
    summary: "The value is a GraphQL document with more than so many of one of these: \
              `depth=12,aliases=30,directives=20,repeats=10,cycles=0,operations=10`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "depth=3", input: b"{a{b{c{d}}}}", matches: true },
        Example { argument: "depth=4,aliases=1", input: b"query { a: x { y } }", matches: false },
        Example { argument: "aliases=1", input: b"{ a: x b: x }", matches: true },
        Example { argument: "cycles=0", input: b"fragment A on T { ...A }", matches: true },
        Example { argument: "depth=0", input: b"plain text", matches: false },
    ],
};

type Count = fn(&GraphqlCost) -> usize;

struct GraphqlExceeds {
    limits: Vec<(Count, usize)>,
}

static BRACES: Prefilter = Prefilter::any_of(ByteSet::of(b"{"));

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let limit = |text: &str| -> Option<(Count, usize)> {
        let (name, most) = text.trim().split_once('=')?;
        let count: Count = match name {
            "depth" => |cost| cost.depth,
            "aliases" => |cost| cost.aliases,
            "directives" => |cost| cost.directives,
            "repeats" => |cost| cost.repeats,
            "cycles" => |cost| cost.cycles,
            "operations" => |cost| cost.operations,
            _ => return None,
        };
        Some((count, most.parse().ok()?))
    };
    let limits = argument.text.split(',').map(limit).collect::<Option<_>>();
    let limits = limits
        .ok_or_else(|| format!("expected a list as `depth=12,aliases=30`, found `{}`", argument.text))?;
    Ok(Box::new(GraphqlExceeds { limits }))
}

impl Test for GraphqlExceeds {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        GraphqlCost::of(input)
            .is_some_and(|cost| self.limits.iter().any(|(count, most)| count(&cost) > *most))
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&BRACES)
    }
}
