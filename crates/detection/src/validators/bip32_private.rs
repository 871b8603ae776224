//! Extended private keys (BIP 32): Base58Check of 78 bytes of version 0488ADE4 or 04358394.

use super::Definition;
use crate::base58::decode_check;

pub(super) const DEFINITION: Definition = Definition {
    name: "bip32_private",
    summary: "Base58Check of an extended private key.",
    validate,
    valid: &[concat!(
        "xprv9s21",
        "ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi"
    )],
    invalid: &[
        concat!(
            "xprv9s21",
            "ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHj"
        ),
        "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8",
    ],
};

fn validate(value: &[u8]) -> bool {
    let versions: [&[u8]; 2] = [&[0x04, 0x88, 0xAD, 0xE4], &[0x04, 0x35, 0x83, 0x94]];
    decode_check(value)
        .is_some_and(|key| key.len() == 78 && versions.iter().any(|version| key.starts_with(version)))
}
