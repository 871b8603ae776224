//! Statuses as labels of metrics.

use std::sync::LazyLock;

/// A status as a label: the number if HTTP defines its class, else `other`.
pub fn status_label(status: u16) -> &'static str {
    static LABELS: LazyLock<Vec<String>> =
        LazyLock::new(|| (100..600).map(|status: u16| status.to_string()).collect());
    status.checked_sub(100).and_then(|nth| LABELS.get(usize::from(nth))).map_or("other", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_http_does_not_define_is_one_label() {
        assert_eq!((status_label(404), status_label(999)), ("404", "other"));
    }
}
