//! 1 if lines of a multipart body end in CRLF and others in LF.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_CRLF_LF_LINES",
    summary: "1 where lines of a multipart body end in CRLF and others in LF.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.flag(data.message.bends(Bend::MixedLines)));
}
