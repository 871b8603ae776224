//! The name that `SecWebAppId` gives the application.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "WEBAPPID",
    summary: "The name that `SecWebAppId` gives the application.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.web_app_id);
}
