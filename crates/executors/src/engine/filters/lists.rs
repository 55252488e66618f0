//! Filters over lists and objects.

use std::cmp::Ordering;

use super::super::fault::{Fault, Why};
use super::super::operate::{equal, order};
use super::super::tests::Test;
use super::super::value::{Value, pay_for_list};
use super::{Filter, FilterResult, Given, at_path};
use crate::meter::Meter;

pub(super) fn length<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    Ok(Value::Int(i128::try_from(value.length(meter)?).unwrap_or(i128::MAX)))
}

pub(super) fn first<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    match &value {
        Value::Map(_) => Ok(value.items(meter)?.into_iter().next().unwrap_or(Value::Undefined)),
        Value::Text(_) | Value::List(_) => value.item(&Value::Int(0), meter),
        _ => Err(Fault::new(format!("{} has no first item", value.sort()))),
    }
}

pub(super) fn last<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    match &value {
        Value::Text(_) | Value::List(_) => value.item(&Value::Int(-1), meter),
        _ => Err(Fault::new(format!("{} has no last item", value.sort()))),
    }
}

pub(super) fn list<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    Ok(Value::list(value.items(meter)?))
}

pub(super) fn reverse<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    if let Some(text) = value.as_str() {
        meter.take(text.len())?;
        return Ok(Value::from(text.chars().rev().collect::<String>()));
    }
    let mut items = value.items(meter)?;
    items.reverse();
    Ok(Value::list(items))
}

pub(super) fn min<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    extreme(meter, &value, given, |ordering| ordering == Ordering::Less)
}

pub(super) fn max<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    extreme(meter, &value, given, |ordering| ordering != Ordering::Less)
}

fn extreme<'d>(
    meter: &mut Meter,
    value: &Value<'d>,
    given: &Given<'_, 'd>,
    replaces: fn(Ordering) -> bool,
) -> FilterResult<'d> {
    let mut best: Option<(Value<'d>, Value<'d>)> = None;
    for (key, item) in keyed(meter, value, given, usize::MAX)? {
        let better = match &best {
            Some((known, _)) => replaces(order(&key, known, meter)?),
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::Undefined, |(_, item)| item))
}

pub(super) fn sort<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let keyed = keyed(meter, &value, given, usize::MAX)?;
    let items = sorted(meter, keyed, given.is_set("reverse"))?;
    Ok(Value::list(items.into_iter().map(|(_, item)| item).collect()))
}

pub(super) fn dictsort<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let Value::Map(map) = &value else {
        return Err(Fault::new(format!("dictsort takes an object, not {}", value.sort())));
    };
    let by_value = given.get(1, "by").and_then(Value::as_str) == Some("value");
    let mut pairs = Vec::new();
    for (key, member) in map.members(meter)? {
        let key = Value::Text(key);
        let by = folded(if by_value { member.clone() } else { key.clone() }, given, meter)?;
        pay_for_list(2, meter)?;
        pairs.push((by, Value::list(vec![key, member])));
    }
    let pairs = sorted(meter, pairs, given.is_set("reverse"))?;
    Ok(Value::list(pairs.into_iter().map(|(_, pair)| pair).collect()))
}

pub(super) fn unique<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let keyed = keyed(meter, &value, given, 1)?;
    let places = keyed.into_iter().enumerate();
    let placed: Vec<_> = places.map(|(place, (key, item))| (key, (place, item))).collect();
    let mut kept: Vec<(usize, Value<'d>)> = Vec::new();
    let mut before: Option<Value<'d>> = None;
    for (key, placed) in sorted(meter, placed, false)? {
        let known = match &before {
            Some(before) => equal(before, &key, meter)?,
            None => false,
        };
        if !known {
            kept.push(placed);
        }
        before = Some(key);
    }
    kept.sort_by_key(|(place, _)| *place);
    Ok(Value::list(kept.into_iter().map(|(_, item)| item).collect()))
}

