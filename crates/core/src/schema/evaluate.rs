//! Whether a value fits: the verdict, under a budget. Once a check turns out to be long, verdicts are remembered by part
//! and place, so that branches and recursion cannot multiply; then the work is at most the parts times the places.

use std::collections::HashMap;
use std::time::Duration;

use jsonschema_value::numeric_check::{check_bound, satisfies_multiple_of};
use serde_json::Value;

use super::node::{Check, Condition, Node, NodeId};
use super::overrun::{Overrun, Unchecked, keyword_of, pointer_to};
use crate::Budget;

/// The most levels of parts inside parts; each takes a piece of the stack.
const DEEPEST: u32 = 640;
/// The most verdicts that are remembered.
const MOST_REMEMBERED: usize = 200_000;

/// Whether a value fits, unless that takes too much.
pub(super) type Verdict = Result<bool, Overrun>;

/// A place in a value: nothing of it changes or moves while it is looked at.
type ValueAddress = usize;

/// One look at a value.
pub(super) struct Run<'v> {
    nodes: &'v [Node],
    budget: Budget,
    /// The steps that there were at first.
    steps: u64,
    /// Where most of them went, once they are spent, and for which word of the schema.
    blamed: Option<(ValueAddress, &'static str)>,
    depth: u32,
    remembered: HashMap<(NodeId, ValueAddress), bool>,
    remembers: bool,
    /// Parts that may lead back to themselves, and the places at which they are being looked at.
    under_way: Vec<(NodeId, ValueAddress)>,
    /// The same for looking at what they have looked at.
    marking: Vec<(NodeId, ValueAddress)>,
}

impl<'v> Run<'v> {
    pub(super) fn new(nodes: &'v [Node], steps: u64, within: Duration) -> Self {
        Self {
            nodes,
            budget: Budget::new(steps, within),
            steps,
            blamed: None,
            depth: 0,
            remembered: HashMap::new(),
            remembers: false,
            under_way: Vec::new(),
            marking: Vec::new(),
        }
    }

    /// Remembers from the start.
    pub(super) fn remembering(self) -> Self {
        Self { remembers: true, ..self }
    }

