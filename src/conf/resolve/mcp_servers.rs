//! `[[gateways.mcp_servers]]` resolved.

use super::Resolving;
use crate::conf::gateway_file::McpServerFile;
use gateway::mcp;
use model::McpServer;

impl Resolving<'_> {
    pub(super) fn mcp_servers(&mut self, files: Vec<McpServerFile>) -> Vec<McpServer> {
        let mut servers: Vec<McpServer> = Vec::new();
        for McpServerFile { name, url, allow_private, tools } in files {
            let at_tools = tools.as_ref().map_or_else(|| name.place.clone(), |tools| tools.place.clone());
            let server = McpServer {
                name: name.value,
                url: url.value,
                allow_private,
                tools: tools.map(|tools| tools.value),
            };
            for (member, message) in mcp::faults(&server) {
                let place = match member {
                    "url" => &url.place,
                    "tools" => &at_tools,
                    _ => &name.place,
                };
                self.bad(place, format!("`gateways.mcp_servers.{member}`: {message}"));
            }
            if servers.iter().any(|known| known.name == server.name) {
                self.conflict(&name.place, "this server is declared twice in its gateway");
            }
            servers.push(server);
        }
        servers
    }
}