pub(super) fn items<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    let Value::Map(map) = &value else {
        return Err(Fault::new(format!("items takes an object, not {}", value.sort())));
    };
    let members = map.members(meter)?;
    pay_for_list(2 * members.len(), meter)?;
    Ok(Value::list(
        members.into_iter().map(|(key, value)| Value::list(vec![Value::Text(key), value])).collect(),
    ))
}

pub(super) fn map<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let items = value.items(meter)?;
    if let Some(path) = given.text(usize::MAX, "attribute", meter)? {
        let otherwise = given.get(usize::MAX, "default");
        let mapped = items.iter().map(|item| {
            let found = at_path(item, &path, meter)?;
            Ok(if found.is_undefined() { otherwise.cloned().unwrap_or(found) } else { found })
        });
        return Ok(Value::list(mapped.collect::<Result<_, Fault>>()?));
    }
    let name = given.get(0, "").and_then(Value::as_str).unwrap_or_default();
    let filter = Filter::find(name).ok_or_else(|| {
        Fault::new("map takes the name of a filter or attribute='name', as in map('upper')")
    })?;
    let rest = Given { positional: given.positional[1..].to_vec(), named: given.named.clone() };
    let mut mapped = Vec::with_capacity(items.len());
    for item in items {
        meter.spend(5)?;
        if item.is_undefined() && !filter.takes_absent {
            return Err(Why::Undefined.into());
        }
        mapped.push((filter.apply)(meter, item, &rest)?);
    }
    Ok(Value::list(mapped))
}

pub(super) fn select<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    chosen(meter, &value, None, given, true)
}

pub(super) fn reject<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    chosen(meter, &value, None, given, false)
}

pub(super) fn selectattr<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    chosen_by_attribute(meter, &value, given, true)
}

pub(super) fn rejectattr<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    chosen_by_attribute(meter, &value, given, false)
}

fn chosen_by_attribute<'d>(
    meter: &mut Meter,
    value: &Value<'d>,
    given: &Given<'_, 'd>,
    wanted: bool,
) -> FilterResult<'d> {
    let Some(path) = given.text(0, "", meter)? else {
        return Err(Fault::new("name the attribute, as in selectattr('active')"));
    };
    let rest = Given { positional: given.positional[1..].to_vec(), named: Vec::new() };
    chosen(meter, value, Some(&path), &rest, wanted)
}

/// The items, or those whose attribute, passes the test that is named first; without one, those that count as true.
fn chosen<'d>(
    meter: &mut Meter,
    value: &Value<'d>,
    path: Option<&str>,
    given: &Given<'_, 'd>,
    wanted: bool,
) -> FilterResult<'d> {
    let test = match given.get(0, "") {
        None => None,
        Some(name) => {
            let name = name.as_str().unwrap_or_default();
            Some(Test::find(name).ok_or_else(|| Fault::new(format!("there is no test {name:?}")))?)
        }
    };
    let rest = Given { positional: given.positional.iter().skip(1).cloned().collect(), named: Vec::new() };
    let mut chosen = Vec::new();
    for item in value.items(meter)? {
        meter.spend(5)?;
        let looked_at = match path {
            Some(path) => at_path(&item, path, meter)?,
            None => item.clone(),
        };
        let holds = match test {
            Some(test) => (test.holds)(meter, &looked_at, &rest)?,
            None => looked_at.is_true(),
        };
        if holds == wanted {
            chosen.push(item);
        }
    }
    Ok(Value::list(chosen))
}

