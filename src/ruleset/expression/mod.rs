//! Filter expressions. The language comes later; so far there is the one that matches everything.

/// A compiled expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expression {
    /// `true`
    Everything,
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// The first byte that is not understood, and one sentence why.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        if text.trim() == "true" {
            return Ok(Self::Everything);
        }
        let start = text.len() - text.trim_start().len();
        Err((
            start,
            format!("the expression `{text}` is not available yet; use `true`, which matches every request"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_true_is_understood() {
        assert_eq!(Expression::parse(" true "), Ok(Expression::Everything));
        for text in ["", "false", "ip.src eq 192.0.2.1", "TRUE"] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
        assert_eq!(Expression::parse("  x").unwrap_err().0, 2);
    }
}
