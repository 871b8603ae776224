//! Messages signed with a shared key (RFC 8945).

use aws_lc_rs::{constant_time, hmac};
use smallvec::SmallVec;

use crate::message_record::{HEADER_BYTES, split_name};
use crate::name::Name;

/// The type of the record that signs a message.
pub(crate) const TSIG: u16 = 250;
/// Seconds that clocks may differ (RFC 8945 section 10).
const FUDGE_SECONDS: u16 = 300;
/// Shortest key that is taken, in bytes.
const MIN_SECRET_BYTES: usize = 16;

/// An algorithm (RFC 8945 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsigAlgorithm {
    HmacSha1,
    HmacSha224,
    HmacSha256,
    HmacSha384,
    HmacSha512,
}

impl TsigAlgorithm {
    pub const ALL: [Self; 5] =
        [Self::HmacSha1, Self::HmacSha224, Self::HmacSha256, Self::HmacSha384, Self::HmacSha512];

    /// Its name, without the final dot.
    pub fn word(self) -> &'static str {
        match self {
            Self::HmacSha1 => "hmac-sha1",
            Self::HmacSha224 => "hmac-sha224",
            Self::HmacSha256 => "hmac-sha256",
            Self::HmacSha384 => "hmac-sha384",
            Self::HmacSha512 => "hmac-sha512",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        Self::ALL.into_iter().find(|algorithm| algorithm.word().eq_ignore_ascii_case(text))
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::HmacSha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::HmacSha224 => hmac::HMAC_SHA224,
            Self::HmacSha256 => hmac::HMAC_SHA256,
            Self::HmacSha384 => hmac::HMAC_SHA384,
            Self::HmacSha512 => hmac::HMAC_SHA512,
        }
    }

    fn wire(self) -> SmallVec<[u8; 16]> {
        let mut wire = SmallVec::new();
        // INVARIANT: the words are shorter than a label may be.
        wire.push(u8::try_from(self.word().len()).unwrap_or(0));
        wire.extend_from_slice(self.word().as_bytes());
        wire.push(0);
        wire
    }
}

/// A key that two servers share.
pub struct TsigKey {
    name: Name,
    algorithm: TsigAlgorithm,
    key: hmac::Key,
}

impl TsigKey {
    /// # Errors
    /// One sentence if the secret is too short.
    pub fn new(name: Name, algorithm: TsigAlgorithm, secret: &[u8]) -> Result<Self, String> {
        if secret.len() < MIN_SECRET_BYTES {
            return Err(format!(
                "a secret of {} bytes is too short: expected {MIN_SECRET_BYTES}",
                secret.len()
            ));
        }
        Ok(Self { name, algorithm, key: hmac::Key::new(algorithm.hmac(), secret) })
    }

    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Bytes of the record that a signed message ends with.
    pub(crate) fn record_bytes(&self) -> usize {
        let mac_bytes = self.key.algorithm().digest_algorithm().output_len;
        let other_bytes = 6;
        self.name.wire().len() + 10 + self.algorithm.wire().len() + 16 + mac_bytes + other_bytes
    }
}

impl std::fmt::Debug for TsigKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TsigKey({}, {})", self.name, self.algorithm.word())
    }
}

impl PartialEq for TsigKey {
    /// Whether both make the same signatures.
    fn eq(&self, other: &Self) -> bool {
        let probe = |key: &Self| hmac::sign(&key.key, b"");
        self.name == other.name
            && self.algorithm == other.algorithm
            && constant_time::verify_slices_are_equal(probe(self).as_ref(), probe(other).as_ref()).is_ok()
    }
}

/// Why a signature is not taken (RFC 8945 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsigError {
    BadSignature = 16,
    BadKey = 17,
    BadTime = 18,
}

/// The record that signs a message.
#[derive(Clone, Copy, Debug)]
pub struct TsigRecord<'p> {
    /// The name of the key, as it was sent.
    name: &'p [u8],
    algorithm: &'p [u8],
    /// Seconds since the epoch.
    signed_at: u64,
    fudge: u16,
    pub(crate) mac: &'p [u8],
    original_id: [u8; 2],
    error: u16,
    other: &'p [u8],
    /// The message before the record.
    signed: &'p [u8],
}

