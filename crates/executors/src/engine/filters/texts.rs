//! Filters over texts; other values are written as JSON first.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::utf8_percent_encode;

use super::super::fault::Fault;
use super::super::value::{Value, pay_for_list, pay_for_text};
use super::{FilterResult, Given, at_path};
use crate::meter::Meter;
use crate::percent::UNRESERVED;

pub(super) fn upper<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    changed(&value, meter, str::to_uppercase)
}

pub(super) fn lower<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    changed(&value, meter, str::to_lowercase)
}

pub(super) fn capitalize<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    changed(&value, meter, |text| {
        let mut characters = text.chars();
        let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        first + &characters.as_str().to_lowercase()
    })
}

pub(super) fn title<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    changed(&value, meter, |text| {
        let mut out = String::with_capacity(text.len());
        let mut begins = true;
        for character in text.chars() {
            let divides = matches!(character, '-' | '(' | '{' | '[' | '<') || character.is_whitespace();
            match (divides, begins) {
                (true, _) => out.push(character),
                (false, true) => out.extend(character.to_uppercase()),
                (false, false) => out.extend(character.to_lowercase()),
            }
            begins = divides;
        }
        out
    })
}

pub(super) fn trim<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let characters: Option<Vec<char>> = given.text(0, "chars", meter)?.map(|text| text.chars().collect());
    if let Some(characters) = &characters {
        // Each character of the text is looked for among these.
        let length = value.text(meter)?.len() as u64;
        meter.spend(length.saturating_mul(characters.len() as u64 / 16))?;
    }
    changed(&value, meter, |text| match &characters {
        Some(characters) => text.trim_matches(characters.as_slice()).to_owned(),
        None => text.trim().to_owned(),
    })
}

pub(super) fn replace<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let (Some(from), Some(to)) = (given.text(0, "old", meter)?, given.text(1, "new", meter)?) else {
        return Err(Fault::new("replace takes what to replace and what to put there"));
    };
    let text = value.text(meter)?;
    meter.read(text.len())?;
    let found = if from.is_empty() {
        text.chars().count() + 1
    } else {
        memchr::memmem::find_iter(text.as_bytes(), &from).count()
    };
    let kept = text.len() - found.saturating_mul(from.len()).min(text.len());
    pay_for_text(kept.saturating_add(found.saturating_mul(to.len())), meter)?;
    Ok(Value::from(text.replace(&from, &to)))
}

pub(super) fn split<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let separator = given.text(0, "sep", meter)?;
    let most = given
        .whole(1, "maxsplit")?
        .and_then(|most| usize::try_from(most).ok())
        .map_or(usize::MAX, |most| most.saturating_add(1));
    let text = value.text(meter)?;
    meter.take(text.len())?;
    let mut parts = Vec::new();
    let mut add = |part: &str, meter: &mut Meter| {
        pay_for_list(2, meter)?;
        parts.push(Value::from(part.to_owned()));
        Ok::<_, Fault>(())
    };
    if let Some(separator) = separator {
        for part in text.splitn(most, separator.as_str()) {
            add(part, meter)?;
        }
    } else {
        let mut rest = text.trim();
        for _ in 1..most {
            let Some((part, after)) = rest.split_once(char::is_whitespace) else { break };
            add(part, meter)?;
            rest = after.trim_start();
        }
        if !rest.is_empty() {
            add(rest, meter)?;
        }
    }
    Ok(Value::list(parts))
}

pub(super) fn lines<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    let text = value.text(meter)?;
    meter.take(text.len())?;
    let mut parts = Vec::new();
    for line in text.lines() {
        pay_for_list(2, meter)?;
        parts.push(Value::from(line.to_owned()));
    }
    Ok(Value::list(parts))
}

pub(super) fn join<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let separator = given.text(0, "d", meter)?.unwrap_or_default();
    let attribute = given.text(1, "attribute", meter)?;
    let mut out = String::new();
    for (index, item) in value.items(meter)?.into_iter().enumerate() {
        let item = match &attribute {
            Some(path) => at_path(&item, path, meter)?,
            None => item,
        };
        let text = item.text(meter)?;
        if index > 0 {
            out.push_str(&separator);
        }
        // What is there already was paid for; what is too large in all is refused here.
        pay_for_text(text.len() + separator.len(), meter)?;
        out.push_str(&text);
        if out.len() > super::super::fault::MOST_BYTES {
            return Err(super::super::fault::Why::TooLarge.into());
        }
    }
    Ok(Value::from(out))
}

pub(super) fn string<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    if value.as_str().is_some() {
        return Ok(value);
    }
    let text = value.text(meter)?.into_owned();
    pay_for_text(text.len(), meter)?;
    Ok(Value::from(text))
}

pub(super) fn escape<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    changed(&value, meter, |text| {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            match character {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&#x27;"),
                other => out.push(other),
            }
        }
        out
    })
}

pub(super) fn tojson<'d>(meter: &mut Meter, value: Value<'d>, given: &Given<'_, 'd>) -> FilterResult<'d> {
    let indented = given.get(0, "indent").is_some_and(Value::is_true);
    let text = if indented {
        let json = value.to_json(meter)?;
        serde_json::to_string_pretty(&json).unwrap_or_default()
    } else {
        let mut out = Vec::new();
        value.write_json(&mut out, meter)?;
        String::from_utf8(out).unwrap_or_default()
    };
    pay_for_text(text.len(), meter)?;
    Ok(Value::from(text))
}

pub(super) fn urlencode<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    changed(&value, meter, |text| utf8_percent_encode(text, UNRESERVED).to_string())
}

pub(super) fn b64encode<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    changed(&value, meter, |text| STANDARD.encode(text))
}

pub(super) fn b64decode<'d>(meter: &mut Meter, value: Value<'d>, _: &Given<'_, 'd>) -> FilterResult<'d> {
    let text = value.text(meter)?;
    pay_for_text(text.len(), meter)?;
    let decoded = STANDARD.decode(text.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.map(Value::from).ok_or_else(|| Fault::new("b64decode needs the base64 of a text"))
}

/// A text made of a text, at most six times as long.
fn changed<'d>(
    value: &Value<'d>,
    meter: &mut Meter,
    change: impl FnOnce(&str) -> String,
) -> FilterResult<'d> {
    let text = value.text(meter)?;
    // These go character by character, which is slower than copying.
    meter.spend(text.len() as u64 / 4)?;
    pay_for_text(text.len(), meter)?;
    let made = change(&text);
    pay_for_text(made.len().saturating_sub(text.len()), meter)?;
    if made.len() > super::super::fault::MOST_BYTES {
        return Err(super::super::fault::Why::TooLarge.into());
    }
    Ok(Value::from(made))
}
