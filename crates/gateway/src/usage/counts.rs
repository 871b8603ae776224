//! The objects that providers put their counts in, told apart by the names of their fields.

use serde_json::Value;

use super::Usage;

/// Reads one object of counts; `None` if it holds none.
///
/// Anthropic counts only what no cache had as input, Gemini keeps thoughts apart from its answer, and
/// xAI leaves reasoning out of what it completed: see `notes` of each in the tests.
pub(super) fn read(counts: &Value) -> Option<Usage> {
    let counts = counts.as_object()?;
    let number = |name: &str| counts.get(name).and_then(whole);
    let within =
        |name: &str, inner: &str| counts.get(name).and_then(|value| value.get(inner)).and_then(whole);
    let sum = |parts: &[Option<u64>]| parts.iter().flatten().copied().reduce(u64::saturating_add);
    let usage = if counts.contains_key("promptTokenCount") || counts.contains_key("candidatesTokenCount") {
        Usage {
            input: sum(&[number("promptTokenCount"), number("toolUsePromptTokenCount")]),
            output: sum(&[number("candidatesTokenCount"), number("thoughtsTokenCount")]),
            cache_read: number("cachedContentTokenCount"),
            reasoning: number("thoughtsTokenCount"),
            ..Usage::default()
        }
    } else if counts.contains_key("inputTokens") || counts.contains_key("outputTokens") {
        let (read, write) = (number("cacheReadInputTokens"), number("cacheWriteInputTokens"));
        Usage {
            input: sum(&[number("inputTokens"), read, write]),
            output: number("outputTokens"),
            cache_read: read,
            cache_write: write,
            ..Usage::default()
        }
    } else if counts.contains_key("inputTokenCount") || counts.contains_key("outputTokenCount") {
        let (read, write) = (number("cacheReadInputTokenCount"), number("cacheWriteInputTokenCount"));
        Usage {
            input: sum(&[number("inputTokenCount"), read, write]),
            output: number("outputTokenCount"),
            cache_read: read,
            cache_write: write,
            ..Usage::default()
        }
    } else if counts.contains_key("billed_units") {
        Usage {
            input: within("billed_units", "input_tokens"),
            output: within("billed_units", "output_tokens"),
            cache_read: number("cached_tokens"),
            ..Usage::default()
        }
    } else if counts.contains_key("cache_creation_input_tokens")
        || counts.contains_key("cache_read_input_tokens")
        || counts.contains_key("cache_creation")
    {
        let (read, write) = (number("cache_read_input_tokens"), number("cache_creation_input_tokens"));
        Usage {
            input: sum(&[number("input_tokens"), read, write])
                .filter(|_| counts.contains_key("input_tokens")),
            output: number("output_tokens"),
            cache_read: read,
            cache_write: write,
            cache_write_1h: within("cache_creation", "ephemeral_1h_input_tokens"),
            reasoning: within("output_tokens_details", "thinking_tokens"),
            ..Usage::default()
        }
    } else if counts.contains_key("prompt_tokens") || counts.contains_key("completion_tokens") {
        completion(&number, &within)
    } else if counts.contains_key("input_tokens") || counts.contains_key("output_tokens") {
        Usage {
            input: number("input_tokens"),
            output: number("output_tokens"),
            cache_read: within("input_tokens_details", "cached_tokens"),
            cache_write: within("input_tokens_details", "cache_write_tokens"),
            reasoning: within("output_tokens_details", "reasoning_tokens")
                .or_else(|| within("output_tokens_details", "thinking_tokens")),
            ..Usage::default()
        }
    } else {
        Usage { input: number("prompt_eval_count"), output: number("eval_count"), ..Usage::default() }
    };
    let reported_cost_nanos = counts.get("cost").and_then(dollars);
    Some(Usage { reported_cost_nanos, ..usage }).filter(|usage| usage.is_known())
}

/// Chat completions and embeddings of the OpenAI shape.
fn completion(number: &impl Fn(&str) -> Option<u64>, within: &impl Fn(&str, &str) -> Option<u64>) -> Usage {
    let (input, completion) = (number("prompt_tokens"), number("completion_tokens"));
    let reasoning =
        within("completion_tokens_details", "reasoning_tokens").or_else(|| number("reasoning_tokens"));
    // Who counts reasoning apart adds it to the total only.
    let is_apart = match (number("total_tokens"), input, completion, reasoning) {
        (Some(total), Some(input), Some(completion), Some(reasoning)) => {
            reasoning > 0 && total == input + completion + reasoning
        }
        _ => false,
    };
    // Perplexity bills what it cites and thinks as output.
    let cited = number("citation_tokens");
    let is_cited = cited.is_some() || number("num_search_queries").is_some();
    let extra = if is_cited {
        number("reasoning_tokens").unwrap_or(0) + cited.unwrap_or(0)
    } else if is_apart {
        reasoning.unwrap_or(0)
    } else {
        0
    };
    // An embedding makes no tokens, and says nothing of them.
    let output = completion.or_else(|| input.filter(|_| number("total_tokens") == input).map(|_| 0));
    Usage {
        input,
        output: output.map(|output| output + extra),
        cache_read: within("prompt_tokens_details", "cached_tokens")
            .or_else(|| number("prompt_cache_hit_tokens"))
            .or_else(|| number("cached_tokens")),
        cache_write: within("prompt_tokens_details", "cache_write_tokens"),
        reasoning,
        ..Usage::default()
    }
}

