//! Whether what is inside a value fits: the members of an object, the items of an array.

use serde_json::{Map, Value};

use super::evaluate::{Run, Verdict};
use super::node::{Check, Contains, Items, Members, NodeId};
use super::unique::has_repeated;

impl<'v> Run<'v> {
    pub(super) fn passes_object(
        &mut self,
        check: &'v Check,
        id: NodeId,
        members: &Map<String, Value>,
        value: &Value,
    ) -> Verdict {
        match check {
            Check::MinProperties(least) => Ok(members.len() as u64 >= *least),
            Check::MaxProperties(most) => Ok(members.len() as u64 <= *most),
            Check::Required(names) => self.has_all(names, members),
            Check::DependentRequired(named) => {
                for (name, names) in named {
                    self.spend(1)?;
                    if members.contains_key(&**name) && !self.has_all(names, members)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Check::Members(checked) => self.passes_members(checked, members),
            Check::MemberNames(node) => {
                for name in members.keys() {
                    if !self.name_fits(*node, name)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Check::DependentSchemas(named) | Check::Dependencies(named) => {
                for (name, node) in named {
                    self.spend(1)?;
                    if members.contains_key(&**name) && !self.fits(*node, value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Check::UnevaluatedMembers(node) => {
                let looked_at = self.members_looked_at(id, members, value)?;
                for (name, member) in members {
                    if !looked_at.contains(name.as_str()) && !self.fits(*node, member)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn has_all(&mut self, names: &[Box<str>], members: &Map<String, Value>) -> Verdict {
        self.spend(names.len() as u64)?;
        Ok(names.iter().all(|name| members.contains_key(&**name)))
    }

    fn passes_members(&mut self, checked: &'v Members, members: &Map<String, Value>) -> Verdict {
        let only_named = checked.patterns.is_empty() && checked.additional.is_none();
        if only_named && checked.named.len() <= members.len() {
            for (name, node) in &checked.named {
                if let Some(member) = members.get(&**name)
                    && !self.fits(*node, member)?
                {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        for (name, member) in members {
            if !self.member_fits(checked, name, member)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether one member fits whatever is asked of it.
    pub(super) fn member_fits(&mut self, checked: &'v Members, name: &str, member: &Value) -> Verdict {
        let named = checked.find(name);
        if let Some(node) = named
            && !self.fits(node, member)?
        {
            return Ok(false);
        }
        let mut is_additional = named.is_none();
        for (pattern, node) in &checked.patterns {
            if pattern.is_match(name, |steps| self.spend(steps))? {
                is_additional = false;
                if !self.fits(*node, member)? {
                    return Ok(false);
                }
            }
        }
        self.spend(1)?;
        checked.additional.filter(|_| is_additional).map_or(Ok(true), |node| self.fits(node, member))
    }

    pub(super) fn passes_array(
        &mut self,
        check: &'v Check,
        id: NodeId,
        items: &[Value],
        value: &Value,
    ) -> Verdict {
        match check {
            Check::MinItems(least) => Ok(items.len() as u64 >= *least),
            Check::MaxItems(most) => Ok(items.len() as u64 <= *most),
            Check::Items(checked) => self.passes_items(checked, items),
            Check::Contains(contains) => self.passes_contains(contains, items),
            Check::UniqueItems => Ok(!has_repeated(items, |steps| self.spend(steps))?),
            Check::UnevaluatedItems(node) => {
                let looked_at = self.items_looked_at(id, items, value)?;
                for (item, _) in items.iter().zip(looked_at).filter(|(_, looked_at)| !looked_at) {
                    if !self.fits(*node, item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn passes_items(&mut self, checked: &Items, items: &[Value]) -> Verdict {
        for (node, item) in checked.first.iter().zip(items) {
            if !self.fits(*node, item)? {
                return Ok(false);
            }
        }
        let Some(node) = checked.rest else {
            return Ok(true);
        };
        for item in items.iter().skip(checked.first.len()) {
            if !self.fits(node, item)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn passes_contains(&mut self, contains: &Contains, items: &[Value]) -> Verdict {
        let mut count = 0;
        for item in items {
            count += u64::from(self.fits(contains.node, item)?);
            let is_settled = match contains.most {
                Some(most) => count > most,
                None => count >= contains.least,
            };
            if is_settled {
                break;
            }
        }
        Ok(count >= contains.least && contains.most.is_none_or(|most| count <= most))
    }
}
