//! Adds a transformation; `none` drops those before it.

use super::{Definition, Lowered, Refusal, required, transformation};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "t", summary: "Adds a transformation; `none` drops those before it.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let name = required(value, "t:lowercase")?;
    let step = if name.eq_ignore_ascii_case("none") {
        None
    } else {
        Some(transformation(name).map_err(Refusal::Bad)?)
    };
    actions.transformations.push(step);
    Ok(())
}
