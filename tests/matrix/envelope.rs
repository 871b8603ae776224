//! What a call of a gateway is put into.

/// What a call is put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    None,
    /// A universal request with one step.
    Universal,
    /// One whose first step goes to a provider that is not there.
    Fallback,
    /// A compatible request, which names its provider in the model.
    Compatible,
    /// A compatible request for a dynamic route.
    Route,
    /// A call of a tool (MCP).
    Mcp,
}

impl Envelope {
    /// Whether the path at the provider is not up to the caller.
    pub fn has_own_path(self) -> bool {
        matches!(self, Self::Compatible | Self::Route)
    }
}

/// A route that reads the body, meets a limit of this kind, comes to a provider that is not there, and then to one that is; with
/// settings of its gateway before it.
macro_rules! route {
    ($settings:literal, $limit_type:literal) => {
        concat!(
            $settings,
            "[[gateways.routes]]\nname = \"matrix\"\nelements = [\n",
            "{ id = \"start\", type = \"start\", outputs.next.elementId = \"if\" },\n",
            "{ id = \"if\", type = \"conditional\", properties.conditions = { \"body.model\" = \"dynamic/matrix\" }, outputs = { true.elementId = \"rate\", false.elementId = \"end\" } },\n",
            "{ id = \"rate\", type = \"rate\", properties = { key = \"token\", limitType = \"",
            $limit_type,
            "\", limit = 900000000, window = 60 }, outputs.success.elementId = \"gone\" },\n",
            "{ id = \"gone\", type = \"model\", properties = { provider = \"gone\", model = \"gpt-4o\" }, outputs = { success.elementId = \"end\", fallback.elementId = \"openai\" } },\n",
            "{ id = \"openai\", type = \"model\", properties = { provider = \"openai\", model = \"gpt-4o\" }, outputs.success.elementId = \"end\" },\n",
            "{ id = \"end\", type = \"end\", outputs = {} },\n]\n"
        )
    };
}

pub(crate) use route;
