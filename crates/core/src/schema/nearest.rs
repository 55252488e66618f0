//! Of alternatives that a value fits none of, the one that was most likely meant: its fixed members are right, its type
//! is right, little is missing.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::Overrun;
use super::explain::{Explanation, Fault};
use super::node::{Check, NodeId};
use super::quote::{brief, listed};

/// As many levels of references and parts are looked through.
const DEEPEST: usize = 6;

/// How it begins that a reason is told of one alternative among others.
const NEAREST: &str = " (in the nearest of ";

/// A value of another type.
const OTHER_TYPE: i64 = -1_000_000;
/// A member that tells alternatives apart.
const FIXED: i64 = 10_000;
const UNKNOWN: i64 = 20;
const MISSING: i64 = 20;
const FITTING: i64 = 5;
/// A member that is wrong somewhere inside.
const WRONG: i64 = 1;
/// A member that is of another type.
const FAR: i64 = 3;

impl Explanation<'_, '_> {
    /// Notes why the value does not fit the alternative that came closest.
    pub(super) fn explain_nearest(&mut self, nodes: &[NodeId], value: &Value) -> Result<(), Overrun> {
        let (best, unseen) = self.nearest(nodes, value)?;
        match best {
            Some((nearness, node)) if nearness > OTHER_TYPE / 2 => {
                let before = self.found.len();
                self.explain(node, value)?;
                // Where alternatives lie inside each other, the innermost are told.
                let first = self.found.get_mut(before).filter(|_| nodes.len() > 1);
                let first = first.map(|reason| &mut reason.violation);
                if let Some(first) = first.filter(|first| !first.message.contains(NEAREST)) {
                    let _ = write!(first.message, "{NEAREST}{} alternatives", nodes.len());
                    if unseen > 0 {
                        let _ = write!(first.message, ", {unseen} of which were not looked at");
                    }
                    first.message.push(')');
                }
            }
            _ => {
                let message = self.no_type_fits(nodes, value);
                self.tell(Fault::Type, message);
            }
        }
        Ok(())
    }

    /// The alternative that came closest, and how many were not looked at: half of what is left is kept for the reasons.
    fn nearest(
        &mut self,
        nodes: &[NodeId],
        value: &Value,
    ) -> Result<(Option<(i64, NodeId)>, usize), Overrun> {
        let kept = self.run.steps_left() / 2;
        let mut best: Option<(i64, NodeId)> = None;
        for (at, node) in nodes.iter().enumerate() {
            if self.run.steps_left() < kept {
                self.is_cut = true;
                return Ok((best, nodes.len() - at));
            }
            let nearness = self.nearness(*node, value, 0)?;
            if best.is_none_or(|(known, _)| nearness > known) {
                best = Some((nearness, *node));
            }
        }
        Ok((best, 0))
    }

    fn no_type_fits(&self, nodes: &[NodeId], value: &Value) -> String {
        let mut names: Vec<String> = Vec::new();
        for node in nodes {
            for check in self.run.checks(*node) {
                if let Check::Type(types) = check {
                    names.extend(types.names().map(|name| format!("{name:?}")));
                }
            }
        }
        names.dedup();
        let shown = brief(value);
        if names.is_empty() {
            return format!("{shown} fits none of the {} alternatives", nodes.len());
        }
        names.truncate(7);
        format!("{shown} is not of type {}", listed(&names))
    }

    /// How near the value comes to that part.
    fn nearness(&mut self, id: NodeId, value: &Value, depth: usize) -> Result<i64, Overrun> {
        let mut nearness = 0;
        if depth > DEEPEST {
            return Ok(nearness);
        }
        for check in self.run.checks(id) {
            self.run.spend(1)?;
            nearness += match (check, value) {
                (Check::Never, _) => OTHER_TYPE,
                (Check::Type(types), _) if !types.has(value) => OTHER_TYPE,
                (Check::Const(_) | Check::Enum(_), _) => {
                    if self.run.passes(check, id, value)? {
                        FIXED
                    } else {
                        -FIXED
                    }
                }
                (Check::Reference(node), _) => self.nearness(*node, value, depth + 1)?,
                (Check::All(nodes), _) => {
                    let mut sum = 0;
                    for node in nodes {
                        sum += self.nearness(*node, value, depth + 1)?;
                    }
                    sum
                }
                (Check::Required(names), Value::Object(members)) => {
                    let missing = names.iter().filter(|name| !members.contains_key(&***name)).count();
                    -MISSING * i64::try_from(missing).unwrap_or(i64::MAX / MISSING).min(100)
                }
                (Check::Members(_), Value::Object(members)) => {
                    self.nearness_of_members(check, members, depth)?
                }
                (Check::Items(_), Value::Array(_)) if !self.run.passes(check, id, value)? => -WRONG,
                _ => 0,
            };
        }
        Ok(nearness)
    }

    fn nearness_of_members(
        &mut self,
        check: &Check,
        members: &Map<String, Value>,
        depth: usize,
    ) -> Result<i64, Overrun> {
        /// More members than these tell nothing new.
        const ENOUGH: usize = 50;
        let Check::Members(checked) = check else {
            return Ok(0);
        };
        let is_closed = self.is_closed(checked);
        let mut nearness = 0;
        for (name, member) in members.iter().take(ENOUGH) {
            nearness += match checked.find(name) {
                None if is_closed && checked.patterns.is_empty() => -UNKNOWN,
                None => 0,
                Some(node) => {
                    let is_fixed = |check: &Check| matches!(check, Check::Const(_) | Check::Enum(_));
                    let weight = if self.run.checks(node).iter().any(is_fixed) { FIXED } else { 0 };
                    if self.run.fits(node, member)? {
                        weight + FITTING
                    } else {
                        let is_far = self.nearness(node, member, depth + 1)? <= OTHER_TYPE / 2;
                        -weight - if is_far { FAR } else { WRONG }
                    }
                }
            };
        }
        Ok(nearness)
    }
}