impl<'p> TsigRecord<'p> {
    /// Reads the record at the end of a message: its name, and its data from the algorithm on.
    pub(crate) fn read(signed: &'p [u8], name: &'p [u8], rdata: &'p [u8]) -> Option<Self> {
        let (algorithm, rest) = split_name(rdata)?;
        let ([t0, t1, t2, t3, t4, t5, f0, f1, m0, m1], rest) = rest.split_first_chunk::<10>()?;
        let (mac, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([*m0, *m1])))?;
        let ([i0, i1, e0, e1, o0, o1], other) = rest.split_first_chunk::<6>()?;
        (other.len() == usize::from(u16::from_be_bytes([*o0, *o1]))).then_some(Self {
            name,
            algorithm,
            signed_at: u64::from_be_bytes([0, 0, *t0, *t1, *t2, *t3, *t4, *t5]),
            fudge: u16::from_be_bytes([*f0, *f1]),
            mac,
            original_id: [*i0, *i1],
            error: u16::from_be_bytes([*e0, *e1]),
            other,
            signed,
        })
    }

    /// Whether it names a key.
    pub(crate) fn names(&self, key: &TsigKey) -> bool {
        self.name.eq_ignore_ascii_case(key.name.wire())
            && self.algorithm.eq_ignore_ascii_case(&key.algorithm.wire())
    }

    /// Checks the signature of a message that follows no other.
    ///
    /// # Errors
    /// [`TsigError`]: the signature is another, or too old.
    pub(crate) fn verify(&self, key: &TsigKey, now: u64) -> Result<(), TsigError> {
        let mut context = hmac::Context::with_key(&key.key);
        self.update(&mut context);
        context.update(&variables(key, self.signed_at, self.fudge, self.error, self.other));
        self.conclude(context, now)
    }

    fn update(&self, context: &mut hmac::Context) {
        let Some((header, rest)) = self.signed.split_first_chunk::<HEADER_BYTES>() else { return };
        let [_, _, middle @ .., a0, a1] = *header;
        context.update(&self.original_id);
        context.update(&middle);
        // Without the record itself.
        context.update(&u16::from_be_bytes([a0, a1]).wrapping_sub(1).to_be_bytes());
        context.update(rest);
    }

    fn conclude(&self, context: hmac::Context, now: u64) -> Result<(), TsigError> {
        let expected = context.sign();
        constant_time::verify_slices_are_equal(expected.as_ref(), self.mac)
            .map_err(|_| TsigError::BadSignature)?;
        // After the signature, so that nobody else learns about the clock.
        match now.abs_diff(self.signed_at) <= u64::from(self.fudge) {
            true => Ok(()),
            false => Err(TsigError::BadTime),
        }
    }
}

/// What is signed beside the message (RFC 8945 section 4.3.3).
fn variables(key: &TsigKey, at: u64, fudge: u16, error: u16, other: &[u8]) -> SmallVec<[u8; 320]> {
    let mut variables = SmallVec::new();
    variables.extend_from_slice(key.name.wire());
    variables.extend_from_slice(&[0, 255, 0, 0, 0, 0]);
    variables.extend_from_slice(&key.algorithm.wire());
    variables.extend_from_slice(at.to_be_bytes().get(2..).unwrap_or(&[]));
    variables.extend_from_slice(&fudge.to_be_bytes());
    variables.extend_from_slice(&error.to_be_bytes());
    // INVARIANT: it has at most six bytes.
    variables.extend_from_slice(&u16::try_from(other.len()).unwrap_or(0).to_be_bytes());
    variables.extend_from_slice(other);
    variables
}

/// Signs the messages of an answer, one after the other.
#[derive(Debug)]
pub struct TsigSigner<'k> {
    key: &'k TsigKey,
    /// The signature before: of the request, then of each message.
    prior: SmallVec<[u8; 64]>,
    is_first: bool,
}

