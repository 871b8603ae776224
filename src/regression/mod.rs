//! Regression tests of rule sets, in the YAML forms of go-ftw: read, sent through the engine in
//! process, judged.
//!
//! ```text
//! YAML --case--> Test --request--> bytes and fields --run--> log --verdict--> passed or not
//! ```
//! Pure: the caller reads the files.

mod case;
mod overrides;
mod raw;
mod request;
mod run;
mod scalar;
mod server;
mod verdict;

pub use case::{Suite, Test};
pub use overrides::Overrides;
pub use raw::RawRequest;
pub use run::{Runner, Sample};
pub use verdict::{Answer, LogLine, Outcome, Report};
