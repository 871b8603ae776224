//! Business identifier codes (ISO 9362): four letters, a country, two characters, a branch of three.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "swift_bic",
    summary: "Eight or eleven characters whose country exists (ISO 3166-1).",
    validate,
    valid: &["DEUTDEFF", "NDEASESSXXX", "INGBNL2A"],
    invalid: &["CHECKOUT", "DEUTXXFF", "DEUTDEF"],
};

const COUNTRIES: &str = "AD AE AF AG AI AL AM AO AR AT AU AW AZ BA BB BD BE BF BG BH BI BJ BM BN BO BR BS BT BW BY BZ CA CD \
    CF CG CH CI CL CM CN CO CR CU CV CY CZ DE DJ DK DM DO DZ EC EE EG ER ES ET FI FJ FM FR GA GB GD GE GG GH GI GL GM GN GQ \
    GR GT GW GY HK HN HR HT HU ID IE IL IM IN IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS \
    LT LU LV LY MA MC MD ME MG MH MK ML MM MN MO MR MT MU MV MW MX MY MZ NA NC NE NG NI NL NO NP NR NZ OM PA PE PF PG PH PK \
    PL PM PR PS PT PW PY QA RO RS RU RW SA SB SC SD SE SG SH SI SK SL SM SN SO SR SS ST SV SY SZ TC TD TG TH TJ TL TM TN TO \
    TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE ZA ZM ZW";

fn validate(value: &[u8]) -> bool {
    let country = value.get(4..6).unwrap_or(&[]);
    let known = COUNTRIES.split(' ').any(|known| known.as_bytes() == country);
    matches!(value.len(), 8 | 11) && value.iter().take(6).all(u8::is_ascii_uppercase) && known
}
