//! The Huffman code of field values (RFC 7541 appendix B), read only: what is written here is plain.

/// The length of each byte's code in bits, and of the end mark's. The code is canonical: codes of a length follow each
/// other in the order of their bytes, so the lengths say all.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const END: usize = 256;
const MAX_BITS: usize = 30;
/// Bits that are looked up at once; codes of text are no longer.
const QUICK_BITS: u32 = 8;

/// The codes, in the order of their length.
struct Codes {
    /// Bytes, those with short codes first.
    sorted: [u16; 257],
    /// Of each length: the first code, as if it were the longest, and how many codes are shorter.
    first: [(u32, u16); MAX_BITS + 2],
    /// The byte and the length of the code that each eight bits begin with; length 0 if it is longer.
    quick: [(u8, u8); 1 << QUICK_BITS],
}

static CODES: Codes = codes();

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated when it is compiled"
)]
const fn codes() -> Codes {
    let mut codes =
        Codes { sorted: [0; 257], first: [(0, 0); MAX_BITS + 2], quick: [(0, 0); 1 << QUICK_BITS] };
    let (mut next, mut place, mut bits) = (0_u32, 0_usize, 1);
    while bits <= MAX_BITS {
        codes.first[bits] = (next, place as u16);
        let step = 1 << (MAX_BITS - bits);
        let mut symbol = 0;
        while symbol <= END {
            if LENGTHS[symbol] as usize == bits {
                codes.sorted[place] = symbol as u16;
                place += 1;
                if bits <= QUICK_BITS as usize {
                    let mut at = (next >> (MAX_BITS as u32 - QUICK_BITS)) as usize;
                    let end = at + (1 << (QUICK_BITS as usize - bits));
                    while at < end {
                        codes.quick[at] = (symbol as u8, bits as u8);
                        at += 1;
                    }
                }
                next += step;
            }
            symbol += 1;
        }
        bits += 1;
    }
    codes.first[MAX_BITS + 1] = (next, place as u16);
    codes
}

/// Appends what is coded, at most eight bytes for five; `None` if it is not sound.
pub(super) fn decode(coded: &[u8], to: &mut Vec<u8>) -> Option<()> {
    let (mut held, mut held_bits) = (0_u64, 0_u32);
    let mut coded = coded.iter();
    loop {
        while held_bits <= 56
            && let Some(byte) = coded.next()
        {
            held = held << 8 | u64::from(*byte);
            held_bits += 8;
        }
        // The next thirty bits, with ones behind the end.
        let window = match held_bits.checked_sub(MAX_BITS as u32) {
            Some(more) => held >> more,
            None => {
                let missing = MAX_BITS as u32 - held_bits;
                held << missing | ((1 << missing) - 1)
            }
        };
        let window = u32::try_from(window & ((1 << MAX_BITS) - 1)).ok()?;
        // What is left may be padding: less than a byte of ones.
        if held_bits < 8 && window == (1 << MAX_BITS) - 1 {
            return Some(());
        }
        let (symbol, bits) = next_symbol(window)?;
        held_bits = held_bits.checked_sub(bits)?;
        held &= (1_u64 << held_bits) - 1;
        to.push(u8::try_from(symbol).ok()?);
    }
}

/// The symbol whose code the bits begin with, and the code's length.
fn next_symbol(window: u32) -> Option<(u16, u32)> {
    let quick = usize::try_from(window >> (MAX_BITS as u32 - QUICK_BITS)).ok()?;
    if let Some((byte, bits @ 1..)) = CODES.quick.get(quick) {
        return Some((u16::from(*byte), u32::from(*bits)));
    }
    (QUICK_BITS..=MAX_BITS as u32).find_map(|bits| {
        let (first, before) = *CODES.first.get(bits as usize)?;
        let (next, _) = *CODES.first.get(bits as usize + 1)?;
        let nth = (window.checked_sub(first)? >> (MAX_BITS as u32 - bits)) as usize;
        (window < next).then(|| CODES.sorted.get(usize::from(before) + nth).map(|symbol| (*symbol, bits)))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(coded: &[u8]) -> Option<Vec<u8>> {
        let mut to = Vec::new();
        decode(coded, &mut to).map(|()| to)
    }

    /// The code of each byte, as text of ones and noughts, made in another way.
    fn code_table() -> Vec<(u32, u8)> {
        let mut order: Vec<usize> = (0..LENGTHS.len()).collect();
        order.sort_by_key(|symbol| (LENGTHS[*symbol], *symbol));
        let mut table = vec![(0, 0); LENGTHS.len()];
        let (mut code, mut before) = (0_u32, 0);
        for symbol in order {
            code <<= LENGTHS[symbol] - before;
            before = LENGTHS[symbol];
            table[symbol] = (code, before);
            code += 1;
        }
        table
    }

    fn coded(text: &[u8]) -> Vec<u8> {
        let table = code_table();
        let mut bits = String::new();
        for byte in text {
            let (code, length) = table[usize::from(*byte)];
            bits.push_str(&format!("{code:0width$b}", width = usize::from(length)));
        }
        while !bits.len().is_multiple_of(8) {
            bits.push('1');
        }
        bits.as_bytes()
            .chunks(8)
            .map(|c| u8::from_str_radix(str::from_utf8(c).unwrap(), 2).unwrap())
            .collect()
    }

    /// RFC 7541 appendix C.4 and C.6.
    #[test]
    fn the_examples_of_the_rfc() {
        for (hex, text) in [
            ("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"),
            ("a8eb10649cbf", "no-cache"),
            ("25a849e95ba97d7f", "custom-key"),
            ("25a849e95bb8e8b4bf", "custom-value"),
            ("d07abe941054d444a8200595040b8166e082a62d1bff", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ("9d29ad171863c78f0b97c8e9ae82ae43d3", "https://www.example.com"),
        ] {
            let bytes: Vec<u8> = hex
                .as_bytes()
                .chunks(2)
                .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect();
            assert_eq!(decoded(&bytes).unwrap(), text.as_bytes());
            assert_eq!(coded(text.as_bytes()), bytes);
        }
    }

    #[test]
    fn every_byte_comes_back_in_every_place() {
        for byte in 0..=255 {
            for before in 0..9 {
                let text = [vec![b'e'; before], vec![byte], b"~~".to_vec()].concat();
                assert_eq!(decoded(&coded(&text)).as_deref(), Some(&text[..]), "{byte} after {before}");
            }
        }
        assert_eq!(decoded(&[]).unwrap(), b"");
    }

    #[test]
    fn what_is_not_sound_is_refused() {
        let mut whole_padding = coded(b"302");
        whole_padding.push(0xff);
        for (name, bytes) in [
            ("a byte of padding", whole_padding),
            ("padding of noughts", vec![0b0000_0000]),
            ("the end mark", vec![0xff, 0xff, 0xff, 0xff]),
            ("half a code", vec![0xff, 0xc0]),
        ] {
            assert_eq!(decoded(&bytes), None, "{name}");
        }
    }
}
