//! Values made safe to show.

use super::Rule;

/// How much of a value may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// The first six and the last four digits: PCI DSS 3.4 allows no more of a card.
    Card,
    /// The first letter of the local part and of the domain, and the top-level domain.
    Address,
    /// The last two: what stands before them may be a date of birth.
    LastTwo,
    /// What every value of the kind begins with.
    First(usize),
    Nothing,
}

impl Rule {
    /// A masked form of a value of this kind, and its length.
    pub fn mask(&self, value: &[u8]) -> String {
        let text = String::from_utf8_lossy(value);
        let symbols: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
        let count = symbols.len();
        let shown = |range: Option<&[char]>| range.unwrap_or(&[]).iter().collect::<String>();
        let (first, last) = match self.shown(value) {
            Shown::Card if count >= 12 => (shown(symbols.get(..6)), shown(symbols.get(count - 4..))),
            Shown::LastTwo if count >= 6 => (String::new(), shown(symbols.get(count - 2..))),
            Shown::First(bytes) => (text.chars().take(bytes).collect(), String::new()),
            Shown::Address => return address(&text),
            Shown::Card | Shown::LastTwo | Shown::Nothing => (String::new(), String::new()),
        };
        format!("{first}…{last} ({count} characters)")
    }

    fn shown(&self, value: &[u8]) -> Shown {
        let is = |category: &str| self.categories.iter().any(|other| other == category);
        let fixed = self.begins.tokens.iter().chain(&self.begins.literals);
        match self.id.as_str() {
            "financial.credit_card" => Shown::Card,
            "pii.email" => Shown::Address,
            _ if is("national-id") || is("health") || is("financial") || is("pii") => Shown::LastTwo,
            _ if is("credential") => fixed
                .filter(|text| value.starts_with(text.as_bytes()))
                .map(|text| text.chars().count())
                .max()
                .map_or(Shown::Nothing, Shown::First),
            _ => Shown::Nothing,
        }
    }
}

/// `a***@d***.tld`
fn address(text: &str) -> String {
    let (local, domain) = text.split_once('@').unwrap_or((text, ""));
    let (name, top) = domain.rsplit_once('.').unwrap_or((domain, ""));
    let first = |text: &str| text.chars().next().map(String::from).unwrap_or_default();
    format!("{}***@{}***.{top}", first(local), first(name))
}

#[cfg(test)]
mod tests {
    use diagnostic::Source;

    use crate::Detector;
    use crate::load::Trust;

    fn masked(detector: &Detector, id: &str, value: &str) -> String {
        let rule = detector.rules().iter().find(|rule| rule.id == id).unwrap();
        rule.mask(value.as_bytes())
    }

    #[test]
    fn never_shows_what_makes_the_value() {
        let sources: Vec<_> =
            shipped_rules::SENSITIVE_DATA.iter().map(|(name, text)| Source::new(*name, *text)).collect();
        let (detector, _) = crate::load::load(&sources, Trust::BuiltIn);
        let key = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
        for (id, value, expected) in [
            ("financial.credit_card", "4111 1111 1111 1111", "411111…1111 (16 characters)"),
            ("credential.aws_access_key_id", key.as_str(), "AKIA… (20 characters)"),
            ("credential.generic_password", "aJfizS%aft4IWs", "… (13 characters)"),
            ("national_id.us_ssn", "281-87-8310", "…10 (9 characters)"),
            ("national_id.pl_pesel", "44051401359", "…59 (11 characters)"),
            ("pii.email", "info@mail.example.org", "i***@m***.org"),
            ("pii.email", "\u{fffd}", "\u{fffd}***@***."),
            ("leak.etc_passwd", "root:x:0:0:root:/root:/bin/bash", "… (22 characters)"),
            ("financial.iban", "DE89370400440532013000", "…00 (22 characters)"),
        ] {
            assert_eq!(masked(&detector, id, value), expected, "{id}");
        }
    }
}
