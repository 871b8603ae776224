//! The rules as data: every name resolved, every default applied, printable.

mod display;

use std::sync::Arc;
use std::time::Duration;

use super::audit::AuditIr;
use super::geo::GeoDatabase;
use super::macros::Macro;
use super::{Phase, operators, transformations, variables};
use body::xml_path::XmlPath;
use diagnostic::Place;
use pattern::Pattern;

/// All rules of a rule set, in order, with what its directives set.
#[derive(Clone, Debug)]
pub struct RuleSetIr {
    pub items: Vec<ItemIr>,
    pub engine: EngineMode,
    /// `SecComponentSignature` texts: the rule sets this one is made of.
    pub components: Vec<String>,
    pub response_body: ResponseBodyIr,
    /// `SecCollectionTimeout`: how long a record lives after its last change.
    pub record_lifetime: Duration,
    pub limits: LimitsIr,
    /// `SecWebAppId`
    pub web_app_id: String,
    /// `SecGeoLookupDb`
    pub geo: Option<Arc<GeoDatabase>>,
    pub audit: AuditIr,
    /// The patterns of its operators.
    pub patterns: operators::Patterns,
}

/// What rule files limit; `None` if they say nothing. Limits of the configuration hold as well.
#[derive(Clone, Copy, Debug, Default)]
pub struct LimitsIr {
    /// `SecRequestBodyLimit`
    pub request_bytes: Option<usize>,
    /// `SecRequestBodyNoFilesLimit`
    pub request_bytes_without_files: Option<usize>,
    /// `SecRequestBodyLimitAction ProcessPartial`: reads the first part, and does not refuse the request.
    pub reads_requests_in_part: bool,
    /// `SecArgumentsLimit`
    pub arguments: Option<usize>,
    /// `SecResponseBodyLimit`
    pub response_bytes: Option<usize>,
    /// `SecResponseBodyLimitAction ProcessPartial`
    pub reads_responses_in_part: bool,
}

/// `SecResponseBodyAccess` and `SecResponseBodyMimeType`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseBodyIr {
    pub access: bool,
    /// Lower case, without parameters.
    pub media_types: Vec<String>,
}

impl Default for ResponseBodyIr {
    fn default() -> Self {
        Self { access: true, media_types: vec!["text/plain".to_owned(), "text/html".to_owned()] }
    }
}

impl RuleSetIr {
    /// The rules that start a chain or stand alone.
    pub fn roots(&self) -> impl Iterator<Item = &RuleIr> {
        self.items.iter().filter_map(|item| match item {
            ItemIr::Rule(rule) => Some(rule.as_ref()),
            ItemIr::Marker(_) => None,
        })
    }
}

/// `SecRuleEngine`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineMode {
    #[default]
    On,
    DetectionOnly,
    Off,
}

#[derive(Clone, Debug)]
pub enum ItemIr {
    Rule(Box<RuleIr>),
    Marker(String),
}

/// One rule, with the links of its chain.
#[derive(Clone, Debug)]
pub struct RuleIr {
    /// 0 for a chain link.
    pub id: u64,
    pub phase: Phase,
    /// Empty for `SecAction`, which matches without looking.
    pub targets: Vec<TargetIr>,
    pub operator: Option<OperatorIr>,
    pub transformations: Vec<&'static transformations::Definition>,
    pub actions: ActionsIr,
    pub chain: Vec<Self>,
    pub place: Place,
}

/// One variable of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetIr {
    pub variable: &'static variables::Definition,
    pub selector: Option<SelectorIr>,
    /// `&`: the number of values instead of the values.
    pub count: bool,
    /// Values left out: `!NAME:selector`.
    pub exclusions: Vec<SelectorIr>,
}

impl TargetIr {
    /// The path that it takes of XML bodies; `None` if it takes all text, all attributes, or no path.
    pub fn xml_path(&self, namespace: impl Fn(&str) -> Option<String>) -> Option<Result<XmlPath, String>> {
        match &self.selector {
            Some(SelectorIr::Name(path)) if self.variable.name == "XML" => {
                (!matches!(path.as_str(), "/*" | "//@*")).then(|| XmlPath::parse(path, namespace))
            }
            _ => None,
        }
    }
}

/// Takes `exclusions` out of the targets of the same variable.
pub fn exclude(targets: &mut Vec<TargetIr>, exclusions: &[TargetIr]) {
    for exclusion in exclusions {
        match &exclusion.selector {
            Some(selector) => targets
                .iter_mut()
                .filter(|t| t.variable == exclusion.variable)
                .for_each(|t| t.exclusions.push(selector.clone())),
            None => targets.retain(|t| t.variable != exclusion.variable),
        }
    }
}

/// Which entries of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorIr {
    /// Compared without case.
    Name(String),
    Pattern(String),
}

#[derive(Clone, Debug)]
pub struct OperatorIr {
    pub definition: &'static operators::Definition,
    pub negated: bool,
    pub argument: String,
    pub place: Place,
    /// The lines of the file that `@pmFromFile` and `@ipMatchFromFile` name.
    pub lines: Vec<String>,
    /// What `@geoLookup` asks.
    pub geo: Option<Arc<GeoDatabase>>,
}

