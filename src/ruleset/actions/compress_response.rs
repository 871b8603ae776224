//! `compress_response`: has responses compressed, by the first coding of a list that the client takes.

use std::sync::Arc;

use super::{CompiledAction, Definition, Sources};
use body::compress::ContentEncoding;
use diagnostic::{Code, Diagnostic};
use model::compression::CompressionAlgorithm;
use model::ruleset::{ActionParameters, Rule};
use model::{Action, CompressionName, Phase};

pub const DEFINITION: Definition =
    Definition { actions: &[Action::CompressResponse], phases: &[Phase::HttpResponseCompression], compile };

/// Most entries of a list.
const MAX_ALGORITHMS: usize = 8;

fn compile(rule: &Rule, _: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let mut refuse = |message: String| {
        let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
        sources.diagnostics.push(diagnostic.pointing("action_parameters/algorithms".to_owned()));
        None
    };
    let algorithms = match &rule.action_parameters {
        Some(ActionParameters::CompressResponse(parameters)) => parameters.algorithms.as_slice(),
        _ => &[],
    };
    if algorithms.is_empty() || algorithms.len() > MAX_ALGORITHMS {
        return refuse(format!(
            "the action `compress_response` needs 1 to {MAX_ALGORITHMS} `algorithms`, such as `{{\"name\": \"auto\"}}`"
        ));
    }
    Some(CompiledAction::CompressResponse(encodings(algorithms)))
}

/// The codings of a list, each once; what follows `none` is left out.
fn encodings(algorithms: &[CompressionAlgorithm]) -> Arc<[ContentEncoding]> {
    let mut encodings = Vec::new();
    for CompressionAlgorithm { name } in algorithms {
        let named: &[ContentEncoding] = match name {
            CompressionName::Zstd => &[ContentEncoding::Zstd],
            CompressionName::Brotli => &[ContentEncoding::Brotli],
            CompressionName::Gzip => &[ContentEncoding::Gzip],
            CompressionName::Auto | CompressionName::Default => &ContentEncoding::ALL,
            CompressionName::None => break,
        };
        for encoding in named {
            if !encodings.contains(encoding) {
                encodings.push(*encoding);
            }
        }
    }
    encodings.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order_and_end_at_none() {
        use ContentEncoding::{Brotli, Gzip, Zstd};
        let of = |names: &[CompressionName]| {
            let list: Vec<_> = names.iter().map(|name| CompressionAlgorithm { name: *name }).collect();
            encodings(&list).to_vec()
        };
        assert_eq!(of(&[CompressionName::Auto]), [Zstd, Brotli, Gzip]);
        assert_eq!(of(&[CompressionName::Gzip, CompressionName::Default]), [Gzip, Zstd, Brotli]);
        assert_eq!(of(&[CompressionName::Brotli, CompressionName::None, CompressionName::Gzip]), [Brotli]);
        assert_eq!(of(&[CompressionName::None]), []);
    }
}
