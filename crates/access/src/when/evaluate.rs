//! Evaluates conditions, every step counted. Recursion goes no deeper than the tree of the expression and the arguments, both of
//! which have a bound.

use std::rc::Rc;

use serde_json::{Map, Value};
use toolrail_core::Role;

use super::When;
use super::node::{Each, Fact, Macro, Node};
use super::value::{Fault, Val};
use crate::facts::Subject;
use crate::limits::{BYTES_A_STEP, DEEPEST_ARGUMENTS, LARGEST_ARGUMENTS, MOST_STEPS};
use toolrail_core::ToolTraits;

/// What a condition is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) tool: &'a ToolTraits<'a>,
    /// Nothing where tools are listed: then a condition is decided only if it is so whatever the arguments are.
    pub(crate) args: Option<&'a Map<String, Value>>,
}

/// The conditions of one decision, which share its steps.
pub(crate) struct Evaluation<'a> {
    scene: Scene<'a>,
    steps: u32,
    item: Val<'a>,
    /// Whether the arguments are small enough, once that was asked.
    arguments: Option<Result<(), Fault>>,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(scene: Scene<'a>) -> Self {
        Self { scene, steps: MOST_STEPS, item: Val::Null, arguments: None }
    }

    /// Whether a condition holds.
    pub(crate) fn holds(&mut self, when: &'a When) -> Result<bool, Fault> {
        self.truth(&when.node)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Fault> {
        let left = u32::try_from(steps).ok().and_then(|steps| self.steps.checked_sub(steps));
        self.steps = left.unwrap_or(0);
        left.map(drop).ok_or(Fault::of("it takes too long with these arguments"))
    }

    pub(super) fn spend_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        self.spend(bytes / BYTES_A_STEP)
    }

    fn truth(&mut self, node: &'a Node) -> Result<bool, Fault> {
        match self.value(node)? {
            Val::Truth(truth) => Ok(truth),
            other => Err(Fault::told(format!("true or false is needed, and there is {}", other.sort()))),
        }
    }

    fn value(&mut self, node: &'a Node) -> Result<Val<'a>, Fault> {
        self.spend(1)?;
        Ok(match node {
            Node::Null => Val::Null,
            Node::Truth(truth) => Val::Truth(*truth),
            Node::Whole(number) => Val::Whole(*number),
            Node::Fraction(number) => Val::Fraction(*number),
            Node::Text(text) => Val::Text(text),
            Node::Fact(fact) => self.fact(*fact),
            Node::HasFact(fact) => Val::Truth(!is_empty(&self.fact(*fact))),
            Node::Args => self.args()?,
            Node::Item => self.item.clone(),
            Node::Select(part, field) => self.select(part, field)?,
            Node::Has(part, field) => Val::Truth(self.field(part, field)?.is_some()),
            Node::Index(parts) => self.index(parts)?,
            Node::List(parts) => Val::List(Rc::new(self.values(parts)?)),
            Node::Table(entries) => self.table(entries)?,
            Node::Not(part) => Val::Truth(!self.truth(part)?),
            Node::Negate(part) => self.negate(part)?,
            Node::Both(parts) => Val::Truth(self.unless(parts.iter(), false)?),
            Node::Either(parts) => Val::Truth(self.unless(parts.iter(), true)?),
            Node::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                let chosen = if self.truth(condition)? { then } else { otherwise };
                self.value(chosen)?
            }
            Node::Binary(operator, parts) => {
                let [left, right] = &**parts;
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.operate(*operator, left, right)?
            }
            Node::Call(function, parts) => {
                let arguments = self.values(parts)?;
                self.call(*function, &arguments)?
            }
            Node::Each(each) => self.each(each)?,
        })
    }

    fn values(&mut self, parts: &'a [Node]) -> Result<Vec<Val<'a>>, Fault> {
        parts.iter().map(|part| self.value(part)).collect()
    }

    fn table(&mut self, entries: &'a [(Node, Node)]) -> Result<Val<'a>, Fault> {
        let mut table: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.value(key)?;
            for (known, _) in &table {
                if self.equal(known, &key)? {
                    return Err(Fault::of("a table has the same key twice"));
                }
            }
            table.push((key, self.value(value)?));
        }
        Ok(Val::Table(Rc::new(table)))
    }

    fn fact(&self, fact: Fact) -> Val<'a> {
        let Scene { subject, tool, .. } = self.scene;
        let optional = |text: Option<&'a str>| Val::Text(text.unwrap_or_default());
        match fact {
            Fact::Name => optional(subject.name.as_deref()),
            Fact::Tenant => optional(subject.tenant.as_deref()),
            Fact::Role => optional(subject.role.map(Role::word)),
            Fact::Groups => Val::Texts(&subject.groups),
            Fact::Scopes => Val::Texts(&subject.scopes),
            Fact::ToolName => Val::Text(tool.name),
            Fact::ToolKind => Val::Text(tool.kind),
            Fact::ToolTags => Val::Texts(tool.tags),
            Fact::ToolCategory => optional(tool.category),
            Fact::ToolTenant => optional(tool.tenant),
            Fact::ToolHint(hint) => Val::Truth(hint.of(tool.hints)),
        }
    }

    fn args(&mut self) -> Result<Val<'a>, Fault> {
        let args = self.scene.args.ok_or(Fault::Unknown)?;
        let checked = self.arguments.get_or_insert_with(|| measure(args));
        checked.clone().map(|()| Val::Object(args))
    }

    /// What an object has under that name.
    fn field(&mut self, part: &'a Node, field: &'a str) -> Result<Option<Val<'a>>, Fault> {
        let object = self.value(part)?;
        if object.table_length().is_none() {
            return Err(Fault::told(format!("{} has no field {field:?}", object.sort())));
        }
        self.entry(&object, &Val::Text(field))
    }

    fn select(&mut self, part: &'a Node, field: &'a str) -> Result<Val<'a>, Fault> {
        self.field(part, field)?.ok_or_else(|| {
            Fault::told(format!("there is no {field:?}; ask has(…) first where it may be missing"))
        })
    }

    fn index(&mut self, parts: &'a [Node; 2]) -> Result<Val<'a>, Fault> {
        let [container, key] = parts;
        let (container, key) = (self.value(container)?, self.value(key)?);
        if container.table_length().is_some() {
            return self.entry(&container, &key)?.ok_or(Fault::of("there is nothing under that key"));
        }
        let at = match key {
            Val::Whole(at) => usize::try_from(at).ok(),
            Val::Fraction(at) => super::value::whole_of(at).and_then(|at| usize::try_from(at).ok()),
            _ => return Err(Fault::told(format!("{} has no entry for {}", container.sort(), key.sort()))),
        };
        at.and_then(|at| container.item(at)).ok_or(Fault::of("there is nothing at that place of the list"))
    }

    fn negate(&mut self, part: &'a Node) -> Result<Val<'a>, Fault> {
        match self.value(part)? {
            Val::Whole(number) => {
                number.checked_neg().map(Val::Whole).ok_or(Fault::of("a number becomes too large"))
            }
            Val::Fraction(number) => Ok(Val::Fraction(-number)),
            other => Err(Fault::told(format!("`-` does not go with {}", other.sort()))),
        }
    }

    /// `decisive` if any part is: then it is no matter which of the others fail. Otherwise all of them have to be fine.
    fn unless(&mut self, parts: impl Iterator<Item = &'a Node>, decisive: bool) -> Result<bool, Fault> {
        let mut fault = None;
        for part in parts {
            match self.truth(part) {
                Ok(truth) if truth == decisive => return Ok(decisive),
                Ok(_) => {}
                Err(found) => fault = Some(found.or(fault)),
            }
        }
        fault.map_or(Ok(!decisive), Err)
    }

    fn each(&mut self, each: &'a Each) -> Result<Val<'a>, Fault> {
        let range = self.value(&each.range)?;
        self.spend(range.table_length().unwrap_or(0))?;
        let sort = range.sort();
        let Some(range) = range.range() else {
            return Err(Fault::told(format!("{} does not go with {sort}", each.what.word())));
        };
        match each.what {
            Macro::All => self.unless_any(each, &range, false),
            Macro::Exists => self.unless_any(each, &range, true),
            Macro::ExistsOne => {
                let found = self.chosen(each, &range)?.len();
                Ok(Val::Truth(found == 1))
            }
            Macro::Map | Macro::Filter => Ok(Val::List(Rc::new(self.chosen(each, &range)?))),
        }
    }

    /// The same as [`Self::unless`] for the items of a list.
    fn unless_any(&mut self, each: &'a Each, range: &Val<'a>, decisive: bool) -> Result<Val<'a>, Fault> {
        let mut fault = None;
        for at in 0..range.list_length().unwrap_or(0) {
            self.item = range.item(at).unwrap_or(Val::Null);
            match self.truth(&each.body) {
                Ok(truth) if truth == decisive => return Ok(Val::Truth(decisive)),
                Ok(_) => {}
                // Without steps there is nothing more to find out.
                Err(found) if self.steps == 0 => return Err(found),
                Err(found) => fault = Some(found.or(fault)),
            }
        }
        fault.map_or(Ok(Val::Truth(!decisive)), Err)
    }

    /// The items that count, or what becomes of them.
    fn chosen(&mut self, each: &'a Each, range: &Val<'a>) -> Result<Vec<Val<'a>>, Fault> {
        let mut chosen = Vec::new();
        for at in 0..range.list_length().unwrap_or(0) {
            self.item = range.item(at).unwrap_or(Val::Null);
            if let Some(only) = &each.only
                && !self.truth(only)?
            {
                continue;
            }
            if each.what == Macro::Map {
                chosen.push(self.value(&each.body)?);
            } else if self.truth(&each.body)? {
                chosen.push(self.item.clone());
            }
        }
        Ok(chosen)
    }
}

