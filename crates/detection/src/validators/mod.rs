//! Validators, one file each: is a value of the right shape the real thing?

mod aba_routing;
mod ad_nrt;
mod ae_emirates_id;
mod ar_cbu;
mod ar_cuit;
mod at_svnr;
mod at_tin;
mod au_abn;
mod au_medicare;
mod au_tfn;
mod aws_access_key;
mod baltic_code;
mod basic_credentials;
mod be_nn;
mod bg_egn;
mod bip32_private;
mod bitcoin_address;
mod bitcoin_wif;
mod br_cnpj;
mod br_cpf;
mod ca_bc_phn;
mod ca_sin;
mod card;
mod card_track;
mod ch_ahv;
mod cl_rut;
mod cn_ric;
mod co_nit;
mod connection_password;
mod cz_rc;
mod de_idnr;
mod de_personalausweis;
mod de_svnr;
mod dk_cpr;
mod do_cedula;
mod document_number;
mod ec_ci;
mod email;
mod es_cif;
mod es_dni;
mod es_nuss;
mod ethereum_address;
mod fi_hetu;
mod fr_nir;
mod fr_spi;
mod geo_coordinates;
mod github_token;
mod gr_afm;
mod gr_amka;
mod hk_hkid;
mod hr_oib;
mod hu_taj;
mod hu_tax;
mod iban;
mod id_nik;
mod ie_pps;
mod il_id;
mod imei;
mod in_aadhaar;
mod in_gstin;
mod in_pan;
mod in_voter;
mod is_kennitala;
mod it_codicefiscale;
mod jp_mynumber;
mod jwt;
mod kr_rrn;
mod kubernetes_token;
mod lu_nin;
mod lv_pk;
mod mac_address;
mod mx_clabe;
mod mx_curp;
mod mx_rfc;
mod my_nric;
mod nl_bsn;
mod no_fnr;
mod nz_ird;
mod nz_nhi;
mod passport_mrz;
mod password;
mod pe_cui;
mod pe_ruc;
mod phone;
mod pk_cnic;
mod pl_nip;
mod pl_pesel;
mod private_ip;
mod private_key;
mod pt_cc;
mod pt_nif;
mod ro_cnp;
mod ru_inn;
mod ru_snils;
mod sa_national_id;
mod se_personnummer;
mod sg_nric;
mod si_emso;
mod swift_bic;
mod th_pin;
mod tr_tckn;
mod tw_id;
mod ua_rntrc;
mod uk_nhs;
mod uk_nino;
mod uk_utr;
mod url_password;
mod us_dea;
mod us_ein;
mod us_itin;
mod us_mbi;
mod us_npi;
mod us_ssn;
mod uy_ci;
mod ve_rif;
mod vin;
mod za_id;

use body::base64::decode_all;

