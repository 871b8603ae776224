//! The rules that ship in the binary, as text: name and content of each file. [`OWASP`] is SecLang,
//! [`SENSITIVE_DATA`] is YAML.

/// When a rule in the binary was last changed (RFC 3339).
pub const UPDATED: &str = "2026-11-29T18:00:00Z";

/// The OWASP rules in the binary, in the order in which they are read.
pub const OWASP: &[(&str, &str)] = &[
    ("<built-in>/10-setup.conf", include_str!("../../../rules/owasp/10-setup.conf")),
    ("<built-in>/20-protocol.conf", include_str!("../../../rules/owasp/20-protocol.conf")),
    ("<built-in>/22-method.conf", include_str!("../../../rules/owasp/22-method.conf")),
    ("<built-in>/24-session.conf", include_str!("../../../rules/owasp/24-session.conf")),
    ("<built-in>/25-upload.conf", include_str!("../../../rules/owasp/25-upload.conf")),
    ("<built-in>/26-scanner.conf", include_str!("../../../rules/owasp/26-scanner.conf")),
    ("<built-in>/30-traversal.conf", include_str!("../../../rules/owasp/30-traversal.conf")),
    ("<built-in>/31-ssrf.conf", include_str!("../../../rules/owasp/31-ssrf.conf")),
    ("<built-in>/32-command.conf", include_str!("../../../rules/owasp/32-command.conf")),
    ("<built-in>/34-windows.conf", include_str!("../../../rules/owasp/34-windows.conf")),
    ("<built-in>/40-query.conf", include_str!("../../../rules/owasp/40-query.conf")),
    ("<built-in>/41-xss.conf", include_str!("../../../rules/owasp/41-xss.conf")),
    ("<built-in>/42-sqli.conf", include_str!("../../../rules/owasp/42-sqli.conf")),
    ("<built-in>/43-template.conf", include_str!("../../../rules/owasp/43-template.conf")),
    ("<built-in>/44-java.conf", include_str!("../../../rules/owasp/44-java.conf")),
    ("<built-in>/45-php.conf", include_str!("../../../rules/owasp/45-php.conf")),
    ("<built-in>/46-script.conf", include_str!("../../../rules/owasp/46-script.conf")),
    ("<built-in>/47-xml.conf", include_str!("../../../rules/owasp/47-xml.conf")),
    ("<built-in>/48-graphql.conf", include_str!("../../../rules/owasp/48-graphql.conf")),
    ("<built-in>/49-crlf.conf", include_str!("../../../rules/owasp/49-crlf.conf")),
    ("<built-in>/50-cve.conf", include_str!("../../../rules/owasp/50-cve.conf")),
    ("<built-in>/51-webshell.conf", include_str!("../../../rules/owasp/51-webshell.conf")),
    ("<built-in>/60-suspicion.conf", include_str!("../../../rules/owasp/60-suspicion.conf")),
    ("<built-in>/90-threshold.conf", include_str!("../../../rules/owasp/90-threshold.conf")),
];

/// The sensitive data rules in the binary.
pub const SENSITIVE_DATA: &[(&str, &str)] = &[
    (
        "<built-in>/credential-access.yaml",
        include_str!("../../../rules/sensitive-data/credential-access.yaml"),
    ),
    ("<built-in>/credential-ai.yaml", include_str!("../../../rules/sensitive-data/credential-ai.yaml")),
    ("<built-in>/credential-cloud.yaml", include_str!("../../../rules/sensitive-data/credential-cloud.yaml")),
    ("<built-in>/credential-code.yaml", include_str!("../../../rules/sensitive-data/credential-code.yaml")),
    ("<built-in>/credential-key.yaml", include_str!("../../../rules/sensitive-data/credential-key.yaml")),
    (
        "<built-in>/credential-service.yaml",
        include_str!("../../../rules/sensitive-data/credential-service.yaml"),
    ),
    ("<built-in>/financial.yaml", include_str!("../../../rules/sensitive-data/financial.yaml")),
    ("<built-in>/health.yaml", include_str!("../../../rules/sensitive-data/health.yaml")),
    ("<built-in>/leak.yaml", include_str!("../../../rules/sensitive-data/leak.yaml")),
    ("<built-in>/national-id.yaml", include_str!("../../../rules/sensitive-data/national-id.yaml")),
    ("<built-in>/network.yaml", include_str!("../../../rules/sensitive-data/network.yaml")),
    ("<built-in>/pii.yaml", include_str!("../../../rules/sensitive-data/pii.yaml")),
];