    pub(super) fn checks(&self, id: NodeId) -> &'v [Check] {
        self.nodes.get(id as usize).map(|node| node.checks.as_slice()).unwrap_or_default()
    }

    /// Whether the value fits that part.
    pub(super) fn fits(&mut self, id: NodeId, value: &Value) -> Verdict {
        let Some(node) = self.nodes.get(id as usize) else {
            return Ok(true);
        };
        self.spend(1 + node.checks.len() as u64)?;
        if !node.is_compound {
            return self.fits_all(&node.checks, id, value);
        }
        let key = (id, std::ptr::from_ref(value).addr());
        if let Some(verdict) = self.remembers.then(|| self.remembered.get(&key)).flatten() {
            return Ok(*verdict);
        }
        if node.is_looping && self.under_way.contains(&key) {
            // What a part asks of a value by way of itself, it asks already.
            return Ok(true);
        }
        self.deeper()?;
        if node.is_looping {
            self.under_way.push(key);
        }
        let verdict = self.fits_all(&node.checks, id, value);
        if node.is_looping {
            self.under_way.pop();
        }
        self.depth -= 1;
        self.remember(key, verdict?)
    }

    /// Whether that part is at that place already and would lead there again and again; if not, it is from now on.
    pub(super) fn begins_marking(&mut self, id: NodeId, value: &Value) -> bool {
        let key = (id, std::ptr::from_ref(value).addr());
        let again = self.is_looping(id) && self.marking.contains(&key);
        if !again {
            self.marking.push(key);
        }
        !again
    }

    pub(super) fn ends_marking(&mut self) {
        self.marking.pop();
    }

    pub(super) fn is_looping(&self, id: NodeId) -> bool {
        self.nodes.get(id as usize).is_some_and(|node| node.is_looping)
    }

    /// Whether the name of a member fits. It has no place in the value, so nothing is remembered of it.
    pub(super) fn name_fits(&mut self, node: NodeId, name: &str) -> Verdict {
        let elsewhere = std::mem::take(&mut self.remembered);
        let verdict = self.fits(node, &Value::String(name.to_owned()));
        self.remembered = elsewhere;
        self.blamed = None;
        verdict
    }

    /// The steps that are left.
    pub(super) fn steps_left(&self) -> u64 {
        self.budget.left()
    }

    /// What is told of a check of `root` that came to no end.
    pub(super) fn unchecked(&self, overrun: Overrun, root: &Value) -> Unchecked {
        // How deep it goes says nothing about the part at which it was too deep.
        let blamed = self.blamed.filter(|_| overrun != Overrun::Depth);
        let pointer = blamed.and_then(|(address, _)| pointer_to(address, root)).unwrap_or_default();
        Unchecked { overrun, pointer, keyword: blamed.map(|(_, keyword)| keyword) }
    }

    /// Notes what the steps went into: the innermost check that took half of them, for one inside may only have been the
    /// last of many.
    #[cold]
    fn blame(&mut self, check: &Check, value: &Value, before: u64) {
        let left = self.budget.left();
        let is_most = (before - left).saturating_mul(2) >= self.steps - left;
        if is_most && self.blamed.is_none() {
            self.blamed = Some((std::ptr::from_ref(value).addr(), keyword_of(check)));
        }
    }

    /// One level further down; whoever comes back takes it away again.
    pub(super) fn deeper(&mut self) -> Result<(), Overrun> {
        if self.depth >= DEEPEST {
            return Err(Overrun::Depth);
        }
        self.depth += 1;
        Ok(())
    }

    /// One level up again.
    pub(super) fn higher(&mut self) {
        self.depth -= 1;
    }

    fn remember(&mut self, key: (NodeId, ValueAddress), verdict: bool) -> Verdict {
        self.remembers = self.remembers || self.budget.is_long();
        if self.remembers && self.remembered.len() < MOST_REMEMBERED {
            self.remembered.insert(key, verdict);
        }
        Ok(verdict)
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Overrun> {
        self.budget.spend(steps).map_err(Overrun::from)
    }

    fn fits_all(&mut self, checks: &'v [Check], id: NodeId, value: &Value) -> Verdict {
        for check in checks {
            let before = self.budget.left();
            match self.passes(check, id, value) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(overrun) => {
                    self.blame(check, value, before);
                    return Err(overrun);
                }
            }
        }
        Ok(true)
    }

    /// Whether the value passes one check of that part.
    pub(super) fn passes(&mut self, check: &'v Check, id: NodeId, value: &Value) -> Verdict {
        match (check, value) {
            (Check::Never, _) => Ok(false),
            (Check::Type(types), _) => Ok(types.has(value)),
            (Check::Reference(node), _) => self.fits(*node, value),
            (Check::All(nodes), _) => self.all(nodes, value),
            (Check::Any(nodes), _) => self.any(nodes, value),
            (Check::One(nodes), _) => Ok(self.count_fitting(nodes, value, 2)? == 1),
            (Check::Not(node), _) => Ok(!self.fits(*node, value)?),
            (Check::If(condition), _) => self.passes_condition(condition, value),
            (Check::Const(_) | Check::Enum(_), _) => self.passes_equal(check, value),
            (_, Value::String(text)) => self.passes_text(check, text),
            (Check::Bound(bound), Value::Number(number)) => Ok(check_bound(&bound.compiled, number)),
            (Check::MultipleOf(divisor), Value::Number(number)) => {
                self.spend(16)?;
                Ok(satisfies_multiple_of(divisor, number))
            }
            (_, Value::Object(members)) => self.passes_object(check, id, members, value),
            (_, Value::Array(items)) => self.passes_array(check, id, items, value),
            _ => Ok(true),
        }
    }

    fn all(&mut self, nodes: &[NodeId], value: &Value) -> Verdict {
        for node in nodes {
            if !self.fits(*node, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn any(&mut self, nodes: &[NodeId], value: &Value) -> Verdict {
        Ok(self.count_fitting(nodes, value, 1)? > 0)
    }

    /// How many of the parts the value fits; counting ends at `enough`.
    fn count_fitting(&mut self, nodes: &[NodeId], value: &Value, enough: usize) -> Result<usize, Overrun> {
        let mut count = 0;
        for node in nodes {
            count += usize::from(self.fits(*node, value)?);
            if count >= enough {
                break;
            }
        }
        Ok(count)
    }

    fn passes_condition(&mut self, condition: &Condition, value: &Value) -> Verdict {
        let then = if self.fits(condition.asked, value)? { condition.then } else { condition.otherwise };
        then.map_or(Ok(true), |node| self.fits(node, value))
    }

    fn passes_equal(&mut self, check: &Check, value: &Value) -> Verdict {
        let (texts, others): (&[Box<str>], _) = match check {
            Check::Const(fixed) => (&[], std::slice::from_ref(&**fixed)),
            Check::Enum(choices) => (&choices.texts, choices.others.as_slice()),
            _ => return Ok(true),
        };
        if let Value::String(text) = value
            && texts.binary_search_by(|known| (**known).cmp(text)).is_ok()
        {
            return Ok(true);
        }
        for fixed in others {
            self.spend(fixed.weight)?;
            if jsonschema_value::cmp::equal(value, &fixed.value) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn passes_text(&mut self, check: &Check, text: &str) -> Verdict {
        match check {
            Check::MinLength(_) | Check::MaxLength(_) => {
                let bytes = text.len() as u64;
                match check {
                    Check::MaxLength(most) if bytes <= *most => Ok(true),
                    Check::MinLength(least) if bytes < *least => Ok(false),
                    _ => {
                        self.spend(bytes / 64)?;
                        let length = text.chars().count() as u64;
                        Ok(match check {
                            Check::MaxLength(most) => length <= *most,
                            Check::MinLength(least) => length >= *least,
                            _ => true,
                        })
                    }
                }
            }
            Check::Pattern(pattern) => pattern.is_match(text, |steps| self.spend(steps)),
            Check::Known(known) => {
                self.spend(4 + text.len() as u64 / 8)?;
                Ok(known.fits(text))
            }
            _ => Ok(true),
        }
    }
}