/// One validator.
pub struct Definition {
    pub name: &'static str,
    pub summary: &'static str,
    pub validate: fn(&[u8]) -> bool,
    /// Published test numbers and values made for the test.
    pub valid: &'static [&'static str],
    pub invalid: &'static [&'static str],
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every validator, sorted by name.
pub const ALL: &[&Definition] = &[
    &aba_routing::DEFINITION,
    &ad_nrt::DEFINITION,
    &ae_emirates_id::DEFINITION,
    &ar_cbu::DEFINITION,
    &ar_cuit::DEFINITION,
    &at_svnr::DEFINITION,
    &at_tin::DEFINITION,
    &au_abn::DEFINITION,
    &au_medicare::DEFINITION,
    &au_tfn::DEFINITION,
    &aws_access_key::DEFINITION,
    &baltic_code::DEFINITION,
    &basic_credentials::DEFINITION,
    &be_nn::DEFINITION,
    &bg_egn::DEFINITION,
    &bip32_private::DEFINITION,
    &bitcoin_address::DEFINITION,
    &bitcoin_wif::DEFINITION,
    &br_cnpj::DEFINITION,
    &br_cpf::DEFINITION,
    &ca_bc_phn::DEFINITION,
    &ca_sin::DEFINITION,
    &card::DEFINITION,
    &card_track::DEFINITION,
    &ch_ahv::DEFINITION,
    &cl_rut::DEFINITION,
    &cn_ric::DEFINITION,
    &co_nit::DEFINITION,
    &connection_password::DEFINITION,
    &cz_rc::DEFINITION,
    &de_idnr::DEFINITION,
    &de_personalausweis::DEFINITION,
    &de_svnr::DEFINITION,
    &dk_cpr::DEFINITION,
    &do_cedula::DEFINITION,
    &document_number::DEFINITION,
    &ec_ci::DEFINITION,
    &email::DEFINITION,
    &es_cif::DEFINITION,
    &es_dni::DEFINITION,
    &es_nuss::DEFINITION,
    &ethereum_address::DEFINITION,
    &fi_hetu::DEFINITION,
    &fr_nir::DEFINITION,
    &fr_spi::DEFINITION,
    &geo_coordinates::DEFINITION,
    &github_token::DEFINITION,
    &gr_afm::DEFINITION,
    &gr_amka::DEFINITION,
    &hk_hkid::DEFINITION,
    &hr_oib::DEFINITION,
    &hu_taj::DEFINITION,
    &hu_tax::DEFINITION,
    &iban::DEFINITION,
    &id_nik::DEFINITION,
    &ie_pps::DEFINITION,
    &il_id::DEFINITION,
    &imei::DEFINITION,
    &in_aadhaar::DEFINITION,
    &in_gstin::DEFINITION,
    &in_pan::DEFINITION,
    &in_voter::DEFINITION,
    &is_kennitala::DEFINITION,
    &it_codicefiscale::DEFINITION,
    &jp_mynumber::DEFINITION,
    &jwt::DEFINITION,
    &kr_rrn::DEFINITION,
    &kubernetes_token::DEFINITION,
    &lu_nin::DEFINITION,
    &lv_pk::DEFINITION,
    &mac_address::DEFINITION,
    &mx_clabe::DEFINITION,
    &mx_curp::DEFINITION,
    &mx_rfc::DEFINITION,
    &my_nric::DEFINITION,
    &nl_bsn::DEFINITION,
    &no_fnr::DEFINITION,
    &nz_ird::DEFINITION,
    &nz_nhi::DEFINITION,
    &passport_mrz::DEFINITION,
    &password::DEFINITION,
    &pe_cui::DEFINITION,
    &pe_ruc::DEFINITION,
    &phone::DEFINITION,
    &pk_cnic::DEFINITION,
    &pl_nip::DEFINITION,
    &pl_pesel::DEFINITION,
    &private_ip::DEFINITION,
    &private_key::DEFINITION,
    &pt_cc::DEFINITION,
    &pt_nif::DEFINITION,
    &ro_cnp::DEFINITION,
    &ru_inn::DEFINITION,
    &ru_snils::DEFINITION,
    &sa_national_id::DEFINITION,
    &se_personnummer::DEFINITION,
    &sg_nric::DEFINITION,
    &si_emso::DEFINITION,
    &swift_bic::DEFINITION,
    &th_pin::DEFINITION,
    &tr_tckn::DEFINITION,
    &tw_id::DEFINITION,
    &ua_rntrc::DEFINITION,
    &uk_nhs::DEFINITION,
    &uk_nino::DEFINITION,
    &uk_utr::DEFINITION,
    &url_password::DEFINITION,
    &us_dea::DEFINITION,
    &us_ein::DEFINITION,
    &us_itin::DEFINITION,
    &us_mbi::DEFINITION,
    &us_npi::DEFINITION,
    &us_ssn::DEFINITION,
    &uy_ci::DEFINITION,
    &ve_rif::DEFINITION,
    &vin::DEFINITION,
    &za_id::DEFINITION,
];

pub fn find(name: &str) -> Option<&'static Definition> {
    ALL.iter().copied().find(|definition| definition.name == name)
}

/// Base64 of either alphabet (RFC 4648 sections 4 and 5), without padding; `None` for other characters.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    decode_all(text.iter().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_unique_and_complete() {
        let names: Vec<&str> = ALL.iter().map(|d| d.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/validators");
        assert_eq!(std::fs::read_dir(folder).unwrap().count() - 1, ALL.len());
    }

    #[test]
    fn test_numbers_hold() {
        let mut ran = 0;
        let mut wrong = Vec::new();
        for definition in ALL {
            assert!(!definition.valid.is_empty() && !definition.invalid.is_empty());
            for (values, expected) in [(definition.valid, true), (definition.invalid, false)] {
                for value in values {
                    if (definition.validate)(value.as_bytes()) != expected {
                        wrong.push(format!("{definition:?} {value} is not {expected}"));
                    }
                    ran += 1;
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(ran >= 4 * ALL.len(), "{ran}");
    }

    #[test]
    fn no_validator_falls_over_bytes() {
        for definition in ALL {
            for length in 0..140 {
                for byte in [0, b'0', b'9', b'A', b'z', b'=', b'.', 0xFF] {
                    (definition.validate)(&vec![byte; length]);
                }
            }
        }
    }
}
