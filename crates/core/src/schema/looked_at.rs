//! Which members and items of a value a part has looked at, also by way of other parts that the value fits: what
//! `unevaluatedProperties` and `unevaluatedItems` leave alone.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Overrun;
use super::evaluate::Run;
use super::node::{Check, Condition, NodeId};

type Marked = Result<(), Overrun>;

/// What is marked: names of members, or items by their place.
enum Marks<'m> {
    Members(&'m Map<String, Value>, HashSet<&'m str>),
    Items(&'m [Value], Vec<bool>),
}

/// The part whose own `unevaluated…` asks: that does not count then.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asking {
    Itself,
    Another,
}

impl<'v> Run<'v> {
    /// The names of the members that the part has looked at.
    pub(super) fn members_looked_at<'m>(
        &mut self,
        id: NodeId,
        members: &'m Map<String, Value>,
        value: &'m Value,
    ) -> Result<HashSet<&'m str>, Overrun> {
        let mut marks = Marks::Members(members, HashSet::new());
        self.mark(id, Asking::Itself, value, &mut marks)?;
        Ok(match marks {
            Marks::Members(_, names) => names,
            Marks::Items(..) => HashSet::new(),
        })
    }

    /// For every item, whether the part has looked at it.
    pub(super) fn items_looked_at(
        &mut self,
        id: NodeId,
        items: &[Value],
        value: &Value,
    ) -> Result<Vec<bool>, Overrun> {
        let mut marks = Marks::Items(items, vec![false; items.len()]);
        self.mark(id, Asking::Itself, value, &mut marks)?;
        Ok(match marks {
            Marks::Items(_, marked) => marked,
            Marks::Members(..) => Vec::new(),
        })
    }

    fn mark<'m>(&mut self, id: NodeId, asking: Asking, value: &'m Value, marks: &mut Marks<'m>) -> Marked {
        let checks = self.checks(id);
        self.spend(1 + checks.len() as u64)?;
        if !self.begins_marking(id, value) {
            return Ok(());
        }
        self.deeper()?;
        for check in checks {
            match marks {
                Marks::Members(members, names) => {
                    let members: &'m Map<String, Value> = members;
                    self.mark_members(check, asking, members, names)?;
                }
                Marks::Items(items, marked) => {
                    let items: &'m [Value] = items;
                    self.mark_items(check, asking, items, marked)?;
                }
            }
            self.mark_by_way_of(check, value, marks)?;
        }
        self.higher();
        self.ends_marking();
        Ok(())
    }

    /// What other parts have looked at that look at the same value.
    fn mark_by_way_of<'m>(&mut self, check: &'v Check, value: &'m Value, marks: &mut Marks<'m>) -> Marked {
        match check {
            Check::Reference(node) => self.mark(*node, Asking::Another, value, marks),
            Check::All(nodes) | Check::Any(nodes) => {
                for node in nodes {
                    self.mark_if_fits(*node, value, marks)?;
                }
                Ok(())
            }
            Check::One(nodes) => {
                let mut fitting = Vec::new();
                for node in nodes {
                    if self.fits(*node, value)? {
                        fitting.push(*node);
                    }
                }
                match fitting.as_slice() {
                    [node] => self.mark(*node, Asking::Another, value, marks),
                    _ => Ok(()),
                }
            }
            Check::If(condition) => self.mark_condition(condition, value, marks),
            Check::DependentSchemas(named) => {
                for (name, node) in named {
                    if value.get(&**name).is_some() {
                        self.mark(*node, Asking::Another, value, marks)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn mark_if_fits<'m>(&mut self, node: NodeId, value: &'m Value, marks: &mut Marks<'m>) -> Marked {
        if self.fits(node, value)? { self.mark(node, Asking::Another, value, marks) } else { Ok(()) }
    }

    fn mark_condition<'m>(
        &mut self,
        condition: &Condition,
        value: &'m Value,
        marks: &mut Marks<'m>,
    ) -> Marked {
        let fits = self.fits(condition.asked, value)?;
        let branches =
            if fits { [Some(condition.asked), condition.then] } else { [None, condition.otherwise] };
        for node in branches.into_iter().flatten() {
            self.mark(node, Asking::Another, value, marks)?;
        }
        Ok(())
    }

    fn mark_members<'m>(
        &mut self,
        check: &'v Check,
        asking: Asking,
        members: &'m Map<String, Value>,
        names: &mut HashSet<&'m str>,
    ) -> Marked {
        match check {
            Check::Members(checked) => {
                for name in members.keys() {
                    self.spend(1)?;
                    let mut is_marked = checked.additional.is_some() || checked.find(name).is_some();
                    for (pattern, _) in &checked.patterns {
                        if is_marked {
                            break;
                        }
                        is_marked = pattern.is_match(name, |steps| self.spend(steps))?;
                    }
                    if is_marked {
                        names.insert(name);
                    }
                }
            }
            Check::UnevaluatedMembers(node) if asking == Asking::Another => {
                for (name, member) in members {
                    if !names.contains(name.as_str()) && self.fits(*node, member)? {
                        names.insert(name);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn mark_items(
        &mut self,
        check: &'v Check,
        asking: Asking,
        items: &[Value],
        marked: &mut [bool],
    ) -> Marked {
        match check {
            Check::Items(checked) => {
                self.spend(items.len() as u64 / 16)?;
                let end = if checked.rest.is_some() { marked.len() } else { checked.first.len() };
                marked.iter_mut().take(end).for_each(|marked| *marked = true);
            }
            Check::Contains(contains) => {
                for (item, marked) in items.iter().zip(marked) {
                    *marked = *marked || self.fits(contains.node, item)?;
                }
            }
            Check::UnevaluatedItems(node) if asking == Asking::Another => {
                for (item, marked) in items.iter().zip(marked) {
                    *marked = *marked || self.fits(*node, item)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
