//! Which tools may be used.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Globs of names; `*` stands for any characters. By default no tool may be used.
#[derive(Clone, Debug, Default)]
pub struct ToolFilter {
    globs: GlobSet,
    /// Whether they are matched against `server/tool`.
    has_servers: bool,
}

impl ToolFilter {
    /// A filter of the tools of one server.
    ///
    /// # Errors
    /// One sentence if a glob is none.
    pub fn of_server(globs: &[String]) -> Result<Self, String> {
        Ok(Self { globs: compiled(globs)?, has_servers: false })
    }

    /// A filter of the tools of all servers of a gateway: `server/tool`.
    ///
    /// # Errors
    /// One sentence if a glob is none, or names no server.
    pub fn of_token(globs: &[String]) -> Result<Self, String> {
        if let Some(glob) = globs.iter().find(|glob| !glob.contains('/')) {
            return Err(format!(
                "expected `SERVER/TOOL`, such as `tickets/get_*` or `*/*` for all, found `{glob}`"
            ));
        }
        Ok(Self { globs: compiled(globs)?, has_servers: true })
    }

    /// Whether a tool of a server may be used.
    pub fn allows(&self, server: &str, tool: &str) -> bool {
        if self.has_servers {
            self.globs.is_match(format!("{server}/{tool}"))
        } else {
            self.globs.is_match(tool)
        }
    }
}

fn compiled(globs: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let made = Glob::new(glob).map_err(|error| format!("`{glob}` is no glob: {}", error.kind()))?;
        set.add(made);
    }
    set.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(globs: &[&str]) -> Vec<String> {
        globs.iter().map(|glob| (*glob).to_owned()).collect()
    }

    #[test]
    fn tools_are_allowed_by_name() {
        let of_server = ToolFilter::of_server(&texts(&["get_*", "search"])).unwrap();
        for (tool, expected) in [
            ("get_issue", true),
            ("get_", true),
            ("get_a/b", true),
            ("search", true),
            ("Search", false),
            ("search ", false),
            ("xget_issue", false),
            ("delete", false),
            ("", false),
        ] {
            assert_eq!(of_server.allows("any", tool), expected, "{tool}");
        }
        let of_token = ToolFilter::of_token(&texts(&["tickets/get_*", "*/ping"])).unwrap();
        for (server, tool, expected) in [
            ("tickets", "get_issue", true),
            ("files", "get_issue", false),
            ("files", "ping", true),
            ("tickets", "delete", false),
        ] {
            assert_eq!(of_token.allows(server, tool), expected, "{server} {tool}");
        }
        assert!(!ToolFilter::of_token(&[]).unwrap().allows("tickets", "ping"), "none are none");
        assert!(ToolFilter::of_token(&texts(&["*/*"])).unwrap().allows("tickets", "a/b"));
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        for globs in [&["a[/b"][..], &["tickets/{a"]] {
            assert!(ToolFilter::of_token(&texts(globs)).unwrap_err().contains("is no glob"));
        }
        assert!(ToolFilter::of_token(&texts(&["get_*"])).unwrap_err().starts_with("expected `SERVER/TOOL`"));
    }
}