/// A count; some providers write them with a decimal point.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and small")]
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (0.0..1e15).contains(&number).then_some(number as u64)
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be small")]
fn dollars(value: &Value) -> Option<u64> {
    let dollars = value.as_f64().or_else(|| value.get("total_cost")?.as_f64())?;
    (0.0..1e6).contains(&dollars).then(|| (dollars * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// input, output, cache read, cache write, reasoning
    fn counts(text: &str) -> [Option<u64>; 5] {
        let usage = read(&serde_json::from_str(text).unwrap()).unwrap_or_default();
        [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning]
    }

    #[test]
    fn every_shape() {
        let none = None;
        for (text, expected) in [
            (
                r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}"#,
                [Some(10), Some(5), Some(4), none, Some(2)],
            ),
            // xAI: 5 completed, 20 thought.
            (
                r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":35,"completion_tokens_details":{"reasoning_tokens":20}}"#,
                [Some(10), Some(25), none, none, Some(20)],
            ),
            (
                r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"citation_tokens":7,"reasoning_tokens":3,"num_search_queries":1}"#,
                [Some(10), Some(15), none, none, Some(3)],
            ),
            (r#"{"prompt_tokens":8,"total_tokens":8}"#, [Some(8), Some(0), none, none, none]),
            (
                r#"{"prompt_tokens":8,"completion_tokens":1,"total_tokens":9,"prompt_cache_hit_tokens":6,"prompt_cache_miss_tokens":2}"#,
                [Some(8), Some(1), Some(6), none, none],
            ),
            (
                r#"{"input_tokens":36,"output_tokens":87,"input_tokens_details":{"cached_tokens":3},"output_tokens_details":{"reasoning_tokens":9}}"#,
                [Some(36), Some(87), Some(3), none, Some(9)],
            ),
            (
                r#"{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":7,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":0}}"#,
                [Some(123), Some(7), Some(100), Some(20), none],
            ),
            // The last event of a stream may name the output alone.
            (r#"{"output_tokens":15}"#, [none, Some(15), none, none, none]),
            (
                r#"{"promptTokenCount":4,"candidatesTokenCount":9,"thoughtsTokenCount":11,"cachedContentTokenCount":1,"toolUsePromptTokenCount":2,"totalTokenCount":26}"#,
                [Some(6), Some(20), Some(1), none, Some(11)],
            ),
            (
                r#"{"inputTokens":3,"outputTokens":4,"totalTokens":17,"cacheReadInputTokens":10,"cacheWriteInputTokens":0}"#,
                [Some(13), Some(4), Some(10), Some(0), none],
            ),
            (r#"{"inputTokenCount":3,"outputTokenCount":4}"#, [Some(3), Some(4), none, none, none]),
            (
                r#"{"billed_units":{"input_tokens":5.0,"output_tokens":418.0},"tokens":{"input_tokens":71.0,"output_tokens":418.0}}"#,
                [Some(5), Some(418), none, none, none],
            ),
            (r#"{"prompt_eval_count":26,"eval_count":298}"#, [Some(26), Some(298), none, none, none]),
            (r#"{"seconds":3}"#, [none; 5]),
            (r#"{"prompt_tokens":-1,"completion_tokens":"x"}"#, [none; 5]),
        ] {
            assert_eq!(counts(text), expected, "{text}");
        }
    }

    #[test]
    fn reported_costs() {
        let cost = |text: &str| read(&serde_json::from_str(text).unwrap()).unwrap().reported_cost_nanos;
        assert_eq!(cost(r#"{"prompt_tokens":1,"completion_tokens":1,"cost":0.00014}"#), Some(140_000));
        assert_eq!(
            cost(r#"{"prompt_tokens":1,"completion_tokens":1,"cost":{"total_cost":0.5}}"#),
            Some(500_000_000)
        );
        assert_eq!(cost(r#"{"prompt_tokens":1,"completion_tokens":1,"cost":-1}"#), None);
    }
}