impl<'k> TsigSigner<'k> {
    /// Signs an answer to a request with this signature, or a request if there is none.
    pub fn new(key: &'k TsigKey, request_mac: &[u8]) -> Self {
        Self { key, prior: SmallVec::from_slice(request_mac), is_first: true }
    }

    /// The last signature that was made, or answered.
    pub(crate) fn mac(&self) -> &[u8] {
        &self.prior
    }

    /// Bytes that signing adds to a message.
    pub(crate) fn record_bytes(&self) -> usize {
        self.key.record_bytes()
    }

    /// Signs the message that is the first `bytes` of a buffer. Returns its new length, or `None` if it does not fit.
    pub fn sign(
        &mut self,
        buffer: &mut [u8],
        bytes: usize,
        now: u64,
        error: Option<TsigError>,
    ) -> Option<usize> {
        let mut time = [0; 6];
        time.copy_from_slice(now.to_be_bytes().get(2..)?);
        let other: &[u8] = if error == Some(TsigError::BadTime) { &time } else { &[] };
        let error = error.map_or(0, |error| error as u16);
        let mut context = hmac::Context::with_key(&self.key.key);
        if !self.prior.is_empty() {
            context.update(&u16::try_from(self.prior.len()).ok()?.to_be_bytes());
            context.update(&self.prior);
        }
        let message = buffer.get(..bytes)?;
        context.update(message);
        if self.is_first {
            context.update(&variables(self.key, now, FUDGE_SECONDS, error, other));
        } else {
            context.update(&time);
            context.update(&FUDGE_SECONDS.to_be_bytes());
        }
        let mac = context.sign();
        let id = *message.first_chunk::<2>()?;
        let record = record(self.key, &time, mac.as_ref(), id, error, other);
        self.prior = SmallVec::from_slice(mac.as_ref());
        self.is_first = false;
        append(buffer, bytes, &record)
    }
}

/// Most messages that may follow one another without a signature (RFC 8945 section 5.3.1).
const MAX_UNSIGNED: usize = 99;

/// Checks the signatures of the messages that answer a request. Some messages may have none.
#[derive(Debug)]
pub(crate) struct TsigVerifier<'k> {
    key: &'k TsigKey,
    /// The signature before: of the request, then of each message.
    prior: SmallVec<[u8; 64]>,
    is_first: bool,
    /// Messages since then.
    unsigned: Vec<u8>,
    count: usize,
}

impl<'k> TsigVerifier<'k> {
    pub(crate) fn new(key: &'k TsigKey, request_mac: &[u8]) -> Self {
        let prior = SmallVec::from_slice(request_mac);
        Self { key, prior, is_first: true, unsigned: Vec::new(), count: 0 }
    }

    /// Whether messages came that no signature holds yet.
    pub(crate) fn is_open(&self) -> bool {
        self.is_first || !self.unsigned.is_empty()
    }

    /// Checks a message. `signature` is the part of the message from its TSIG record on, if it has one.
    ///
    /// # Errors
    /// One sentence if it is not signed by the key as it must be.
    pub(crate) fn verify(
        &mut self,
        message: &[u8],
        signature: Option<&[u8]>,
        now: u64,
    ) -> Result<(), String> {
        let Some(wire) = signature else {
            self.count += 1;
            if self.is_first || self.count > MAX_UNSIGNED {
                return Err("the message is not signed".to_owned());
            }
            self.unsigned.extend_from_slice(message);
            return Ok(());
        };
        let record = Self::read(message, wire).ok_or("the signature of the message is malformed")?;
        if record.error != 0 {
            return Err(format!("the peer does not take our signature, for the reason {}", record.error));
        }
        if !record.names(self.key) {
            return Err(format!("the message is signed by another key than `{}`", self.key.name));
        }
        let mut context = hmac::Context::with_key(&self.key.key);
        context.update(&u16::try_from(self.prior.len()).unwrap_or(0).to_be_bytes());
        context.update(&self.prior);
        context.update(&self.unsigned);
        record.update(&mut context);
        if self.is_first {
            context.update(&variables(self.key, record.signed_at, record.fudge, record.error, record.other));
        } else {
            context.update(record.signed_at.to_be_bytes().get(2..).unwrap_or(&[]));
            context.update(&record.fudge.to_be_bytes());
        }
        record
            .conclude(context, now)
            .map_err(|error| format!("the signature of the message is not valid: {error:?}"))?;
        self.prior = SmallVec::from_slice(record.mac);
        (self.is_first, self.count) = (false, 0);
        self.unsigned.clear();
        Ok(())
    }

