//! `[[zones.forward_auth]]` resolved.

use http::{HeaderName, header};

use super::Resolving;
use crate::conf::table::Located;
use crate::conf::zone_file::ForwardAuthFile;
use model::origin_url::place_and_target;
use model::{ForwardAuth, Phase};

/// Fields that say where a message ends or what its body is: what an answer says in them is not so of the request.
const NOT_COPIED: &[HeaderName] = &[
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

impl Resolving<'_> {
    pub(super) fn forward_auth(&mut self, file: ForwardAuthFile) -> ForwardAuth {
        if let Err(message) = place_and_target(&file.url.value) {
            self.bad(&file.url.place, format!("`zones.forward_auth.url`: {message}"));
        }
        let mut copy_headers = Vec::new();
        if let Some(Located { value: names, place }) = file.copy_headers {
            for name in &names {
                let parsed = HeaderName::from_bytes(name.as_bytes());
                if !parsed.is_ok_and(|name| !NOT_COPIED.contains(&name)) {
                    let message = format!(
                        "`zones.forward_auth.copy_headers` takes names of fields that are about a user, found `{name}`"
                    );
                    self.bad(&place, message);
                }
            }
            copy_headers = names;
        }
        ForwardAuth {
            expression: self.expression(file.expression, Phase::HttpRequestFirewallCustom),
            url: file.url.value,
            copy_headers,
            timeout: file.timeout,
        }
    }
}