/// What a rule is called and does.
#[derive(Clone, Debug, Default)]
pub struct ActionsIr {
    pub id: Option<u64>,
    pub phase: Option<Phase>,
    pub msg: Macro,
    pub logdata: Macro,
    pub tags: Vec<String>,
    pub version: String,
    pub revision: String,
    /// Index in [`super::SEVERITIES`].
    pub severity: Option<u8>,
    pub disruptive: Option<Disruptive>,
    pub status: Option<u16>,
    /// Where `redirect` leads.
    pub redirect: Option<Macro>,
    pub log: Option<bool>,
    pub audit_log: Option<bool>,
    pub capture: bool,
    pub multi_match: bool,
    pub chain: bool,
    pub skip_after: Option<String>,
    /// `skip`: the number of rules of the phase that are skipped.
    pub skip: usize,
    /// `None` clears what was inherited: `t:none`.
    pub transformations: Vec<Option<&'static transformations::Definition>>,
    /// In the order they are written: `initcol` before the `setvar` that needs it.
    pub collections: Vec<CollectionActionIr>,
    pub controls: Vec<ControlIr>,
    /// `xmlns`: prefixes and addresses.
    pub namespaces: Vec<(String, String)>,
}

impl ActionsIr {
    /// The address of a prefix.
    pub fn namespace(&self, prefix: &str) -> Option<String> {
        self.namespaces.iter().find(|(known, _)| known == prefix).map(|(_, address)| address.clone())
    }
}

/// What happens to the request when a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruptive {
    /// As `SecDefaultAction` of the phase says.
    Block,
    Deny,
    Drop,
    Pass,
    /// Skips the rules that remain: of everything, of the phase, or of the request phases.
    Allow(AllowScope),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowScope {
    Transaction,
    Phase,
    Request,
}

/// `setvar`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetVariableIr {
    pub collection: CollectionKind,
    /// Name in the collection.
    pub name: Macro,
    pub change: Change,
    pub value: Macro,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Set,
    Add,
    Subtract,
    Unset,
}

/// Where `setvar` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectionKind {
    /// Ends with the transaction.
    Tx,
    Ip,
    Global,
    Session,
    User,
    Resource,
}

impl CollectionKind {
    pub const ALL: [Self; 6] = [Self::Tx, Self::Ip, Self::Global, Self::Session, Self::User, Self::Resource];

    pub fn word(self) -> &'static str {
        match self {
            Self::Tx => "tx",
            Self::Ip => "ip",
            Self::Global => "global",
            Self::Session => "session",
            Self::User => "user",
            Self::Resource => "resource",
        }
    }

    /// The collection of a word, ignoring case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word().eq_ignore_ascii_case(word))
    }
}

/// What rules do to `TX`, persistent collections and `ENV`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectionActionIr {
    /// `setvar`
    Set(SetVariableIr),
    /// `initcol:ip=key`, and `setsid` and `setuid`
    Open { kind: CollectionKind, key: Macro },
    /// `expirevar:ip.name=seconds`
    Expire { kind: CollectionKind, name: Macro, seconds: Macro },
    /// `setenv:name=value`
    SetEnvironment { name: Macro, value: Macro },
}

impl Default for RuleSetIr {
    fn default() -> Self {
        Self {
            geo: None,
            items: Vec::new(),
            engine: EngineMode::default(),
            components: Vec::new(),
            response_body: ResponseBodyIr::default(),
            record_lifetime: Duration::from_secs(3600),
            limits: LimitsIr::default(),
            web_app_id: String::new(),
            audit: AuditIr::default(),
            patterns: operators::Patterns::default(),
        }
    }
}

/// Says of a root whether it is meant.
pub type RootTest = Box<dyn Fn(&RuleIr) -> bool>;

/// Rules that a `ctl` or an update is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulesIr {
    Ids {
        first: u64,
        last: u64,
    },
    /// A pattern that a tag must match somewhere.
    Tag(String),
    /// A pattern that the message must match somewhere.
    Msg(String),
}

impl RulesIr {
    /// # Errors
    /// If a pattern cannot be compiled, why.
    pub fn test(&self) -> Result<RootTest, String> {
        Ok(match self {
            Self::Ids { first, last } => {
                let ids = *first..=*last;
                Box::new(move |root| ids.contains(&root.id))
            }
            Self::Tag(pattern) => {
                let pattern = Pattern::new(pattern)?;
                Box::new(move |root| root.actions.tags.iter().any(|tag| pattern.is_match(tag.as_bytes())))
            }
            Self::Msg(pattern) => {
                let pattern = Pattern::new(pattern)?;
                Box::new(move |root| pattern.is_match(root.actions.msg.to_string().as_bytes()))
            }
        })
    }
}

/// `ctl`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlIr {
    RuleEngine(EngineMode),
    RemoveRules(RulesIr),
    RemoveTargets { rules: RulesIr, variable: &'static variables::Definition, selector: Option<SelectorIr> },
    BodyProcessor(String),
    ForceBodyVariable(bool),
    ResponseBodyAccess(bool),
}

impl RuleIr {
    /// Applies `SecRuleUpdateActionById`: what the update says replaces what the rule said; tags,
    /// variables and controls are added. Id, phase and chain stay.
    pub fn update(&mut self, update: ActionsIr) {
        if !update.transformations.is_empty() {
            for step in &update.transformations {
                match step {
                    Some(transformation) => self.transformations.push(transformation),
                    None => self.transformations.clear(),
                }
            }
        }
        let actions = &mut self.actions;
        if update.disruptive.is_some() {
            actions.disruptive = update.disruptive;
            actions.redirect = update.redirect;
        }
        actions.status = update.status.or(actions.status);
        actions.severity = update.severity.or(actions.severity);
        actions.log = update.log.or(actions.log);
        actions.audit_log = update.audit_log.or(actions.audit_log);
        if update.msg != Macro::default() {
            actions.msg = update.msg;
        }
        if update.logdata != Macro::default() {
            actions.logdata = update.logdata;
        }
        actions.capture |= update.capture;
        actions.multi_match |= update.multi_match;
        actions.skip_after = update.skip_after.or(actions.skip_after.take());
        actions.tags.extend(update.tags);
        actions.controls.extend(update.controls);
        actions.collections.extend(update.collections);
    }
}
