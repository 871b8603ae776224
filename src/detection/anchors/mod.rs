//! The one pass over a body that says where a rule may begin. Everything it names is looked at again.

pub mod classes;
pub mod literals;

use classes::{BLOCK_BYTES, Block, classify};
use literals::Literals;

/// Bytes of a body that are looked at in one go: their classes stay in the first cache.
pub const CHUNK_BYTES: usize = 128 * BLOCK_BYTES;
/// Shortest number that is looked at, separators counted.
pub const MIN_NUMBER_BYTES: usize = 7;
/// Shortest token that is looked at.
pub const MIN_TOKEN_BYTES: usize = 16;

/// Places in a body, by what stands there. Within one kind they ascend.
#[derive(Debug, Default)]
pub struct Candidates {
    /// Where seven and more capital letters and digits begin, single separators between them allowed.
    pub numbers: Vec<usize>,
    /// Where sixteen and more letters, digits, hyphens and underscores begin.
    pub tokens: Vec<usize>,
    pub at_signs: Vec<usize>,
    /// The first of five colons, or hyphens, each three bytes from the next.
    pub pairs: Vec<usize>,
    /// Where a gram of a long text stands.
    pub grams: Vec<usize>,
    /// Where the rarest three bytes of a short text stand.
    pub shorts: Vec<usize>,
    /// Where a character reference, an escape or a tag inside a number may begin.
    pub escapes: Vec<usize>,
}

/// What a pass keeps between chunks.
#[derive(Debug, Default)]
pub struct Pass {
    blocks: Vec<Block>,
    before: Block,
    pub found: Candidates,
}

impl Pass {
    /// Looks at the chunk of `body` from `start` on, a multiple of [`CHUNK_BYTES`]; chunks come in order.
    pub fn chunk(&mut self, body: &[u8], start: usize, literals: &Literals) {
        self.found.clear();
        literals.grams(body, start, start + CHUNK_BYTES, &mut self.found.grams);
        // One block more, for what goes on behind the chunk.
        let count = CHUNK_BYTES / BLOCK_BYTES;
        classify(body, start, count + 1, &literals.short_texts, &mut self.blocks);
        let mut blocks = self.blocks.iter().copied();
        let mut current = blocks.next().unwrap_or_default();
        for nth in 0..count.min(self.blocks.len()) {
            let next = blocks.next().unwrap_or_default();
            self.found.block(start + nth * BLOCK_BYTES, self.before, current, next);
            self.before = current;
            current = next;
        }
    }
}

impl Candidates {
    fn clear(&mut self) {
        for places in [
            &mut self.numbers,
            &mut self.tokens,
            &mut self.at_signs,
            &mut self.pairs,
            &mut self.grams,
            &mut self.shorts,
            &mut self.escapes,
        ] {
            places.clear();
        }
    }

    fn block(&mut self, start: usize, before: Block, block: Block, next: Block) {
        let last = |mask: u64| mask >> 63;
        let both = |of: fn(Block) -> u64| u128::from(of(block)) | u128::from(of(next)) << 64;

        let capital = both(|b| b.digit | b.upper);
        let capital_before = last(before.digit | before.upper);
        let lone = both(|b| b.separator) & (capital << 1 | u128::from(capital_before)) & capital >> 1;
        // A separator at the very end of the block before this one belongs to a number that began there.
        let lone_before = last(before.separator) & (before.digit | before.upper) >> 62 & capital as u64 & 1;
        let number = capital | lone;
        let begins = capital & !(number << 1 | u128::from(capital_before | lone_before));
        push(&mut self.numbers, start, (begins & runs(number, 7)) as u64);

        let token = both(|b| b.letter | b.digit | b.hyphen | b.underscore);
        let token_before = last(before.letter | before.digit | before.hyphen | before.underscore);
        let begins = token & !(token << 1 | u128::from(token_before));
        push(&mut self.tokens, start, (begins & runs(token, 16)) as u64);

        push(&mut self.at_signs, start, block.at);
        push(&mut self.shorts, start, block.short);
        let pairs = every_third(both(|b| b.colon)) | every_third(both(|b| b.hyphen));
        push(&mut self.pairs, start, pairs as u64);

        let after = both(|b| b.letter | b.digit | b.separator) >> 1;
        let tag = block.less & (block.digit << 1 | last(before.digit));
        // `&#`, `\"` and `\\` have none of these behind them.
        let lead = block.lead & (after as u64 | !(both(|b| b.lead) >> 1) as u64);
        push(&mut self.escapes, start, lead | tag);
    }
}

/// Where `length` set bits begin, `length` 7 or 16.
fn runs(mask: u128, length: u32) -> u128 {
    let two = mask & mask >> 1;
    let four = two & two >> 2;
    if length == 7 { four & four >> 3 } else { (four & four >> 4) & (four & four >> 4) >> 8 }
}

/// Where the first of five set bits stands, each three from the next.
fn every_third(mask: u128) -> u128 {
    let two = mask & mask >> 3;
    two & two >> 6 & mask >> 12
}

fn push(places: &mut Vec<usize>, start: usize, mut mask: u64) {
    while mask != 0 {
        places.push(start + mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(body: &[u8]) -> Vec<Candidates> {
        let (mut pass, literals) = (Pass::default(), Literals::default());
        let chunks = (0..body.len()).step_by(CHUNK_BYTES).map(|start| {
            pass.chunk(body, start, &literals);
            std::mem::take(&mut pass.found)
        });
        chunks.collect()
    }

    #[test]
    fn what_begins_where_does_not_depend_on_the_place() {
        let text = b"x 123-45-6789 AB12345 ab_cdefghijklmnop-q 00:11:22:33:44:55 a@b 12";
        let mut ran = 0;
        for shift in (0..130).chain(CHUNK_BYTES - 80..CHUNK_BYTES + 10) {
            let mut body = vec![b'\n'; shift];
            body.extend(text);
            let found = candidates(&body);
            let all = |of: fn(&Candidates) -> &Vec<usize>| -> Vec<usize> {
                found.iter().flat_map(of).map(|at| at - shift).collect()
            };
            assert_eq!(all(|c| &c.numbers), [2], "{shift}");
            assert_eq!(all(|c| &c.tokens), [22], "{shift}");
            assert_eq!(all(|c| &c.at_signs), [61], "{shift}");
            assert_eq!(all(|c| &c.pairs), [44], "{shift}");
            ran += 1;
        }
        assert_eq!(ran, 220);
    }
}
