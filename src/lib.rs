pub mod body;
pub mod clock;
pub mod diagnostic;
pub mod pattern;
pub mod waf;
