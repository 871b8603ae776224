//! Numbers by their shape: how many characters stand in each group, and what stands between groups.
//!
//! A shape is written as it looks: `9` stands for a digit, `A` for a capital letter, `X` for either;
//! everything else for itself. Groups are told apart by single spaces, hyphens, points or slashes. All
//! shapes of all rules make one tree that is walked group by group, so a number is tried only against
//! the rules whose groups it has.

use super::anchors::classes::is_capital;

/// A shape of a rule.
#[derive(Clone, Debug)]
pub struct Shape {
    pub rule: usize,
    template: Box<[u8]>,
    /// Counts only where one of the rule's keywords stands before it.
    pub needs_keyword: bool,
    /// Whether there are only groups of digits: nothing is left to compare where a number has them.
    is_plain: bool,
}

/// Longest shape.
const MAX_SHAPE_BYTES: usize = 64;
/// Most groups of a shape.
const MAX_GROUPS: usize = 12;
/// Longest group that is told by its length.
const MAX_GROUP_BYTES: usize = 35;

/// `9{1,3}` as `9`, `99` and `999`; a repetition is one of a single character.
pub fn expand(text: &str) -> Vec<String> {
    let parts = text.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    let Some((head, (counts, tail))) = parts else { return vec![text.to_owned()] };
    let range = counts
        .split_once(',')
        .and_then(|(least, most)| Some((least.parse::<usize>().ok()?, most.parse::<usize>().ok()?)));
    let (Some((least, most)), Some(last)) = (range, head.chars().last()) else {
        return vec![text.to_owned()];
    };
    let head = head.strip_suffix(last).unwrap_or(head);
    let one = |count: usize| format!("{head}{}{tail}", last.to_string().repeat(count));
    (least..=most.min(MAX_GROUP_BYTES)).flat_map(|count| expand(&one(count))).collect()
}

#[derive(Debug, Default)]
struct Node {
    /// Groups by [`key`], few but for the first, and the node behind each.
    keys: Vec<u16>,
    next: Vec<usize>,
    shapes: Vec<Shape>,
}

/// All shapes, as a tree of groups. What separates groups is its class, 0 the end.
#[derive(Debug)]
pub struct Shapes {
    /// The node behind the first group, by its length and separator.
    first: [[Option<usize>; SEPARATORS]; MAX_GROUP_BYTES + 1],
    nodes: Vec<Node>,
}

/// The end of a number, and the four separators.
const SEPARATORS: usize = 5;

impl Default for Shapes {
    fn default() -> Self {
        Self { first: [[None; SEPARATORS]; MAX_GROUP_BYTES + 1], nodes: Vec::new() }
    }
}

impl Shapes {
    /// Enters a shape.
    ///
    /// # Errors
    /// One sentence: what a shape may not be.
    pub fn add(&mut self, shape: Shape) -> Result<(), String> {
        let groups = groups(&shape.template);
        if shape.template.len() > MAX_SHAPE_BYTES || groups.len() > MAX_GROUPS {
            return Err(format!("a shape has at most {MAX_SHAPE_BYTES} bytes and {MAX_GROUPS} groups"));
        }
        if groups.iter().any(|(length, _)| *length == 0 || *length > MAX_GROUP_BYTES) {
            return Err(format!("a group of a shape has 1 to {MAX_GROUP_BYTES} characters"));
        }
        let mut node = None;
        for (length, separator) in groups {
            let next = self.next(node, length, separator);
            node = Some(next.unwrap_or_else(|| self.grow(node, length, separator)));
        }
        if let Some(node) = node.and_then(|node| self.nodes.get_mut(node)) {
            node.shapes.push(shape);
        }
        Ok(())
    }

    /// A new node behind another, or behind none.
    fn grow(&mut self, node: Option<usize>, length: usize, separator: u8) -> usize {
        let fresh = self.nodes.len();
        self.nodes.push(Node::default());
        match node {
            Some(node) => {
                if let Some(node) = self.nodes.get_mut(node) {
                    node.keys.push(key(length, separator));
                    node.next.push(fresh);
                }
            }
            None => {
                if let Some(next) =
                    self.first.get_mut(length).and_then(|row| row.get_mut(usize::from(separator)))
                {
                    *next = Some(fresh);
                }
            }
        }
        fresh
    }

    #[inline]
    fn next(&self, node: Option<usize>, length: usize, separator: u8) -> Option<usize> {
        let Some(node) = node else { return *self.first.get(length)?.get(usize::from(separator))? };
        let (node, key) = (self.nodes.get(node)?, key(length, separator));
        node.keys.iter().position(|other| *other == key).and_then(|nth| node.next.get(nth)).copied()
    }

