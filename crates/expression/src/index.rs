//! Many expressions at once: which of them can match a request at all.
//!
//! A rule set of a thousand rules has a few that are about a request's path, host or address. What each expression
//! needs is looked for once, for all of them: texts of a field by one automaton, networks by one table for each length
//! of prefix. Only the expressions that have what they need are looked at one by one.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};
use foldhash::fast::RandomState;
use ipnet::IpNet;
use smallvec::SmallVec;

use super::Expression;
use super::field::{FIELDS, Facts, Field};
use super::need::{Term, TextAnchor, needs};
use super::value::Value;

/// With fewer expressions an index costs more than it saves.
const MIN_EXPRESSIONS: usize = 8;

/// Which of many expressions, in order, can match a request.
pub struct ExpressionIndex {
    /// Those that need nothing that is looked for.
    always: CandidateSet,
    texts: Vec<NeededTexts>,
    networks: NeededNetworks,
}

/// Numbers of expressions, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateSet {
    words: SmallVec<[u64; 16]>,
}

/// The texts that expressions need of one field.
struct NeededTexts {
    field: &'static Field,
    automaton: AhoCorasick,
    /// Of each pattern of the automaton where it must stand, and the expressions that need it there.
    needed_by: Vec<Vec<(TextAnchor, Vec<u32>)>>,
}

/// The networks that expressions need the client to be of.
#[derive(Default)]
struct NeededNetworks {
    /// The lengths of prefixes that there are.
    lengths: Vec<u8>,
    /// The expressions that need a network, by its length and its address. Those of IPv4 are mapped into IPv6.
    needed_by: HashMap<(u8, u128), Vec<u32>, RandomState>,
}

impl ExpressionIndex {
    /// An index of expressions; `None` if there are too few of them, or too few that need something. Where no expression
    /// is given, one that matches every request is meant.
    pub fn new<'e>(expressions: impl Iterator<Item = Option<&'e Expression>>) -> Option<Self> {
        let expressions: Vec<Option<&Expression>> = expressions.collect();
        if expressions.len() < MIN_EXPRESSIONS {
            return None;
        }
        let needs: Vec<Vec<Vec<Term>>> = expressions.into_iter().map(of_expression).collect();
        let needing = needs.iter().filter(|needs| !needs.is_empty()).count();
        if needing < MIN_EXPRESSIONS {
            return None;
        }
        // An expression is found by its rarest need, because a need that many share rules few of them out.
        let mut uses: BTreeMap<&Term, usize> = BTreeMap::new();
        for term in needs.iter().flatten().flatten() {
            *uses.entry(term).or_default() += 1;
        }
        let cost = |terms: &&Vec<Term>| -> (usize, usize) {
            let uses = terms.iter().filter_map(|term| uses.get(term)).sum();
            (uses, usize::MAX - terms.iter().map(weight).min().unwrap_or(usize::MAX))
        };
        let mut always = CandidateSet::none(needs.len());
        let mut by_term: BTreeMap<&Term, Vec<u32>> = BTreeMap::new();
        for (nth, needs) in (0_u32..).zip(&needs) {
            match needs.iter().min_by_key(cost) {
                None => always.extend(&[nth]),
                Some(terms) => terms.iter().for_each(|term| by_term.entry(term).or_default().push(nth)),
            }
        }
        let texts = FIELDS.iter().filter_map(|field| NeededTexts::new(field, &by_term));
        let texts = texts.collect::<Result<_, _>>().ok()?;
        Some(Self { always, texts, networks: NeededNetworks::new(&by_term) })
    }

    /// The expressions that can match: all that do, and a few that do not.
    pub fn candidates(&self, facts: &Facts<'_>) -> CandidateSet {
        let mut candidates = self.always.clone();
        self.texts.iter().for_each(|texts| texts.add_to(&mut candidates, facts));
        self.networks.add_to(&mut candidates, facts.request.client);
        candidates
    }
}

fn of_expression(expression: Option<&Expression>) -> Vec<Vec<Term>> {
    expression.and_then(|expression| expression.node.as_deref()).map(needs).unwrap_or_default()
}

/// How many requests a term probably rules out: a higher weight means more.
fn weight(term: &Term) -> usize {
    match term {
        Term::Text(_, _, text) => text.len(),
        Term::Network(network) => usize::from(network.prefix_len()) / 4,
    }
}

impl CandidateSet {
    fn none(count: usize) -> Self {
        Self { words: SmallVec::from_elem(0, count.div_ceil(64)) }
    }

