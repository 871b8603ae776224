//! `shapes` and `keyword_shapes`: numbers by the length of their groups, the second only behind a keyword.

use smallvec::SmallVec;

use super::Family;
use crate::rule::Rule;
use crate::scanner::judge::keyword::Near;
use crate::scanner::judge::{Judge, ValueWords};
use crate::scanner::narrow::shape::{self, Group, Shape, Shapes};

#[derive(Debug, Default)]
pub(crate) struct ShapedNumberRules(Shapes);

/// Findings of one number: the place among all findings, and how far off its keyword is.
type Rivals = SmallVec<[(usize, usize); 4]>;

impl Family for ShapedNumberRules {
    fn enter(&mut self, index: usize, rule: &Rule) -> Result<(), String> {
        for (shapes, needs_keyword) in [(&rule.begins.shapes, false), (&rule.begins.keyword_shapes, true)] {
            for template in shapes.iter().flat_map(|shape| shape::expand(shape)) {
                self.0.add(Shape::new(index, &template, needs_keyword))?;
            }
        }
        Ok(())
    }
}

impl ShapedNumberRules {
    /// At the first of some groups; `near` is read if a shape asks for it.
    #[inline]
    pub(in crate::scanner) fn at(
        &self,
        judge: &mut Judge<'_>,
        body: &[u8],
        groups: &[Group],
        near: &mut Option<Near>,
    ) {
        let Some(at) = groups.first().map(|group| group.start) else { return };
        let mut rivals = Rivals::new();
        self.0.of_groups(groups, |shapes, are_digits| {
            for shape in shapes.iter().filter(|shape| shape.may_stand(are_digits)) {
                if shape.needs_keyword {
                    let near = near.get_or_insert_with(|| judge.near(body, at));
                    // So do those that follow.
                    if near.is_empty() {
                        return;
                    }
                    let Some(distance) = near.distance(shape.rule) else { continue };
                    let Some(end) = shape.end(body, at, are_digits) else { continue };
                    if judge.value(shape.rule, body, at, end, ValueWords::Read(near)) {
                        rivals.push((judge.last_finding(), distance));
                    }
                } else if judge.wanted(shape.rule).is_some()
                    && let Some(end) = shape.end(body, at, are_digits)
                {
                    judge.value(shape.rule, body, at, end, ValueWords::OfNumber(near));
                }
            }
        });
        keep_nearest(judge, &rivals);
    }
}

/// Of kinds of one shape that only their keywords tell apart, that whose keyword stands nearest; those of one distance
/// are all reported.
fn keep_nearest(judge: &mut Judge<'_>, rivals: &Rivals) {
    if rivals.len() < 2 {
        return;
    }
    let is_beaten = |(nth, distance): &(usize, usize)| {
        let end = judge.finding_end(*nth);
        rivals.iter().any(|(other, nearer)| nearer < distance && judge.finding_end(*other) == end)
    };
    let beaten: Rivals = rivals.iter().copied().filter(is_beaten).collect();
    // From the last on, so that the places before stay.
    beaten.into_iter().rev().for_each(|(nth, _)| judge.take_back(nth));
}
