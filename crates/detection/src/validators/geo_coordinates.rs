//! Geographical coordinates (ISO 6709) in decimal degrees.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "geo_coordinates",
    summary: "A latitude up to 90 and a longitude up to 180 degrees, of four decimals and more.",
    validate,
    valid: &["30.099036, -85.033792", "-9.655769,-130.683870"],
    invalid: &["95.0990, 10.0337", "30.09903, 190.0337", "30.09, 10.03"],
};

fn validate(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    let mut degrees = text.split(',').map(|part| part.trim());
    let within = |part: Option<&str>, most: f64| {
        let decimals = part.and_then(|part| part.split_once('.')).map_or(0, |(_, decimals)| decimals.len());
        decimals >= 4
            && part.and_then(|part| part.parse::<f64>().ok()).is_some_and(|degrees| degrees.abs() <= most)
    };
    within(degrees.next(), 90.0) && within(degrees.next(), 180.0) && degrees.next().is_none()
}
