//! MaxMind DB files (format version 2) of one network, written for tests.

/// A value of the data section.
pub enum Data<'d> {
    Map(&'d [(&'d str, Self)]),
    List(&'d [Self]),
    Text(&'d str),
    Double(f64),
    Number(u16),
    Count(u32),
    Epoch(u64),
}

/// A database of IPv4 that knows one network, by its first bytes.
pub fn mmdb(network: &[u8], record: &Data<'_>) -> Vec<u8> {
    mmdb_of("Test-City", network, record)
}

/// The same of a type.
pub fn mmdb_of(kind: &str, network: &[u8], record: &Data<'_>) -> Vec<u8> {
    let bits = network.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let count = 8 * network.len() as u32;
    let mut file = Vec::new();
    for (node, bit) in bits.enumerate() {
        let next = node as u32 + 1;
        // Past the nodes come 16 bytes that stand between them and the data.
        let found = if next == count { count + 16 } else { next };
        let (zero, one) = if bit == 0 { (found, count) } else { (count, found) };
        for child in [zero, one] {
            file.extend_from_slice(&child.to_be_bytes()[1..]);
        }
    }
    file.extend_from_slice(&[0; 16]);
    write(record, &mut file);
    file.extend_from_slice(b"\xab\xcd\xefMaxMind.com");
    let names = [
        ("binary_format_major_version", Data::Number(2)),
        ("binary_format_minor_version", Data::Number(0)),
        ("build_epoch", Data::Epoch(1_750_000_000)),
        ("database_type", Data::Text(kind)),
        ("description", Data::Map(&[])),
        ("ip_version", Data::Number(4)),
        ("languages", Data::List(&[])),
        ("node_count", Data::Count(count)),
        ("record_size", Data::Number(24)),
    ];
    write(&Data::Map(&names), &mut file);
    file
}

fn write(data: &Data<'_>, out: &mut Vec<u8>) {
    let control = |kind: u8, size: usize| kind << 5 | u8::try_from(size).unwrap();
    match data {
        Data::Map(entries) => {
            out.push(control(7, entries.len()));
            for (name, value) in *entries {
                write(&Data::Text(name), out);
                write(value, out);
            }
        }
        Data::List(values) => {
            out.extend([control(0, values.len()), 11 - 7]);
            values.iter().for_each(|value| write(value, out));
        }
        Data::Text(text) => {
            out.push(control(2, text.len()));
            out.extend_from_slice(text.as_bytes());
        }
        Data::Double(number) => {
            out.push(control(3, 8));
            out.extend(number.to_be_bytes());
        }
        Data::Count(number) => {
            out.push(control(6, 4));
            out.extend(number.to_be_bytes());
        }
        Data::Epoch(seconds) => {
            out.extend([control(0, 8), 9 - 7]);
            out.extend(seconds.to_be_bytes());
        }
        Data::Number(number) => {
            out.push(control(5, 2));
            out.extend(number.to_be_bytes());
        }
    }
}
