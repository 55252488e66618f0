//! Why a value does not fit, found after the verdict: only what failed is looked into, and of alternatives only the one
//! that came closest, so that a model hears what it most likely got wrong.

use serde_json::{Map, Value};

use super::evaluate::Run;
use super::node::{Check, Items, Members, NodeId};
use super::quote::{brief, listed};
use super::{Overrun, Violation, escape};
use crate::problem::{closest, did_you_mean};

/// As many levels are looked through for reasons; each takes a piece of the stack.
const DEEPEST: usize = 200;

/// Looks for reasons.
pub(super) struct Explanation<'r, 'v> {
    pub(super) run: &'r mut Run<'v>,
    pub(super) limit: usize,
    pub(super) found: Vec<Reason>,
    /// Where the value stands that is looked at.
    pub(super) path: Vec<Step>,
    /// Parts that may lead back to themselves, and at how many steps into the value they are being explained.
    pub(super) under_way: Vec<(NodeId, usize)>,
    /// Whether alternatives were not looked at, to have something left for the reasons.
    pub(super) is_cut: bool,
}

/// Why a value does not fit, and which sort of fault that is for those who say it in words of their own.
pub(crate) struct Reason {
    pub(crate) violation: Violation,
    pub(crate) fault: Fault,
}

/// The sorts of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A property that is required is not there; the pointer is where it should be.
    Missing,
    /// A property that nobody knows.
    Unknown,
    /// A value of another type.
    Type,
    /// A value that is not among those listed.
    Choice,
    Other,
}

/// A step into a value.
pub(super) enum Step {
    Member(String),
    Item(usize),
}

type Explained = Result<(), Overrun>;

impl<'r, 'v> Explanation<'r, 'v> {
    pub(super) fn new(run: &'r mut Run<'v>, limit: usize) -> Self {
        let (found, path, under_way) = (Vec::new(), Vec::new(), Vec::new());
        Self { run, limit, found, path, under_way, is_cut: false }
    }

    /// Notes why the value does not fit that part.
    pub(super) fn explain(&mut self, id: NodeId, value: &Value) -> Explained {
        let key = (id, self.path.len());
        if self.run.is_looping(id) && self.under_way.contains(&key) {
            return Ok(());
        }
        if self.under_way.len() >= DEEPEST {
            self.tell(Fault::Other, format!("{} does not fit", brief(value)));
            return Ok(());
        }
        self.under_way.push(key);
        self.run.deeper()?;
        let before = self.found.len();
        for check in self.run.checks(id) {
            // Nothing counts as looked at by a part that fails, so that this would only repeat it.
            let is_rest = matches!(check, Check::UnevaluatedMembers(_) | Check::UnevaluatedItems(_));
            if self.is_full() || is_rest && self.found.len() > before {
                break;
            }
            if !self.run.passes(check, id, value)? {
                self.explain_check(check, id, value)?;
            }
        }
        self.run.higher();
        self.under_way.pop();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.found.len() >= self.limit
    }

    /// Notes a reason at the value that is looked at.
    pub(super) fn tell(&mut self, fault: Fault, message: String) {
        let mut pointer = String::new();
        for step in &self.path {
            pointer.push('/');
            match step {
                Step::Member(name) => pointer.push_str(&escape(name)),
                Step::Item(index) => pointer.push_str(&index.to_string()),
            }
        }
        let violation = Violation { pointer, message };
        if !self.is_full() && self.found.iter().all(|known| known.violation != violation) {
            self.found.push(Reason { violation, fault });
        }
    }

    /// Does something at a value inside the one that is looked at.
    fn at(&mut self, step: Step, then: impl FnOnce(&mut Self) -> Explained) -> Explained {
        self.path.push(step);
        then(self)?;
        self.path.pop();
        Ok(())
    }

    fn explain_check(&mut self, check: &'v Check, id: NodeId, value: &Value) -> Explained {
        match (check, value) {
            (Check::Reference(node), _) => self.explain(*node, value),
            (Check::All(nodes), _) => self.explain_each(nodes, value),
            (Check::Any(nodes), _) => self.explain_nearest(nodes, value),
            (Check::One(nodes), _) => self.explain_one(nodes, value),
            (Check::If(condition), _) => {
                let fits = self.run.fits(condition.asked, value)?;
                let branch = if fits { condition.then } else { condition.otherwise };
                self.explain_each(branch.as_slice(), value)
            }
            (Check::DependentSchemas(named) | Check::Dependencies(named), Value::Object(members)) => {
                for (_, node) in named.iter().filter(|(name, _)| members.contains_key(&**name)) {
                    self.explain_each(std::slice::from_ref(node), value)?;
                }
                Ok(())
            }
            (_, Value::Object(members)) => self.explain_object(check, id, members, value),
            (_, Value::Array(items)) => self.explain_array(check, id, items, value),
            _ => {
                self.tell(fault_of(check), said_of(check, value));
                Ok(())
            }
        }
    }

