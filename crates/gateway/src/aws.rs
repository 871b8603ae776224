//! Requests to AWS, signed with a key that the gateway keeps (Signature Version 4).

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::{Deserialize, Deserializer};

use model::Secret;

/// The service that keys are for.
const SERVICE: &str = "bedrock";

/// An access key, as it is sealed: JSON with the names that AWS gives them.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessKey {
    #[serde(alias = "accessKeyId", alias = "AccessKeyId")]
    access_key_id: String,
    #[serde(alias = "secretAccessKey", alias = "SecretAccessKey")]
    #[serde(deserialize_with = "secret")]
    secret_access_key: Secret,
    #[serde(default, alias = "sessionToken", alias = "SessionToken")]
    session_token: Option<String>,
    /// If the host does not name it.
    #[serde(default)]
    region: Option<String>,
}

impl AccessKey {
    /// Reads a stored key; `None` if it is another kind of key.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What tells this key from others; no secret.
    pub fn id(&self) -> &str {
        &self.access_key_id
    }

    /// The path as it is to be sent, and the fields that sign the request. Of its own fields only the
    /// content type is signed: others may change on their way.
    ///
    /// # Errors
    /// One sentence: that no region is known, or what cannot be signed.
    pub fn sign(
        &self,
        method: &str,
        authority: &str,
        target: &str,
        headers: &HeaderMap,
        body: &[u8],
        at: SystemTime,
    ) -> Result<(String, Vec<(HeaderName, HeaderValue)>), String> {
        let region = self.region.as_deref().or_else(|| region(authority));
        let region = region.ok_or_else(|| format!("no region is known for `{authority}`"))?;
        let credentials = Credentials::new(
            &self.access_key_id,
            self.secret_access_key.expose(),
            self.session_token.clone(),
            None,
            "stored",
        );
        let identity = credentials.into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(SERVICE)
            .time(at)
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| error.to_string())?
            .into();
        let target = escaped(target);
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let signed = content_type.map(|value| (header::CONTENT_TYPE.as_str(), value));
        let request = SignableRequest::new(
            method,
            format!("https://{authority}{target}"),
            signed.into_iter(),
            SignableBody::Bytes(body),
        );
        let request = request.map_err(|error| error.to_string())?;
        let (instructions, _) = sign(request, &parameters).map_err(|error| error.to_string())?.into_parts();
        let field = |(name, value): (&str, &str)| {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        };
        let fields = instructions.headers().map(field).collect::<Option<Vec<_>>>();
        Ok((target, fields.ok_or("a field that signs cannot be sent")?))
    }
}

/// `us-east-1` of `bedrock-runtime.us-east-1.amazonaws.com`.
fn region(authority: &str) -> Option<&str> {
    let host = authority.split(':').next()?;
    let (_, rest) = host.split_once('.')?;
    let (region, domain) = rest.split_once('.')?;
    matches!(domain, "amazonaws.com" | "amazonaws.com.cn" | "api.aws").then_some(region)
}

/// A path in which only what needs no escape stands for itself, as those who check the signature see it;
/// escapes that are there stay.
fn escaped(target: &str) -> String {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let mut escaped = String::with_capacity(target.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'%' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    query.into_iter().for_each(|query| {
        escaped.push('?');
        escaped.push_str(query);
    });
    escaped
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

impl std::fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccessKey")
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    const KEY: &str =
        r#"{"accessKeyId":"AKIDEXAMPLE","secretAccessKey":"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}"#;
    /// 2015-08-30T12:36:00Z
    const AT: Duration = Duration::from_secs(1_440_938_160);

    fn authorization(
        key: &str,
        authority: &str,
        target: &str,
        body: &[u8],
    ) -> Result<(String, String), String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("x-other", HeaderValue::from_static("not signed"));
        let key = AccessKey::parse(key).unwrap();
        let (target, fields) = key.sign("POST", authority, target, &headers, body, UNIX_EPOCH + AT)?;
        let text = |name: &str| {
            let field = fields.iter().find(|(field, _)| field == name);
            field.map(|(_, value)| value.to_str().unwrap().to_owned())
        };
        assert_eq!(text("x-amz-date").as_deref(), Some("20150830T123600Z"));
        assert!(fields.iter().all(|(_, value)| value.is_sensitive()));
        Ok((target, text("authorization").unwrap()))
    }

    #[test]
    fn signatures_are_those_of_another_implementation() {
        let host = "bedrock-runtime.us-east-1.amazonaws.com";
        let path = "/model/anthropic.claude-v2:1/converse";
        // As botocore 1.44 signs the same request.
        let (target, signed) = authorization(KEY, host, path, b"{\"a\":1}").unwrap();
        assert_eq!(target, "/model/anthropic.claude-v2%3A1/converse");
        assert_eq!(
            signed,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/bedrock/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date, Signature=dc7a6912d154b37525f30cd184a866f2550faaa57bce09355b583a94512397a6"
        );
        let other = |host: &str, target: &str, body: &[u8]| authorization(KEY, host, target, body).unwrap().1;
        assert_ne!(other(host, path, b"{\"a\":2}"), signed);
        assert_ne!(other(host, "/model/x", b"{\"a\":1}"), signed);
        assert_eq!(other(host, "/model/anthropic.claude-v2%3A1/converse", b"{\"a\":1}"), signed);
        assert!(other("bedrock.eu-west-1.amazonaws.com:443", path, b"").contains("/eu-west-1/bedrock/"));
    }

    #[test]
    fn keys_are_json_and_a_region_must_be_known() {
        for other in ["", "ABSKkey", "{}", r#"{"accessKeyId":"a"}"#, "[]"] {
            assert!(AccessKey::parse(other).is_none(), "{other}");
        }
        assert!(authorization(KEY, "127.0.0.1:80", "/", b"").unwrap_err().contains("no region"));
        let named = KEY.replace('}', r#","region":"eu-north-1","sessionToken":"t"}"#);
        let signed = authorization(&named, "127.0.0.1:80", "/a?b=c", b"").unwrap();
        assert_eq!(signed.0, "/a?b=c");
        assert!(signed.1.contains("/eu-north-1/bedrock/") && signed.1.contains("x-amz-security-token"));
        assert_eq!(format!("{:?}", AccessKey::parse(&named).unwrap()), "AccessKey");
    }
}
