//! `portcullis waf learn`: the fewest exclusions with which logged requests would pass, and what each would let in.

mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::deployment::Deployment;
use super::exclusion::{self, Exclusion};
use super::logged::{self, LoggedEvent};
use super::{Failure, print};
use crate::rules;
use trial::Trial;

/// Propose the fewest, narrowest exclusions with which the requests of a log would pass.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grep '\"ClientRequestPath\":\"/editor\"' portcullis.log > wrong.log\n  portcullis waf learn --log wrong.log\n  \
                  portcullis waf learn --log wrong.log --attacks tests/data/owasp/attacks"
)]
pub(super) struct Learn {
    /// Lines of the log for requests that were refused or logged wrongly, and for no others; without it standard input.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The rules that ran, as in `rules.owasp`; without it those in the binary.
    #[arg(long, value_name = "FILE_OR_DIR", num_args = 1..)]
    rules: Vec<String>,
    /// Attacks (go-ftw YAML): each exclusion is tried with their values in its field, on its path.
    #[arg(long, value_name = "DIR")]
    attacks: Option<PathBuf>,
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    paranoia_level: u8,
    #[arg(long, value_name = "N", default_value_t = crate::ruleset::managed::DEFAULT_SCORE_THRESHOLD)]
    score_threshold: i64,
}

/// What one request scored: by which rule in which field.
#[derive(Debug)]
struct Scored {
    path: String,
    parts: BTreeMap<Exclusion, i64>,
}

impl Learn {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let paths = (!self.rules.is_empty()).then_some(self.rules.as_slice());
        let (ir, diagnostics) = rules::seclang(paths);
        let ir = diagnostics.into_result(ir)?;
        let mut requests = Vec::new();
        let name = logged::events(self.log.as_deref(), |event| {
            if event.rules.is_empty() {
                requests.push(Scored::of(event));
            }
        })?;
        requests.retain(|request| request.parts.values().sum::<i64>() >= self.score_threshold);
        if requests.is_empty() {
            return Err(Failure::Input(format!(
                "no request in {name} reached a score of {}; expected lines of `security_event`",
                self.score_threshold
            )));
        }
        let chosen = choose(&requests, self.score_threshold);
        let deployment =
            Deployment { paranoia_level: self.paranoia_level, score_threshold: self.score_threshold };
        let trial = match &self.attacks {
            Some(folder) => Some(Trial::new(folder, &ir, deployment)?),
            None => None,
        };
        let mut text = String::new();
        // INVARIANT: writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "with these, {} of {} requests pass; put them before the rules:\n",
            requests.iter().filter(|request| request.rest(&chosen) < self.score_threshold).count(),
            requests.len()
        );
        let mut taken = 0;
        for exclusion in &chosen {
            let of = || requests.iter().filter(|request| request.parts.contains_key(exclusion));
            let paths: BTreeSet<&str> = of().map(|request| request.path.as_str()).collect();
            let _ = writeln!(text, "  # requests: {}, paths: {}", of().count(), paths.len());
            match &trial {
                Some(trial) => {
                    let path = paths.first().copied().unwrap_or("/");
                    let _ = writeln!(text, "  # {}", trial.describe(&ir, exclusion, path));
                }
                None => text.push_str("  # what it lets in: run with --attacks\n"),
            }
            for path in paths {
                let id = exclusion::free_id(&ir, taken);
                taken += 1;
                let _ = writeln!(text, "{}", exclusion::on_path(path, id, [exclusion]));
            }
        }
        print(&text)
    }
}

impl Scored {
    fn of(event: LoggedEvent) -> Self {
        let mut parts = BTreeMap::new();
        for part in event.contributions.into_iter().filter(|part| part.score > 0) {
            // A rule that looks at nothing cannot be left out of a field.
            if let Ok(rule) = part.reference.parse()
                && !part.variable.is_empty()
            {
                *parts.entry(Exclusion { rule, variable: part.variable }).or_default() += part.score;
            }
        }
        Self { path: event.path, parts }
    }

    /// What it scores with these exclusions.
    fn rest(&self, exclusions: &[Exclusion]) -> i64 {
        self.parts.iter().filter(|(part, _)| !exclusions.contains(part)).map(|(_, score)| score).sum()
    }
}

/// Few exclusions with which all requests score less than the threshold: each time the one that brings most requests
/// nearest to it; those that turn out not to be needed go again.
fn choose(requests: &[Scored], threshold: i64) -> Vec<Exclusion> {
    let mut chosen: Vec<Exclusion> = Vec::new();
    loop {
        let mut gains: BTreeMap<&Exclusion, i64> = BTreeMap::new();
        for request in requests {
            let rest = request.rest(&chosen);
            for (part, score) in request.parts.iter().filter(|(part, _)| !chosen.contains(part)) {
                // What is below the threshold gains nothing.
                let gain = (*score).min(rest - threshold + 1);
                if gain > 0 {
                    *gains.entry(part).or_default() += gain;
                }
            }
        }
        let Some((best, _)) = gains.into_iter().max_by_key(|(part, gain)| (*gain, std::cmp::Reverse(*part)))
        else {
            break;
        };
        let best = best.clone();
        chosen.push(best);
    }
    let passes = |chosen: &[Exclusion]| requests.iter().filter(|r| r.rest(chosen) < threshold).count();
    let all = passes(&chosen);
    for at in (0..chosen.len()).rev() {
        let mut fewer = chosen.clone();
        fewer.remove(at);
        if passes(&fewer) == all {
            chosen = fewer;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(parts: &[(u64, &str, i64)]) -> Scored {
        let part = |(rule, variable, score): &(u64, &str, i64)| {
            (Exclusion { rule: *rule, variable: (*variable).to_owned() }, *score)
        };
        Scored { path: "/".to_owned(), parts: parts.iter().map(part).collect() }
    }

    #[test]
    fn few_exclusions_are_chosen() {
        // The second request passes with one exclusion, which the first needs too.
        let requests = [
            scored(&[(1, "ARGS:a", 5), (2, "ARGS:a", 5)]),
            scored(&[(1, "ARGS:a", 5), (3, "ARGS:b", 4)]),
            scored(&[(4, "ARGS:c", 3), (5, "ARGS:c", 3)]),
        ];
        let chosen = choose(&requests, 5);
        assert!(requests.iter().all(|request| request.rest(&chosen) < 5), "{chosen:?}");
        assert_eq!(chosen.len(), 3, "{chosen:?}");
        assert!(choose(&[], 5).is_empty());
    }
}