    fn explain_each(&mut self, nodes: &[NodeId], value: &Value) -> Explained {
        for node in nodes {
            if !self.is_full() && !self.run.fits(*node, value)? {
                self.explain(*node, value)?;
            }
        }
        Ok(())
    }

    fn explain_one(&mut self, nodes: &[NodeId], value: &Value) -> Explained {
        let mut fitting = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            if self.run.fits(*node, value)? {
                fitting.push(format!("{}", at + 1));
            }
        }
        if fitting.is_empty() {
            return self.explain_nearest(nodes, value);
        }
        let numbers = fitting.join(" and ");
        let message = format!(
            "{} fits more than one of the {} alternatives ({numbers}); it must fit exactly one",
            brief(value),
            nodes.len()
        );
        self.tell(Fault::Other, message);
        Ok(())
    }

    fn explain_object(
        &mut self,
        check: &'v Check,
        id: NodeId,
        members: &Map<String, Value>,
        value: &Value,
    ) -> Explained {
        match check {
            Check::Required(names) => self.tell_missing(id, names, members),
            Check::DependentRequired(named) => {
                for (_, names) in named.iter().filter(|(name, _)| members.contains_key(&**name)) {
                    self.tell_missing(id, names, members)?;
                }
                Ok(())
            }
            Check::Members(checked) => {
                for (name, member) in members {
                    if !self.is_full() && !self.run.member_fits(checked, name, member)? {
                        self.at(Step::Member(name.clone()), |this| {
                            this.explain_member(checked, name, members)
                        })?;
                    }
                }
                Ok(())
            }
            Check::MemberNames(node) => {
                for name in members.keys() {
                    if !self.is_full() && !self.run.name_fits(*node, name)? {
                        let message = format!("{name:?} is not a name that a property here may have");
                        self.at(Step::Member(name.clone()), |this| {
                            this.tell(Fault::Other, message);
                            Ok(())
                        })?;
                    }
                }
                Ok(())
            }
            Check::UnevaluatedMembers(node) => {
                let looked_at = self.run.members_looked_at(id, members, value)?;
                for (name, member) in members.iter().filter(|(name, _)| !looked_at.contains(name.as_str())) {
                    if !self.run.fits(*node, member)? {
                        self.at(Step::Member(name.clone()), |this| this.explain_other(*node, name, member))?;
                    }
                }
                Ok(())
            }
            _ => {
                self.tell(fault_of(check), said_of(check, value));
                Ok(())
            }
        }
    }

    fn tell_missing(&mut self, id: NodeId, names: &[Box<str>], members: &Map<String, Value>) -> Explained {
        for name in names.iter().filter(|name| !members.contains_key(&***name)) {
            if self.is_full() {
                break;
            }
            let hint = self
                .misspelt(id, name, members)
                .map(|stray| format!("; {stray:?} is not a known property, did you mean {name:?}?"));
            self.at(Step::Member(name.to_string()), |this| {
                this.tell(Fault::Missing, format!("{name:?} is required{}", hint.unwrap_or_default()));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The member by which the missing one was most likely meant: one that the part allows but does not know. One that it
    /// does not allow is told of by itself.
    fn misspelt<'m>(&self, id: NodeId, missing: &str, members: &'m Map<String, Value>) -> Option<&'m str> {
        /// More tell nothing new.
        const ENOUGH: usize = 50;
        let checked = self.run.checks(id).iter().find_map(|check| match check {
            Check::Members(checked) => Some(checked),
            _ => None,
        })?;
        if !checked.patterns.is_empty() || self.is_closed(checked) {
            return None;
        }
        let strays = members.keys().map(String::as_str).filter(|name| checked.find(name).is_none());
        closest(missing, strays.take(ENOUGH))
    }

    /// Whether nothing is allowed beside what is named.
    pub(super) fn is_closed(&self, checked: &Members) -> bool {
        checked.additional.is_some_and(|node| matches!(self.run.checks(node), [Check::Never]))
    }

    fn explain_member(
        &mut self,
        checked: &'v Members,
        name: &str,
        members: &Map<String, Value>,
    ) -> Explained {
        let Some(member) = members.get(name) else { return Ok(()) };
        let named = checked.find(name);
        let mut is_additional = named.is_none();
        self.explain_each(named.as_slice(), member)?;
        for (pattern, node) in &checked.patterns {
            if pattern.is_match(name, |steps| self.run.spend(steps))? {
                is_additional = false;
                self.explain_each(std::slice::from_ref(node), member)?;
            }
        }
        match checked.additional.filter(|_| is_additional) {
            Some(_) if self.is_closed(checked) => {
                let missing = checked.named.iter().map(|(known, _)| &**known);
                let missing = missing.filter(|known| !members.contains_key(*known));
                let hint = did_you_mean(name, missing).map(|question| format!("; {question}"));
                let message = format!("{name:?} is not a known property{}", hint.unwrap_or_default());
                self.tell(Fault::Unknown, message);
                Ok(())
            }
            Some(node) if !self.run.fits(node, member)? => self.explain_other(node, name, member),
            _ => Ok(()),
        }
    }

    /// Notes why a member that is not named does not fit.
    fn explain_other(&mut self, node: NodeId, name: &str, member: &Value) -> Explained {
        if matches!(self.run.checks(node), [Check::Never]) {
            self.tell(Fault::Unknown, format!("{name:?} is not a known property"));
            return Ok(());
        }
        self.explain(node, member)
    }

    fn explain_array(&mut self, check: &'v Check, id: NodeId, items: &[Value], value: &Value) -> Explained {
        match check {
            Check::Items(checked) => self.explain_items(checked, items),
            Check::UnevaluatedItems(node) => {
                let looked_at = self.run.items_looked_at(id, items, value)?;
                let others = items.iter().zip(looked_at).enumerate().filter(|(_, (_, looked_at))| !looked_at);
                for (at, (item, _)) in others {
                    self.explain_item(*node, at, item)?;
                }
                Ok(())
            }
            _ => {
                self.tell(fault_of(check), said_of(check, value));
                Ok(())
            }
        }
    }

    fn explain_items(&mut self, checked: &Items, items: &[Value]) -> Explained {
        let nodes = checked.first.iter().copied().map(Some).chain(std::iter::repeat(checked.rest));
        for (at, (item, node)) in items.iter().zip(nodes).enumerate() {
            if let Some(node) = node {
                self.explain_item(node, at, item)?;
            }
        }
        Ok(())
    }

    fn explain_item(&mut self, node: NodeId, at: usize, item: &Value) -> Explained {
        if self.is_full() || self.run.fits(node, item)? {
            return Ok(());
        }
        self.at(Step::Item(at), |this| {
            if matches!(this.run.checks(node), [Check::Never]) {
                this.tell(Fault::Other, "is one item too many".to_owned());
                return Ok(());
            }
            this.explain(node, item)
        })
    }
}

fn fault_of(check: &Check) -> Fault {
    match check {
        Check::Type(_) => Fault::Type,
        Check::Enum(_) => Fault::Choice,
        _ => Fault::Other,
    }
}

/// What is wrong with a value that does not pass.
fn said_of(check: &Check, value: &Value) -> String {
    let shown = brief(value);
    let counted =
        |count: u64, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    match check {
        Check::Type(types) => match types.names().collect::<Vec<_>>().as_slice() {
            [one] => format!("{shown} is not of type {one:?}"),
            names => {
                let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                format!("{shown} is not of type {}", listed(&names))
            }
        },
        Check::Const(fixed) => format!("{shown} is not {}", brief(&fixed.value)),
        Check::Enum(choices) => format!("{shown} is not one of {}", choices.told),
        Check::Bound(bound) => format!("{shown} is {} {}", bound.beyond, bound.limit),
        Check::MultipleOf(divisor) => format!("{shown} is not a multiple of {divisor}"),
        Check::MinLength(least) => {
            format!("{shown} is shorter than {}", counted(*least, "character", "characters"))
        }
        Check::MaxLength(most) => {
            format!("{shown} is longer than {}", counted(*most, "character", "characters"))
        }
        Check::MinItems(least) => format!("{shown} has less than {}", counted(*least, "item", "items")),
        Check::MaxItems(most) => format!("{shown} has more than {}", counted(*most, "item", "items")),
        Check::MinProperties(least) => {
            format!("{shown} has less than {}", counted(*least, "property", "properties"))
        }
        Check::MaxProperties(most) => {
            format!("{shown} has more than {}", counted(*most, "property", "properties"))
        }
        Check::Pattern(pattern) => format!("{shown} does not match {:?}", pattern.text),
        Check::Known(known) => format!("{shown} is not {}", known.told),
        Check::UniqueItems => format!("{shown} has an item twice"),
        Check::Contains(contains) => {
            let most = contains.most.map(|most| format!(" and at most {most}")).unwrap_or_default();
            format!("{shown} must have at least {}{most} of another kind", contains.least)
        }
        Check::Not(_) => format!("{shown} fits what is not allowed here"),
        _ => format!("{shown} is not allowed here"),
    }
}
