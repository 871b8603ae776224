//! Long texts: each step of an automaton waits for the one before, so several parts of a text are walked at
//! once. A part is begun as if no match were under way; then the walk of the part before goes on into it until
//! both are in the same state, from where on they are one.

use regex_automata::Anchored;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::start;

/// Parts that are walked at once.
const LANES: usize = 4;

/// After so many bytes the states of two walks are compared.
const CHUNK_BYTES: usize = 64;

/// Most chunks of a part.
const MAX_CHUNKS: usize = 16;

/// Bytes walked that allow for one more new state.
const BYTES_PER_NEW_STATE: usize = 16;

/// Texts of this length are walked so.
pub(super) const LONG_BYTES: usize = 4 * LANES * CHUNK_BYTES;

/// The states of the lanes.
type States = [LazyStateID; LANES];

/// What ends a walk before the text does.
enum End {
    Matched,
    /// No match can follow.
    Dead,
    /// The automaton dropped the states it had, or would have to build too many.
    GaveUp,
}

/// Whether the pattern of an automaton matches somewhere in a text; `None` if the automaton dropped the
/// states it had, or would have to build too many: more than `new_states` and one for each few bytes, or as it judges
/// itself.
pub(super) fn is_match(automaton: &DFA, cache: &mut Cache, text: &[u8], new_states: usize) -> Option<bool> {
    cache.search_start(0);
    let cleared = cache.clear_count();
    let mut walk = Walk { automaton, cache, cleared, at: 0, built: 0, new_states };
    let found = walk.text(text);
    let at = walk.at;
    cache.search_finish(at);
    match found {
        Ok(found) => Some(found),
        Err(End::Matched) => Some(true),
        Err(End::Dead) => Some(false),
        Err(End::GaveUp) => None,
    }
}

struct Walk<'a> {
    automaton: &'a DFA,
    cache: &'a mut Cache,
    /// How often states were dropped before: those of this walk are good as long as this stays.
    cleared: usize,
    /// Bytes that are walked, by which the automaton judges how many states it may build.
    at: usize,
    built: usize,
    /// States that may be built besides those that the walked bytes allow for.
    new_states: usize,
}

