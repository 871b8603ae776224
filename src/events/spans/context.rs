//! Where a request stands in a trace (W3C Trace Context, section 3.2).

/// A span, the one above it and their trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: u128,
    /// 0 if there is none.
    pub parent: u64,
    pub span: u64,
    /// Whether spans of the trace are kept.
    pub is_sampled: bool,
}

impl TraceContext {
    /// Reads a field `traceparent`; `None` if it is not well-formed, because a trace then begins anew.
    pub fn parse(field: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(field).ok()?;
        let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let mut parts = text.split('-');
        let (version, trace) = (parts.next()?, parts.next()?);
        let (span, flags) = (parts.next()?, parts.next()?);
        let has_lengths = [(version, 2), (trace, 32), (span, 16), (flags, 2)]
            .into_iter()
            .all(|(part, length)| part.len() == length && is_hex(part));
        // Later versions may have more parts, this one has none.
        if !has_lengths || version == "ff" || version == "00" && parts.next().is_some() {
            return None;
        }
        let (trace, span) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(span, 16).ok()?);
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        (trace != 0 && span != 0).then_some(Self { trace, parent: 0, span, is_sampled })
    }

    /// The span of a caller who says both ids.
    pub fn of(trace: u128, span: u64) -> Self {
        Self { trace, parent: 0, span, is_sampled: true }
    }

    /// A child of the caller's span; without a caller, the first span of a new trace.
    pub fn new(caller: Option<Self>, random: [u8; 24], is_sampled: bool) -> Self {
        let [trace, span] = [&random[..16], &random[16..]].map(|bytes| {
            // 0 is no id.
            bytes.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte)).max(1)
        });
        let (trace, parent) = caller.map_or((trace, 0), |caller| (caller.trace, caller.span));
        Self { trace, parent, span: u64::try_from(span).unwrap_or(1), is_sampled }
    }

    /// A span below this one.
    pub fn child(&self) -> Option<Self> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).ok()?;
        Some(Self::new(Some(*self), random, self.is_sampled))
    }

    /// The id of the trace, as logs and collectors write it.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// The field `traceparent` for who is asked next.
    pub fn traceparent(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn fields_are_read_as_the_recommendation_says() {
        let read = |text: String| TraceContext::parse(text.as_bytes());
        let told = read(format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!(
            (told.trace, told.span),
            (0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331)
        );
        assert!(told.is_sampled && !read(format!("00-{TRACE}-{SPAN}-00")).unwrap().is_sampled);
        assert!(read(format!("cc-{TRACE}-{SPAN}-03-what-follows")).unwrap().is_sampled);
        for none in [
            String::new(),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-0g"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
        ] {
            assert_eq!(read(none.clone()), None, "{none}");
        }
        assert_eq!(TraceContext::parse(b"\xff"), None);
    }

    #[test]
    fn a_trace_goes_on_or_begins() {
        let told = TraceContext::parse(format!("00-{TRACE}-{SPAN}-01").as_bytes()).unwrap();
        let mut random = [0; 24];
        random[23] = 9;
        let below = TraceContext::new(Some(told), random, false);
        assert_eq!((below.trace, below.parent, below.span), (told.trace, told.span, 9));
        assert_eq!(below.traceparent(), format!("00-{TRACE}-0000000000000009-00"));
        let first = TraceContext::new(None, [0; 24], true);
        assert_eq!((first.trace, first.parent, first.span), (1, 0, 1));
        let child = first.child().unwrap();
        assert_eq!((child.trace, child.parent, child.is_sampled), (1, 1, true));
        assert_eq!(TraceContext::parse(child.traceparent().as_bytes()).unwrap().span, child.span);
    }
}
