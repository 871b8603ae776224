//! The IR as text, for tests and `check --explain`.

use std::fmt;

use super::*;

impl fmt::Display for RuleSetIr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "engine {:?}", self.engine)?;
        for item in &self.items {
            match item {
                ItemIr::Marker(name) => writeln!(f, "marker {name}")?,
                ItemIr::Rule(rule) => rule.write(f, 0)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for TargetIr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.count { "&" } else { "" }, self.variable.name)?;
        if let Some(selector) = &self.selector {
            write!(f, ":{selector}")?;
        }
        self.exclusions.iter().try_for_each(|excluded| write!(f, " but {excluded}"))
    }
}

impl fmt::Display for SelectorIr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Pattern(pattern) => write!(f, "/{pattern}/"),
        }
    }
}

impl ActionsIr {
    fn write(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        if let Some(disruptive) = self.disruptive {
            let status = self.status.map_or_else(String::new, |status| format!(" with {status}"));
            writeln!(f, "{indent}  do {disruptive:?}{status}")?;
        }
        for action in &self.collections {
            match action {
                CollectionActionIr::Set(SetVariableIr { collection, name, change, value }) => {
                    writeln!(f, "{indent}  {change:?} {}.{name} {value}", collection.word())?;
                }
                other => writeln!(f, "{indent}  {other:?}")?,
            }
        }
        for control in &self.controls {
            writeln!(f, "{indent}  ctl {control:?}")?;
        }
        if self.skip > 0 {
            writeln!(f, "{indent}  skip {} rules", self.skip)?;
        }
        if let Some(marker) = &self.skip_after {
            writeln!(f, "{indent}  skip to {marker}")?;
        }
        if self.msg != Macro::default() {
            writeln!(f, "{indent}  msg {}", self.msg)?;
        }
        if !self.tags.is_empty() {
            writeln!(f, "{indent}  tags {}", self.tags.join(" "))?;
        }
        Ok(())
    }
}

impl RuleIr {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        if depth == 0 {
            writeln!(f, "rule {} phase {}", self.id, self.phase.number())?;
        } else {
            writeln!(f, "{indent}and")?;
        }
        for target in &self.targets {
            writeln!(f, "{indent}  on {target}")?;
        }
        if !self.transformations.is_empty() {
            let names: Vec<_> = self.transformations.iter().map(|t| t.name).collect();
            writeln!(
                f,
                "{indent}  as {}{}",
                names.join(" "),
                if self.actions.multi_match { ", each step" } else { "" }
            )?;
        }
        if let Some(operator) = &self.operator {
            let not = if operator.negated { "not " } else { "" };
            writeln!(f, "{indent}  when {not}{} {:?}", operator.definition.name, operator.argument)?;
        }
        self.actions.write(f, &indent)?;
        self.chain.iter().try_for_each(|link| link.write(f, depth + 1))
    }
}