    /// Every shape that a number's groups have, and whether they have nothing but digits;
    /// [`Shape::end`] compares the rest.
    #[inline]
    pub fn of_groups(&self, groups: &mut Groups<'_>, mut found: impl FnMut(&Shape, bool)) {
        let mut node = None;
        let mut are_digits = true;
        for nth in 0..MAX_GROUPS {
            let Some(group) = groups.get(nth) else { return };
            are_digits &= !group.has_letters;
            let length = group.end - group.start;
            if let Some(last) = self.next(node, length, 0).and_then(|last| self.nodes.get(last)) {
                let fitting = last.shapes.iter().filter(|shape| are_digits || !shape.is_plain);
                fitting.for_each(|shape| found(shape, are_digits));
            }
            if group.separator == 0 {
                return;
            }
            let Some(next) = self.next(node, length, group.separator) else { return };
            node = Some(next);
        }
    }
}

/// A group, by its length and the separator behind it. No shape has one that is longer than can be told here.
#[inline]
fn key(length: usize, separator: u8) -> u16 {
    (length.min(MAX_GROUP_BYTES + 1) * SEPARATORS) as u16 + u16::from(separator)
}

/// A group of a number in a body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Group {
    pub start: usize,
    pub end: usize,
    pub has_letters: bool,
    /// The class of the separator behind it, 0 where it is the last.
    separator: u8,
}

/// The groups of a number from one of them on, each read once.
pub struct Groups<'b> {
    body: &'b [u8],
    /// Those that were read, the first at `first`.
    read: Vec<Group>,
    first: usize,
}

/// Groups behind which nothing goes back to.
const MAX_PASSED_GROUPS: usize = 1_000;

impl<'b> Groups<'b> {
    /// The groups of the number that begins at `start`; `read` is emptied and given back by
    /// [`Self::into_read`].
    #[inline]
    pub fn of(body: &'b [u8], start: usize, mut read: Vec<Group>) -> Self {
        read.clear();
        read.push(Group::at(body, start));
        Self { body, read, first: 0 }
    }

    pub fn into_read(self) -> Vec<Group> {
        self.read
    }

    #[inline]
    pub fn first(&mut self) -> Option<Group> {
        self.get(0)
    }

    #[inline]
    fn get(&mut self, nth: usize) -> Option<Group> {
        let nth = self.first + nth;
        while self.read.len() <= nth {
            let last = self.read.last().filter(|last| last.separator != 0)?;
            self.read.push(Group::at(self.body, last.end + 1));
        }
        self.read.get(nth).copied()
    }

    /// Goes on to the next group.
    #[inline]
    pub fn pop(&mut self) {
        self.first += 1;
        // The last one read stays, for the next is behind it.
        if self.first > MAX_PASSED_GROUPS {
            let passed = self.first.min(self.read.len().saturating_sub(1));
            self.read.drain(..passed);
            self.first -= passed;
        }
    }
}

impl Group {
    #[inline]
    fn at(body: &[u8], start: usize) -> Self {
        let rest = body.get(start..).unwrap_or(&[]);
        let capitals = rest.iter().take_while(|byte| is_capital(**byte));
        let (mut end, mut has_letters) = (start, false);
        for byte in capitals {
            end += 1;
            has_letters |= *byte > b'9';
        }
        Self { start, end, has_letters, separator: separator_at(body, end) }
    }
}

impl Shape {
    pub fn new(rule: usize, template: &str, needs_keyword: bool) -> Self {
        let template: Box<[u8]> = template.as_bytes().into();
        let is_plain = groups(&template).iter().map(|(length, _)| length + 1).sum::<usize>()
            == template.len() + 1
            && !template.iter().any(u8::is_ascii_uppercase);
        Self { rule, template, needs_keyword, is_plain }
    }

    /// Where the shape ends in `body` if it stands at `start`, at a boundary, `are_digits` being what
    /// [`Shapes::of_groups`] says of its groups.
    #[inline]
    pub fn end(&self, body: &[u8], start: usize, are_digits: bool) -> Option<usize> {
        let end = start + self.template.len();
        if are_digits && self.is_plain {
            return ends_number(body, end).then_some(end);
        }
        let text = body.get(start..end)?;
        let fits = self.template.iter().zip(text).all(|(template, byte)| match template {
            b'9' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_uppercase(),
            b'X' => is_capital(*byte),
            other => other == byte,
        });
        (fits && ends_number(body, end)).then_some(end)
    }
}