    /// Whether it is new.
    fn insert(&mut self, number: u32) -> bool {
        let bit = 1 << (number % 64);
        let Some(word) = self.words.get_mut(number as usize / 64) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn extend(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.insert(*number);
        }
    }

    /// The least that is not less than a number.
    pub fn from(&self, number: usize) -> Option<usize> {
        let (first, bit) = (number / 64, number % 64);
        let rest = *self.words.get(first)? & (u64::MAX << bit);
        let words = self.words.iter().copied().enumerate().skip(first + 1);
        let mut words = std::iter::once((first, rest)).chain(words);
        let (at, word) = words.find(|(_, word)| *word != 0)?;
        Some(at * 64 + word.trailing_zeros() as usize)
    }
}

impl NeededTexts {
    /// `None` if no expression needs a text of the field.
    ///
    /// # Errors
    /// If they are too many for an automaton.
    fn new(field: &'static Field, by_term: &BTreeMap<&Term, Vec<u32>>) -> Option<Result<Self, BuildError>> {
        let mut by_text: BTreeMap<&[u8], Vec<(TextAnchor, Vec<u32>)>> = BTreeMap::new();
        for (term, expressions) in by_term {
            if let Term::Text(name, anchor, text) = term
                && *name == field.name
            {
                by_text.entry(text).or_default().push((*anchor, expressions.clone()));
            }
        }
        if by_text.is_empty() {
            return None;
        }
        let (texts, needed_by): (Vec<&[u8]>, Vec<_>) = by_text.into_iter().unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(texts);
        Some(automaton.map(|automaton| Self { field, automaton, needed_by }))
    }

    fn add_to(&self, candidates: &mut CandidateSet, facts: &Facts<'_>) {
        let Value::Text(text) = self.field.value(facts) else { return };
        // A text that stands in many places is found once, so that a long field costs no more than its length.
        let mut found_before = CandidateSet::none(self.needed_by.len());
        for found in self.automaton.find_overlapping_iter(text.as_ref()) {
            let (is_at_start, is_at_end) = (found.start() == 0, found.end() == text.len());
            let needed_by = self.needed_by.get(found.pattern().as_usize());
            let is_first = found_before.insert(found.pattern().as_u32());
            for (anchor, expressions) in needed_by.into_iter().flatten() {
                let is_there = match anchor {
                    TextAnchor::Whole => is_at_start && is_at_end,
                    TextAnchor::Start => is_at_start,
                    TextAnchor::End => is_at_end,
                    TextAnchor::Anywhere => is_first,
                };
                if is_there {
                    candidates.extend(expressions);
                }
            }
        }
    }
}

impl NeededNetworks {
    fn new(by_term: &BTreeMap<&Term, Vec<u32>>) -> Self {
        let mut networks = Self::default();
        for (term, expressions) in by_term {
            if let Term::Network(network) = term {
                let length = length(network);
                networks.needed_by.insert((length, bits(network.addr(), length)), expressions.clone());
                networks.lengths.push(length);
            }
        }
        networks.lengths.sort_unstable();
        networks.lengths.dedup();
        networks
    }

    fn add_to(&self, candidates: &mut CandidateSet, address: IpAddr) {
        let address = address.to_canonical();
        for length in &self.lengths {
            let needed_by = self.needed_by.get(&(*length, bits(address, *length)));
            candidates.extend(needed_by.map_or(&[], Vec::as_slice));
        }
    }
}

/// The length of a network's prefix, as one of IPv6. That of all of IPv4 is not that of all of IPv6.
fn length(network: &IpNet) -> u8 {
    match network {
        IpNet::V4(network) => network.prefix_len() + 96,
        IpNet::V6(network) => network.prefix_len(),
    }
}

