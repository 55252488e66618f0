//! Whether an array has an item twice: by hashes that equal values share, so that it takes as long as the array is long.

use std::hash::{BuildHasher, Hasher, RandomState};

use serde_json::Value;

use super::Overrun;

/// As many items are compared with each other without a hash.
const FEW: usize = 8;

/// Whether two items are equal; `spend` is told of the work.
pub(super) fn has_repeated(
    items: &[Value],
    mut spend: impl FnMut(u64) -> Result<(), Overrun>,
) -> Result<bool, Overrun> {
    if items.len() <= FEW && !items.iter().any(|item| item.is_array() || item.is_object()) {
        let later = |at: usize| items.iter().skip(at + 1);
        return Ok(items.iter().enumerate().any(|(at, item)| later(at).any(|other| equal(item, other))));
    }
    let state = RandomState::new();
    let mut hashed = Vec::with_capacity(items.len());
    for item in items {
        hashed.push((hash_of(item, &state, &mut spend)?, item));
    }
    hashed.sort_unstable_by_key(|(hash, _)| *hash);
    for alike in hashed.chunk_by(|(hash, _), (other, _)| hash == other) {
        for (at, (_, item)) in alike.iter().enumerate() {
            for (_, other) in alike.iter().skip(at + 1) {
                spend(4)?;
                if equal(item, other) {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

fn equal(one: &Value, other: &Value) -> bool {
    jsonschema_value::cmp::equal(one, other)
}

/// A hash by which equal values are alike: numbers by their value, objects whatever the order of their members.
fn hash_of(
    value: &Value,
    state: &RandomState,
    spend: &mut impl FnMut(u64) -> Result<(), Overrun>,
) -> Result<u64, Overrun> {
    spend(1)?;
    Ok(match value {
        Value::Null => 1,
        Value::Bool(bool) => 2 + u64::from(*bool),
        // Zero has two signs.
        Value::Number(number) => state.hash_one(number.as_f64().map_or(0, |number| (number + 0.0).to_bits())),
        Value::String(text) => {
            spend(text.len() as u64 / 32)?;
            state.hash_one(text)
        }
        Value::Array(items) => {
            let mut hasher = state.build_hasher();
            for item in items {
                hasher.write_u64(hash_of(item, state, spend)?);
            }
            hasher.finish()
        }
        Value::Object(members) => {
            let mut sum = members.len() as u64;
            for (name, member) in members {
                spend(name.len() as u64 / 32)?;
                sum = sum.wrapping_add(state.hash_one((name, hash_of(member, state, spend)?)));
            }
            sum
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn repeated(value: &Value) -> bool {
        has_repeated(value.as_array().unwrap(), |_| Ok(())).unwrap()
    }

    #[test]
    fn equal_items_are_found_however_they_are_written() {
        for array in [
            json!([1, 2, 1.0]),
            json!([0.0, -0.0]),
            json!([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]),
            json!([1, 2, 3, 4, 5, 6, 7, 8, 9, "x", [], {}, {}]),
        ] {
            assert!(repeated(&array), "{array}");
        }
        for array in [
            json!([1, true, "1", null, [1], {"1": 1}]),
            json!([[1, 2], [2, 1], [[1], 2]]),
            json!([9_007_199_254_740_993_u64, 9_007_199_254_740_992_u64]),
            json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, false]),
        ] {
            assert!(!repeated(&array), "{array}");
        }
    }
}