/// Whether a number may begin at `at`: no letter or digit before it, nor a group that belongs to it.
#[inline]
pub fn begins_number(body: &[u8], at: usize) -> bool {
    let back = |by: usize| at.checked_sub(by).and_then(|at| body.get(at)).copied().unwrap_or(b' ');
    match back(1) {
        b'.' | b'-' | b'/' => {
            !back(2).is_ascii_alphanumeric() || !body.get(at).is_some_and(u8::is_ascii_digit)
        }
        byte => !byte.is_ascii_alphanumeric(),
    }
}

/// Whether a number may end before `at`: no letter or digit there, nor a group that belongs to it.
#[inline]
fn ends_number(body: &[u8], at: usize) -> bool {
    let ahead = |by: usize| body.get(at + by).copied().unwrap_or(b' ');
    match ahead(0) {
        b'-' => !ahead(1).is_ascii_alphanumeric(),
        b'.' | b'/' => !ahead(1).is_ascii_digit(),
        byte => !byte.is_ascii_alphanumeric(),
    }
}

/// The groups of a template: length, and the class of the separator behind it. What comes behind a byte
/// that is neither is compared, not walked.
fn groups(template: &[u8]) -> Vec<(usize, u8)> {
    let mut groups = Vec::new();
    let mut at = 0;
    loop {
        let length = template.iter().skip(at).take_while(|byte| is_capital(**byte)).count();
        let separator = separator_at(template, at + length);
        groups.push((length, separator));
        if separator == 0 {
            return groups;
        }
        at += length + 1;
    }
}

/// The class of the separator at `at` if a group goes on behind it, else 0.
#[inline]
fn separator_at(body: &[u8], at: usize) -> u8 {
    let class = match body.get(at) {
        Some(b' ') => 1,
        Some(b'-') => 2,
        Some(b'.') => 3,
        Some(b'/') => 4,
        _ => 0,
    };
    if body.get(at + 1).is_some_and(|next| is_capital(*next)) { class } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(shapes: &[&str], body: &str) -> Vec<(usize, usize)> {
        let mut all = Shapes::default();
        for (rule, template) in shapes.iter().enumerate() {
            all.add(Shape::new(rule, template, false)).unwrap();
        }
        let mut found = Vec::new();
        let body = body.as_bytes();
        all.of_groups(&mut Groups::of(body, 0, Vec::new()), |shape, are_digits| {
            found.extend(shape.end(body, 0, are_digits).map(|end| (shape.rule, end)));
        });
        found
    }

    #[test]
    fn groups_are_counted_and_compared() {
        let shapes = ["999-99-9999", "999999999", "999 999 999", "A999999(9)", "AA9999", "999999+999X"];
        assert_eq!(found(&shapes, "123-45-6789"), [(0, 11)]);
        assert_eq!(found(&shapes, "123456789,"), [(1, 9)]);
        assert_eq!(found(&shapes, "123 456 789 "), [(2, 11)]);
        assert_eq!(found(&shapes, "A123456(3)"), [(3, 10)]);
        assert_eq!(found(&shapes, "131052+308T"), [(5, 11),]);
        assert_eq!(found(&shapes, "AB1234"), [(4, 6)]);
    }

    #[test]
    fn a_number_ends_where_its_groups_end() {
        let shapes = ["999-99-9999", "999999999"];
        for body in
            ["123-45-6789-1", "123-45-67891", "123-45-6789x", "123456789.5", "123456789-A", "123-45-678"]
        {
            assert_eq!(found(&shapes, body), [], "{body}");
        }
        for body in ["123-45-6789.", "123-45-6789-", "123-45-6789 12", "123-45-6789<"] {
            assert_eq!(found(&shapes, body), [(0, 11)], "{body}");
        }
    }

    #[test]
    fn a_number_begins_behind_no_group() {
        for (body, at, begins) in
            [("a1", 1, false), ("0.1", 2, false), ("1-2", 2, false), ("-2", 1, true), (" 2", 1, true)]
        {
            assert_eq!(begins_number(body.as_bytes(), at), begins, "{body}");
        }
    }

    #[test]
    fn repetitions_are_written_out() {
        assert_eq!(expand("A9{1,2}.9{2,3}"), ["A9.99", "A9.999", "A99.99", "A99.999"]);
        assert_eq!(expand("9{x}"), ["9{x}"]);
    }

    #[test]
    fn shapes_too_long_are_refused() {
        let mut shapes = Shapes::default();
        let shape = |template: String| Shape::new(0, &template, false);
        assert!(shapes.add(shape("9".repeat(36))).is_err());
        assert!(shapes.add(shape("9 ".repeat(40))).is_err());
    }
}