impl Walk<'_> {
    fn text(&mut self, text: &[u8]) -> Result<bool, End> {
        let mut state = self.begin(None)?;
        let mut rest = text;
        // An anchored pattern matches only at the start of the text, so later parts cannot hold a match.
        let in_lanes = !self.automaton.get_nfa().is_always_start_anchored();
        while in_lanes && rest.len() >= LONG_BYTES {
            let (chunk, after) = rest.split_at(CHUNK_BYTES);
            if self.keeps(state, chunk) {
                self.at += chunk.len();
                rest = after;
                continue;
            }
            let part_bytes = (rest.len() / LANES).min(MAX_CHUNKS * CHUNK_BYTES) / CHUNK_BYTES * CHUNK_BYTES;
            let (block, after) = rest.split_at(part_bytes * LANES);
            state = self.block(state, block, part_bytes)?;
            rest = after;
        }
        for chunk in rest.chunks(CHUNK_BYTES) {
            state = self.chunk(state, chunk)?;
            self.at += chunk.len();
        }
        let last = self.automaton.next_eoi_state(self.cache, state).map_err(|_| End::GaveUp)?;
        Ok(last.is_match())
    }

    /// Walks a block of as many parts as there are lanes.
    fn block(&mut self, state: LazyStateID, block: &[u8], part_bytes: usize) -> Result<LazyStateID, End> {
        let mut parts: [&[u8]; LANES] = Default::default();
        let mut begun = [state; LANES];
        let mut before = None;
        for ((part, begun), bytes) in parts.iter_mut().zip(&mut begun).zip(block.chunks_exact(part_bytes)) {
            if before.is_some() {
                *begun = self.begin(before)?;
            }
            *part = bytes;
            before = bytes.last().copied();
        }
        let mut states = begun;
        let mut reached = [begun; MAX_CHUNKS];
        let [a, b, c, d] = parts.map(|part| part.chunks_exact(CHUNK_BYTES));
        for ((((a, b), c), d), reached) in a.zip(b).zip(c).zip(d).zip(&mut reached) {
            states = self.chunks(states, [a, b, c, d])?;
            *reached = states;
        }
        self.at += block.len();
        // The state that each part but the first was begun with was a guess.
        let [mut state, ..] = states;
        for (lane, part) in parts.iter().enumerate().skip(1) {
            let of = |states: &States| states.get(lane).copied();
            let mut is_known = Some(state) == of(&begun);
            let mut chunks = part.chunks_exact(CHUNK_BYTES).zip(&reached);
            while let Some((chunk, reached)) = chunks.next().filter(|_| !is_known) {
                state = self.chunk(state, chunk)?;
                is_known = Some(state) == of(reached);
            }
            state = of(&states).filter(|_| is_known).unwrap_or(state);
        }
        Ok(state)
    }

    /// A walk of each lane over a chunk.
    fn chunks(&mut self, mut states: States, mut chunks: [&[u8]; LANES]) -> Result<States, End> {
        loop {
            let (steps, after) = self.known_steps(states, chunks);
            states = after;
            chunks = chunks.map(|chunk| chunk.get(steps..).unwrap_or_default());
            for (state, chunk) in states.iter_mut().zip(&mut chunks) {
                let Some((byte, after)) = chunk.split_first() else { return Ok(states) };
                *state = self.step(*state, *byte)?;
                *chunk = after;
            }
        }
    }

    /// The steps up to one whose state is not built yet or is an end, and the states then.
    #[inline(never)]
    fn known_steps(&self, states: States, [a, b, c, d]: [&[u8]; LANES]) -> (usize, States) {
        let [mut p, mut q, mut r, mut s] = states;
        let mut steps = 0;
        for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
            let next = (self.next(p, *a), self.next(q, *b), self.next(r, *c), self.next(s, *d));
            if next.0.is_tagged() | next.1.is_tagged() | next.2.is_tagged() | next.3.is_tagged() {
                break;
            }
            (p, q, r, s) = next;
            steps += 1;
        }
        (steps, [p, q, r, s])
    }

    /// One walk over a chunk.
    fn chunk(&mut self, mut state: LazyStateID, chunk: &[u8]) -> Result<LazyStateID, End> {
        if !self.keeps(state, chunk) {
            for byte in chunk {
                state = self.step(state, *byte)?;
            }
        }
        Ok(state)
    }

    /// Whether a state is the same after every byte of a chunk: these steps do not wait for each other.
    fn keeps(&self, state: LazyStateID, chunk: &[u8]) -> bool {
        chunk.iter().fold(true, |all, byte| all & (self.next(state, *byte) == state))
    }

    #[inline]
    fn next(&self, state: LazyStateID, byte: u8) -> LazyStateID {
        self.automaton.next_state_untagged(self.cache, state, byte)
    }

    #[inline]
    fn step(&mut self, state: LazyStateID, byte: u8) -> Result<LazyStateID, End> {
        let next = self.next(state, byte);
        if next.is_tagged() { self.build(state, byte) } else { Ok(next) }
    }

    /// A step to a state that is not built yet, or to an end.
    #[cold]
    fn build(&mut self, state: LazyStateID, byte: u8) -> Result<LazyStateID, End> {
        self.built += 1;
        if self.built > self.new_states.saturating_add(self.at / BYTES_PER_NEW_STATE) {
            return Err(End::GaveUp);
        }
        self.cache.search_update(self.at);
        let next = self.automaton.next_state(self.cache, state, byte).map_err(|_| End::GaveUp)?;
        match next {
            _ if next.is_match() => Err(End::Matched),
            _ if next.is_dead() => Err(End::Dead),
            _ if next.is_tagged() || self.cache.clear_count() != self.cleared => Err(End::GaveUp),
            _ => Ok(next),
        }
    }

    /// The state of a search that begins after a byte; `None`: where the text does.
    fn begin(&mut self, before: Option<u8>) -> Result<LazyStateID, End> {
        let config = start::Config::new().anchored(Anchored::No).look_behind(before);
        let state = self.automaton.start_state(self.cache, &config).map_err(|_| End::GaveUp)?;
        let is_good = !state.is_tagged() && self.cache.clear_count() == self.cleared;
        if is_good { Ok(state) } else { Err(End::GaveUp) }
    }
}