pub(super) fn groupby<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let Some(path) = given.text(0, "attribute", meter)? else {
        return Err(Fault::new("groupby takes the name of an attribute, as in groupby('city')"));
    };
    let otherwise = given.get(1, "default");
    let mut keyed = Vec::new();
    for item in value.items(meter)? {
        let found = at_path(&item, &path, meter)?;
        let key = if found.is_undefined() { otherwise.cloned().unwrap_or(found) } else { found };
        keyed.push((key, item));
    }
    let mut groups: Vec<(Value<'d>, Vec<Value<'d>>)> = Vec::new();
    for (key, item) in sorted(meter, keyed, false)? {
        pay_for_list(2, meter)?;
        match groups.last_mut() {
            Some((known, members)) if equal(known, &key, meter)? => members.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    Ok(Value::list(
        groups.into_iter().map(|(key, members)| Value::list(vec![key, Value::list(members)])).collect(),
    ))
}

pub(super) fn zip<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let mut lists = vec![value.items(meter)?.into_iter()];
    for other in &given.positional {
        lists.push(other.items(meter)?.into_iter());
    }
    let mut rows = Vec::new();
    loop {
        let row: Option<Vec<_>> = lists.iter_mut().map(Iterator::next).collect();
        let Some(row) = row else {
            return Ok(Value::list(rows));
        };
        pay_for_list(row.len() + 1, meter)?;
        rows.push(Value::list(row));
    }
}

pub(super) fn chain<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let mut items = value.items(meter)?;
    for other in &given.positional {
        items.extend(other.items(meter)?);
    }
    pay_for_list(items.len(), meter)?;
    Ok(Value::list(items))
}

pub(super) fn attr<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let key = given.get(0, "name").cloned().unwrap_or(Value::Undefined);
    value.item(&key, meter)
}

type Keyed<'d> = Vec<(Value<'d>, Value<'d>)>;

/// The items, each with what it is ordered by: an attribute, several, or itself. Letters count the same in either case,
/// unless `case_sensitive` says otherwise.
fn keyed<'d>(
    meter: &mut Meter,
    value: &Value<'d>,
    given: &Given<'_, 'd>,
    place: usize,
) -> Result<Keyed<'d>, Fault> {
    let attribute = given.text(place, "attribute", meter)?;
    let items = value.items(meter)?;
    pay_for_list(items.len(), meter)?;
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        let key = match &attribute {
            None => folded(item.clone(), given, meter)?,
            Some(paths) if paths.contains(',') => {
                let mut parts = Vec::new();
                for path in paths.split(',').map(str::trim).filter(|path| !path.is_empty()) {
                    pay_for_list(1, meter)?;
                    parts.push(folded(at_path(&item, path, meter)?, given, meter)?);
                }
                Value::list(parts)
            }
            Some(path) => folded(at_path(&item, path, meter)?, given, meter)?,
        };
        keyed.push((key, item));
    }
    Ok(keyed)
}

fn folded<'d>(key: Value<'d>, given: &Given<'_, 'd>, meter: &mut Meter) -> FilterResult<'d> {
    let Some(text) = key.as_str().filter(|_| !given.is_set("case_sensitive")) else {
        return Ok(key);
    };
    meter.spend(text.len() as u64 / 4)?;
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Value::of_text(&text.to_ascii_lowercase(), meter);
    }
    Ok(key)
}

/// In order of their keys; equal ones stay in theirs. Our own, since it must be able to stop, and since values of different
/// sorts have an order that is good enough to read but that the standard library may find fault with.
fn sorted<'d, T>(
    meter: &mut Meter,
    keyed: Vec<(Value<'d>, T)>,
    reverse: bool,
) -> Result<Vec<(Value<'d>, T)>, Fault> {
    let count = keyed.len();
    let mut places: Vec<usize> = (0..count).collect();
    let mut merged = Vec::with_capacity(count);
    let mut width = 1;
    while width < count {
        merged.clear();
        for run in places.chunks(2 * width) {
            let (left, right) = run.split_at(width.min(run.len()));
            let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
            while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
                let ordering = order(&keyed[**first].0, &keyed[**second].0, meter)?;
                let ordering = if reverse { ordering.reverse() } else { ordering };
                merged.extend(if ordering.is_le() { left.next() } else { right.next() });
            }
            merged.extend(left.chain(right));
        }
        std::mem::swap(&mut places, &mut merged);
        width *= 2;
    }
    let mut slots: Vec<_> = keyed.into_iter().map(Some).collect();
    Ok(places.into_iter().filter_map(|place| slots[place].take()).collect())
}