    fn read<'p>(message: &'p [u8], wire: &'p [u8]) -> Option<TsigRecord<'p>> {
        let (name, rest) = split_name(wire)?;
        let (fixed, rest) = rest.split_first_chunk::<10>()?;
        let length = usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
        let signed = message.get(..message.len() - wire.len())?;
        // Of every class, not kept, and the last (RFC 8945 section 4.2).
        let is_sound = fixed[2..8] == [0, 255, 0, 0, 0, 0] && length == rest.len();
        is_sound.then(|| TsigRecord::read(signed, name, rest)).flatten()
    }
}

/// Ends the message that is the first `bytes` of a buffer with a record that says why its request's signature was not
/// taken. It is not signed itself. Returns the new length, or `None` if it does not fit.
pub(crate) fn refuse(
    request: &TsigRecord<'_>,
    buffer: &mut [u8],
    bytes: usize,
    error: TsigError,
    now: u64,
) -> Option<usize> {
    let mut time = [0; 6];
    time.copy_from_slice(now.to_be_bytes().get(2..)?);
    let id = *buffer.first_chunk::<2>()?;
    let rdata = record_data(request.algorithm, &time, &[], id, error as u16, &[]);
    append(buffer, bytes, &record_of(request.name, &rdata))
}

fn record(
    key: &TsigKey,
    time: &[u8; 6],
    mac: &[u8],
    id: [u8; 2],
    error: u16,
    other: &[u8],
) -> SmallVec<[u8; 384]> {
    record_of(key.name.wire(), &record_data(&key.algorithm.wire(), time, mac, id, error, other))
}

fn record_data(
    algorithm: &[u8],
    time: &[u8; 6],
    mac: &[u8],
    id: [u8; 2],
    error: u16,
    other: &[u8],
) -> SmallVec<[u8; 128]> {
    let mut data = SmallVec::new();
    data.extend_from_slice(algorithm);
    data.extend_from_slice(time);
    data.extend_from_slice(&FUDGE_SECONDS.to_be_bytes());
    // INVARIANT: signatures have at most 64 bytes, other data at most six.
    data.extend_from_slice(&u16::try_from(mac.len()).unwrap_or(0).to_be_bytes());
    data.extend_from_slice(mac);
    data.extend_from_slice(&id);
    data.extend_from_slice(&error.to_be_bytes());
    data.extend_from_slice(&u16::try_from(other.len()).unwrap_or(0).to_be_bytes());
    data.extend_from_slice(other);
    data
}

fn record_of(name: &[u8], rdata: &[u8]) -> SmallVec<[u8; 384]> {
    let mut record = SmallVec::new();
    record.extend_from_slice(name);
    record.extend_from_slice(&TSIG.to_be_bytes());
    record.extend_from_slice(&[0, 255, 0, 0, 0, 0]);
    // INVARIANT: a name, a signature and what is fixed are shorter than that.
    record.extend_from_slice(&u16::try_from(rdata.len()).unwrap_or(0).to_be_bytes());
    record.extend_from_slice(rdata);
    record
}

/// Adds a record to a message, and counts it in its header.
fn append(buffer: &mut [u8], bytes: usize, record: &[u8]) -> Option<usize> {
    let end = bytes + record.len();
    buffer.get_mut(bytes..end)?.copy_from_slice(record);
    let count = buffer.get_mut(10..HEADER_BYTES)?;
    let records = u16::from_be_bytes([*count.first()?, *count.get(1)?]).checked_add(1)?;
    count.copy_from_slice(&records.to_be_bytes());
    Some(end)
}
