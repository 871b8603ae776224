//! What the gateway answers itself.
//!
//! One body for all clients: the flat copies and the singular `error` that gateway clients read,
//! and `errors` as the management API has it. It never depends on what the client sent.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayError {
    /// Missing, malformed and unknown tokens alike.
    Unauthorized,
    UnknownGateway,
    InvalidProvider,
    /// No dynamic route has the name, or it leads to no model.
    ModelNotFound,
    /// The provider could not be reached, or broke off before its answer.
    ProviderFailed,
    /// Too many requests or tokens in the window.
    RateLimited {
        retry_after_seconds: u32,
    },
    /// Too much money in the window.
    SpendLimited {
        retry_after_seconds: u32,
    },
    /// A body of the gateway's own form that is none.
    BadRequest,
    /// Sensitive data in the request.
    ContentBlocked,
    /// Sensitive data in what the provider answered.
    AnswerContentBlocked,
    /// The guardrail of the gateway refused what is asked.
    PromptBlocked,
    /// It refused what the provider answered.
    ResponseBlocked,
    /// The guardrail of the gateway does not answer.
    GuardrailUnavailable,
    /// No stored key has the name that the request asks for.
    UnknownKey,
    /// A method that an endpoint of MCP does not take.
    MethodNotAllowed,
    /// A tool that the caller may not use. MCP clients get a JSON-RPC error in its place.
    ToolForbidden,
}

impl GatewayError {
    pub const ALL: [Self; 16] = [
        Self::Unauthorized,
        Self::UnknownGateway,
        Self::InvalidProvider,
        Self::ModelNotFound,
        Self::ProviderFailed,
        Self::RateLimited { retry_after_seconds: 1 },
        Self::SpendLimited { retry_after_seconds: 1 },
        Self::BadRequest,
        Self::ContentBlocked,
        Self::AnswerContentBlocked,
        Self::PromptBlocked,
        Self::ResponseBlocked,
        Self::GuardrailUnavailable,
        Self::UnknownKey,
        Self::ToolForbidden,
        Self::MethodNotAllowed,
    ];

    pub fn status(self) -> u16 {
        match self {
            Self::Unauthorized => 401,
            Self::UnknownGateway
            | Self::InvalidProvider
            | Self::BadRequest
            | Self::ContentBlocked
            | Self::AnswerContentBlocked
            | Self::UnknownKey => 400,
            Self::ToolForbidden => 403,
            Self::MethodNotAllowed => 405,
            Self::ModelNotFound => 404,
            Self::PromptBlocked | Self::ResponseBlocked => 424,
            Self::GuardrailUnavailable => 503,
            Self::ProviderFailed => 502,
            Self::RateLimited { .. } | Self::SpendLimited { .. } => 429,
        }
    }

    /// Stable, also in the header `svc-aig-error`.
    pub fn code(self) -> u16 {
        match self {
            Self::Unauthorized => 2009,
            Self::UnknownGateway => 2001,
            Self::InvalidProvider => 2008,
            Self::ModelNotFound => 7003,
            Self::ProviderFailed => 2005,
            Self::RateLimited { .. } => 2003,
            Self::SpendLimited { .. } => 2045,
            Self::BadRequest => 2000,
            Self::ContentBlocked => 2029,
            Self::AnswerContentBlocked => 2030,
            Self::PromptBlocked => 2016,
            Self::ResponseBlocked => 2017,
            Self::GuardrailUnavailable => 7013,
            Self::UnknownKey => 2040,
            Self::ToolForbidden => 7014,
            Self::MethodNotAllowed => 7015,
        }
    }

    pub fn message(self) -> &'static str {
        match self {
            Self::Unauthorized => "Unauthorized",
            Self::UnknownGateway => "Please configure AI Gateway",
            Self::InvalidProvider => "Invalid provider",
            Self::ModelNotFound => "Model not found",
            Self::ProviderFailed => "Failed to get response from provider",
            Self::RateLimited { .. } => "Rate limited",
            Self::SpendLimited { .. } => "Spend limit exceeded",
            Self::BadRequest => "Invalid request body",
            Self::ContentBlocked => "Request content blocked due to DLP policy violations",
            Self::AnswerContentBlocked => "Response content blocked due to DLP policy violations",
            Self::PromptBlocked => "Prompt blocked due to security configurations",
            Self::ResponseBlocked => "Response blocked due to security configurations",
            Self::GuardrailUnavailable => "The guardrail of this gateway does not answer",
            Self::UnknownKey => "The provider has no stored key of this name",
            Self::ToolForbidden => "This tool may not be used here",
            Self::MethodNotAllowed => "Method not allowed",
        }
    }

    /// The outcome in metrics.
    pub fn outcome(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::UnknownGateway => "unknown_gateway",
            Self::InvalidProvider => "unknown_provider",
            Self::ModelNotFound => "unknown_model",
            Self::ProviderFailed => "failed",
            Self::RateLimited { .. } => "rate_limited",
            Self::SpendLimited { .. } => "spend_limited",
            Self::BadRequest => "bad_request",
            Self::ContentBlocked => "content_blocked",
            Self::AnswerContentBlocked => "answer_content_blocked",
            Self::PromptBlocked => "prompt_blocked",
            Self::ResponseBlocked => "response_blocked",
            Self::GuardrailUnavailable => "guardrail_unavailable",
            Self::UnknownKey => "unknown_key",
            Self::ToolForbidden => "tool_forbidden",
            Self::MethodNotAllowed => "method_not_allowed",
        }
    }

    /// Whether the same request may succeed later: SDKs retry by themselves otherwise.
    pub fn is_retryable(self) -> bool {
        match self {
            Self::ProviderFailed | Self::GuardrailUnavailable => true,
            // A client that retries by itself waits no longer than this.
            Self::RateLimited { retry_after_seconds } => retry_after_seconds <= 60,
            _ => false,
        }
    }

    /// When the same request may succeed, if that is known.
    pub fn retry_after_seconds(self) -> Option<u32> {
        match self {
            Self::RateLimited { retry_after_seconds } | Self::SpendLimited { retry_after_seconds } => {
                Some(retry_after_seconds)
            }
            _ => None,
        }
    }

    /// The JSON body.
    pub fn body(self) -> String {
        let item = || Item { code: self.code(), message: self.message() };
        let body = Body {
            success: false,
            result: [],
            messages: [],
            error: [item()],
            errors: [item()],
            name: "AiGatewayError",
            http_code: self.status(),
            internal_code: self.code(),
            message: self.message(),
            description: self.message(),
        };
        serde_json::to_string(&body).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct Item {
    code: u16,
    message: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    success: bool,
    result: [(); 0],
    messages: [(); 0],
    error: [Item; 1],
    errors: [Item; 1],
    name: &'static str,
    http_code: u16,
    internal_code: u16,
    message: &'static str,
    description: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unauthorized_body() {
        insta::assert_snapshot!(GatewayError::Unauthorized.body(), @r#"{"success":false,"result":[],"messages":[],"error":[{"code":2009,"message":"Unauthorized"}],"errors":[{"code":2009,"message":"Unauthorized"}],"name":"AiGatewayError","httpCode":401,"internalCode":2009,"message":"Unauthorized","description":"Unauthorized"}"#);
    }

    #[test]
    fn codes_are_unique() {
        let mut codes = GatewayError::ALL.map(GatewayError::code).to_vec();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), GatewayError::ALL.len());
    }
}
