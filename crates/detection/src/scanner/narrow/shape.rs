//! Numbers by their shape: how many characters stand in each group, and what stands between groups.
//!
//! A shape is written as it looks: `9` stands for a digit, `A` for a capital letter, `X` for either;
//! everything else for itself. Groups are told apart by single spaces, hyphens, points or slashes. All
//! shapes of all rules make one tree that is walked group by group, so a number is tried only against
//! the rules whose groups it has.

use crate::scanner::eights::{leading_capitals, leading_digits};
use crate::scanner::find::classes::is_capital;

/// A shape of a rule.
#[derive(Clone, Debug)]
pub struct Shape {
    pub rule: usize,
    template: Box<[u8]>,
    /// Counts only if one of the rule's keywords stands before it.
    pub needs_keyword: bool,
    /// Whether the shape is only groups of digits. A number with those groups then fits without a further check.
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
    next: Vec<(u16, NodeIndex)>,
    /// Those that need a keyword come last.
    shapes: Vec<Shape>,
}

/// A node's place; at the first there is none.
type NodeIndex = u16;

/// All shapes, as a tree of groups. What separates groups is its class, 0 the end.
#[derive(Debug)]
pub struct Shapes {
    /// The node behind the first group, by its length and separator.
    first: [[NodeIndex; SEPARATORS]; MAX_GROUP_BYTES + 1],
    nodes: Vec<Node>,
}

/// The end of a number, and the four separators.
const SEPARATORS: usize = 5;

impl Default for Shapes {
    fn default() -> Self {
        Self { first: [[0; SEPARATORS]; MAX_GROUP_BYTES + 1], nodes: vec![Node::default()] }
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
        let mut node = 0;
        for (length, separator) in groups {
            let (end, next) = self.behind(node, length, separator);
            node = match if separator == 0 { end } else { next } {
                0 => self.grow(node, length, separator)?,
                known => known,
            };
        }
        if let Some(node) = self.nodes.get_mut(usize::from(node)) {
            let place = node.shapes.partition_point(|other| other.needs_keyword <= shape.needs_keyword);
            node.shapes.insert(place, shape);
        }
        Ok(())
    }

    /// A new node behind another, or behind none.
    fn grow(&mut self, node: NodeIndex, length: usize, separator: u8) -> Result<NodeIndex, String> {
        let fresh =
            NodeIndex::try_from(self.nodes.len()).map_err(|_| "there are too many shapes".to_owned())?;
        self.nodes.push(Node::default());
        if node == 0 {
            let row = self.first.get_mut(length);
            if let Some(next) = row.and_then(|row| row.get_mut(usize::from(separator))) {
                *next = fresh;
            }
        } else if let Some(node) = self.nodes.get_mut(usize::from(node)) {
            node.next.push((key(length, separator), fresh));
        }
        Ok(fresh)
    }

    /// The nodes behind a group that follows a node: where the number ends with it, and where it goes on behind
    /// the separator.
    #[inline]
    fn behind(&self, node: NodeIndex, length: usize, separator: u8) -> (NodeIndex, NodeIndex) {
        if node == 0 {
            let row = self.first.get(length);
            let of = |separator: usize| row.and_then(|row| row.get(separator)).copied().unwrap_or(0);
            return (of(0), if separator == 0 { 0 } else { of(usize::from(separator)) });
        }
        let next = self.nodes.get(usize::from(node)).map_or(&[][..], |node| &node.next);
        let (end, on) = (key(length, 0), key(length, separator));
        next.iter().fold((0, 0), |(last, behind), (key, node)| match *key {
            key if key == end => (*node, behind),
            key if key == on => (last, *node),
            _ => (last, behind),
        })
    }

    /// The shapes that the groups of a number have, those of some groups after another, and whether these have
    /// nothing but digits; [`Shape::end`] compares the rest.
    #[inline]
    pub fn of_groups(&self, groups: &[Group], mut found: impl FnMut(&[Shape], bool)) {
        let mut node = 0;
        let mut are_digits = true;
        for group in groups.iter().take(MAX_GROUPS) {
            are_digits &= !group.has_letters;
            let (end, next) = self.behind(node, group.end - group.start, group.separator);
            if let Some(end) = self.nodes.get(usize::from(end)) {
                found(&end.shapes, are_digits);
            }
            if next == 0 {
                return;
            }
            node = next;
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
    /// The class of the separator behind it, 0 if it is the last.
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
        let mut groups = Self { body, read, first: 0 };
        groups.read_on();
        groups
    }

    pub fn into_read(self) -> Vec<Group> {
        self.read
    }

    /// As many as a shape may have, or all that are left.
    #[inline]
    pub fn ahead(&self) -> &[Group] {
        self.read.get(self.first..).unwrap_or(&[])
    }

    #[inline]
    fn read_on(&mut self) {
        while self.read.len() < self.first + MAX_GROUPS
            && let Some(last) = self.read.last().filter(|last| last.separator != 0)
        {
            let group = Group::at(self.body, last.end + 1);
            self.read.push(group);
        }
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
        self.read_on();
    }
}

impl Group {
    #[inline]
    fn at(body: &[u8], start: usize) -> Self {
        let rest = body.get(start..).unwrap_or(&[]);
        // Most groups are a few digits.
        let digits = rest.first_chunk().map_or(0, |eight| leading_digits(*eight));
        let (mut length, mut has_letters) = (digits, false);
        if rest.get(digits).is_some_and(|byte| is_capital(*byte)) {
            let (more, letters) = Self::capitals(rest.get(digits..).unwrap_or(&[]));
            (length, has_letters) = (length + more, letters);
        }
        let end = start + length;
        Self { start, end, has_letters, separator: separator_at(body, end) }
    }

    /// How many capital letters and digits a text begins with, and whether there are letters.
    fn capitals(text: &[u8]) -> (usize, bool) {
        let (mut length, mut has_letters) = (0, false);
        let (eights, _) = text.as_chunks();
        for eight in eights {
            let (capitals, letters) = leading_capitals(*eight);
            (length, has_letters) = (length + capitals, has_letters | letters);
            if capitals < eight.len() {
                return (length, has_letters);
            }
        }
        for byte in text.iter().skip(length).take_while(|byte| is_capital(**byte)) {
            (length, has_letters) = (length + 1, has_letters | (*byte > b'9'));
        }
        (length, has_letters)
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

    /// Whether groups may have it: one of digits alone is only that of digits.
    #[inline]
    pub fn may_stand(&self, are_digits: bool) -> bool {
        are_digits || !self.is_plain
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
        all.of_groups(Groups::of(body, 0, Vec::new()).ahead(), |shapes, are_digits| {
            let ends = shapes.iter().filter_map(|shape| Some((shape.rule, shape.end(body, 0, are_digits)?)));
            found.extend(ends);
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