/// The first bits of an address as one of IPv6.
fn bits(address: IpAddr, length: u8) -> u128 {
    let address: u128 = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().into(),
        IpAddr::V6(address) => address.into(),
    };
    address & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl fmt::Debug for ExpressionIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: usize = self.texts.iter().map(|texts| texts.needed_by.len()).sum();
        write!(f, "ExpressionIndex({texts} texts, {} networks)", self.networks.needed_by.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::with_request;
    use model::Phase;

    /// Conditions of every kind: some that the index can look for, and some that it cannot.
    const CONDITIONS: [&str; 24] = [
        "true",
        "false",
        "http.host eq \"shop.example\"",
        "http.host in {\"a.example\" \"B.example\"}",
        "http.host contains \"EXAMPLE\"",
        "lower(http.request.uri.path) eq \"/admin\"",
        "upper(http.request.uri.path) contains \"ADMIN\"",
        "starts_with(http.request.uri.path, \"/a\")",
        "starts_with(http.request.uri.path, \"\")",
        "ends_with(lower(http.request.uri.path), \".php\")",
        "http.request.uri.path ne \"/admin\"",
        "http.request.uri.path contains \"\"",
        "http.request.uri.path contains \"/x/x\"",
        "http.request.uri.path ~ \"^/a\"",
        "raw.http.request.uri.path eq \"/./admin\"",
        "http.referer eq \"\"",
        "http.request.method in {\"GET\" \"POST\"}",
        "ip.src eq 192.0.2.1",
        "ip.src in {192.0.2.0/30 2001:db8::/32}",
        "ip.src in {192.0.2.1..192.0.2.9}",
        "ip.src in {2001:db8::1..2001:db8::7}",
        "ip.src in {0.0.0.0/0}",
        "ip.src in {::/0}",
        "any(http.request.headers[\"x-a\"][*] eq \"b\")",
    ];

    /// Every condition, and pairs of them joined in every way.
    fn expressions() -> Vec<Expression> {
        let mut texts: Vec<String> = CONDITIONS.map(str::to_owned).to_vec();
        for (nth, one) in CONDITIONS.iter().enumerate() {
            for other in CONDITIONS.iter().cycle().skip(nth + 3).step_by(5).take(5) {
                for join in ["and", "or", "xor", "and not", "or not"] {
                    texts.push(format!("({one}) {join} ({other})"));
                }
                texts.push(format!("not (({one}) or ({other})) or ({other}) and (({one}) or false)"));
            }
        }
        let parse = |text: &String| Expression::parse(text, Phase::HttpRequestFirewallCustom).unwrap();
        texts.iter().map(parse).collect()
    }

    fn found(index: &ExpressionIndex, facts: &Facts<'_>) -> Vec<usize> {
        let candidates = index.candidates(facts);
        let mut all = Vec::new();
        let mut next = candidates.from(0);
        while let Some(number) = next {
            all.push(number);
            next = candidates.from(number + 1);
        }
        all
    }

    #[test]
    fn what_matches_is_a_candidate_and_what_is_decisive_leaves_the_others_out() {
        let expressions = expressions();
        let index = ExpressionIndex::new(expressions.iter().map(Some)).unwrap();
        let (mut asked, mut candidates, mut matched) = (0, 0, 0);
        for host in ["shop.example", "SHOP.example", "b.example", "a.example.net", ""] {
            for target in
                ["/", "/admin", "/ADMIN", "/./admin", "/a/x/x/x.php", "/A.PHP?/admin", "*", "/%61dmin"]
            {
                for client in ["192.0.2.1", "192.0.2.9", "::ffff:192.0.2.1", "2001:db8::7", "fe80::1"] {
                    with_request(host, target, client.parse().unwrap(), |facts| {
                        let found = found(&index, facts);
                        for (nth, expression) in expressions.iter().enumerate() {
                            let matches = expression.matches(facts);
                            assert!(
                                !matches || found.contains(&nth),
                                "{host} {target} {client}: {expression:?}"
                            );
                            matched += usize::from(matches);
                        }
                        candidates += found.len();
                        asked += expressions.len();
                    });
                }
            }
        }
        assert!(matched < candidates && candidates < asked * 9 / 10, "{matched} {candidates} of {asked}");
    }

    #[test]
    fn rules_for_single_paths_hosts_or_addresses_are_found_alone() {
        let texts: Vec<String> = (0..1000)
            .map(|nth| {
                format!(
                    "http.host eq \"h{}.example\" and starts_with(http.request.uri.path, \"/p{nth}/\") and ip.src in {{10.{}.0.0/16}}",
                    nth % 7,
                    nth % 200
                )
            })
            .collect();
        let parse = |text: &String| Expression::parse(text, Phase::HttpRequestFirewallCustom).unwrap();
        let expressions: Vec<Expression> = texts.iter().map(parse).collect();
        let index = ExpressionIndex::new(expressions.iter().map(Some)).unwrap();
        let client = "10.123.0.1".parse().unwrap();
        with_request("h4.example", "/p123/x", client, |facts| assert_eq!(found(&index, facts), [123]));
        with_request("h4.example", "/p1/", client, |facts| assert_eq!(found(&index, facts), [1]));
        with_request("h4.example", "/", client, |facts| assert!(found(&index, facts).is_empty()));
        assert!(ExpressionIndex::new(expressions.iter().take(7).map(Some)).is_none(), "too few");
        assert!(ExpressionIndex::new(expressions.iter().map(|_| None)).is_none(), "none needs anything");
    }
}