fn is_empty(value: &Val<'_>) -> bool {
    value.text().is_some_and(str::is_empty) || value.list_length() == Some(0)
}

/// Refuses arguments that are larger or deeper than conditions look at.
fn measure(args: &Map<String, Value>) -> Result<(), Fault> {
    let mut room = LARGEST_ARGUMENTS;
    args.iter().try_for_each(|(key, value)| measure_entry(key, value, 2, &mut room))
}

fn measure_entry(key: &str, value: &Value, depth: usize, room: &mut usize) -> Result<(), Fault> {
    take(room, key.len() + 4)?;
    measure_value(value, depth, room)
}

fn measure_value(value: &Value, depth: usize, room: &mut usize) -> Result<(), Fault> {
    if depth > DEEPEST_ARGUMENTS && matches!(value, Value::Array(_) | Value::Object(_)) {
        return Err(Fault::of("the arguments have more than 64 levels, deeper than conditions look"));
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => take(room, 4),
        Value::String(text) => take(room, text.len() + 2),
        Value::Array(array) => {
            take(room, 2 + array.len())?;
            array.iter().try_for_each(|item| measure_value(item, depth + 1, room))
        }
        Value::Object(object) => {
            take(room, 2)?;
            object.iter().try_for_each(|(key, value)| measure_entry(key, value, depth + 1, room))
        }
    }
}

fn take(room: &mut usize, bytes: usize) -> Result<(), Fault> {
    *room = room
        .checked_sub(bytes)
        .ok_or(Fault::of("the arguments have more than 64 KiB, which conditions do not look through"))?;
    Ok(())
}
