//! What the prelude is made of: the few functions that JavaScript does not have.

use std::rc::Rc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ring::rand::SecureRandom;
use ring::{digest, hmac};
use rquickjs::function::{IntoJsFunc, Opt};
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Result, Value};
use url::Url;

use super::instance::Shared;
use crate::wire::{End, LARGEST_BODY, LARGEST_QUESTION, Report};

/// The most timers of one script.
const MOST_TIMERS: usize = 1_000;

/// Makes the object that the prelude gets.
pub(super) fn native<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    speaking(ctx, &object, shared)?;
    texts(ctx, &object)?;
    addresses(ctx, &object)?;
    secrecy(ctx, &object)?;
    Ok(object)
}

fn add<'js, P>(
    ctx: &Ctx<'js>,
    object: &Object<'js>,
    name: &str,
    function: impl IntoJsFunc<'js, P> + 'js,
) -> Result<()> {
    object.set(name, Function::new(ctx.clone(), function)?)
}

/// Everything that leaves the script.
fn speaking<'js>(ctx: &Ctx<'js>, object: &Object<'js>, shared: &Rc<Shared>) -> Result<()> {
    let mine = Rc::clone(shared);
    add(ctx, object, "ask", move |ctx: Ctx<'js>, ask: u32, what: String, body: Value<'js>| {
        let size = ArrayBuffer::from_value(body.clone()).map_or(0, |buffer| buffer.len());
        if what.len() > LARGEST_QUESTION || size > LARGEST_BODY {
            let told = "a request has at most 1 MB of arguments or headers and 16 MB of body";
            return Err(Exception::throw_range(&ctx, told));
        }
        mine.take_ask(&ctx)?;
        let what =
            serde_json::from_str(&what).map_err(|error| Exception::throw_type(&ctx, &error.to_string()))?;
        let body = bytes_of(&body);
        let report = Report::Ask { call: mine.call.get(), ask, has_body: body.is_some(), what };
        mine.post(report, body.unwrap_or_default());
        Ok::<_, rquickjs::Error>(())
    })?;
    let mine = Rc::clone(shared);
    add(ctx, object, "tell", move |what: String| {
        if what.len() <= LARGEST_QUESTION
            && mine.take_message()
            && let Ok(what) = serde_json::from_str(&what)
        {
            mine.post(Report::Tell { call: mine.call.get(), what }, Vec::new());
        }
    })?;
    let mine = Rc::clone(shared);
    add(ctx, object, "timer", move |ctx: Ctx<'js>, id: u32, ms: f64| {
        let mut timers = mine.timers.borrow_mut();
        if timers.len() >= MOST_TIMERS {
            return Err(Exception::throw_range(&ctx, "a script has at most 1000 timers at once"));
        }
        timers.insert((Instant::now() + Duration::from_secs_f64(ms / 1_000.0), id));
        Ok(())
    })?;
    let mine = Rc::clone(shared);
    add(ctx, object, "done", move |text: String| {
        mine.is_settled.set(true);
        mine.end(End::Returned, text.into_bytes());
    })?;
    let mine = Rc::clone(shared);
    add(ctx, object, "failed", move |told: String| {
        mine.is_settled.set(true);
        mine.fail(&told);
    })?;
    let mine = Rc::clone(shared);
    add(ctx, object, "now", move || mine.started.elapsed().as_secs_f64() * 1_000.0)
}

fn texts<'js>(ctx: &Ctx<'js>, object: &Object<'js>) -> Result<()> {
    add(ctx, object, "encode", |ctx: Ctx<'js>, text: String| ArrayBuffer::new(ctx, text.into_bytes()))?;
    add(ctx, object, "decode", |buffer: ArrayBuffer<'js>, is_fatal: bool| {
        let bytes = copied(&buffer);
        match std::str::from_utf8(&bytes) {
            Ok(text) => Some(text.to_owned()),
            Err(_) if is_fatal => None,
            Err(_) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        }
    })?;
    add(ctx, object, "whole", |buffer: ArrayBuffer<'js>| {
        u32::try_from(whole_characters(&copied(&buffer))).unwrap_or(u32::MAX)
    })?;
    add(ctx, object, "toBase64", |buffer: ArrayBuffer<'js>| STANDARD.encode(copied(&buffer)))?;
    add(ctx, object, "fromBase64", |ctx: Ctx<'js>, text: String| {
        let text: String = text.chars().filter(|character| !character.is_ascii_whitespace()).collect();
        let bytes = STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok();
        bytes.map(|bytes| ArrayBuffer::new(ctx.clone(), bytes)).transpose()
    })
}

fn addresses<'js>(ctx: &Ctx<'js>, object: &Object<'js>) -> Result<()> {
    add(ctx, object, "readUrl", |text: String, base: Opt<Option<String>>| {
        let url = match base.0.flatten() {
            Some(base) => Url::parse(&base).and_then(|base| base.join(&text)),
            None => Url::parse(&text),
        };
        url.ok().map(|url| parts_of(&url))
    })?;
    add(ctx, object, "changeUrl", |text: String, part: String, value: String| {
        let mut url = Url::parse(&text).ok()?;
        change(&mut url, &part, &value)?;
        Some(parts_of(&url))
    })?;
    add(ctx, object, "readQuery", |text: String| {
        let pairs: Vec<_> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        serde_json::to_string(&pairs).unwrap_or_default()
    })?;
    add(ctx, object, "writeQuery", |pairs: String| {
        let pairs: Vec<(String, String)> = serde_json::from_str(&pairs).unwrap_or_default();
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    })
}

fn secrecy<'js>(ctx: &Ctx<'js>, object: &Object<'js>) -> Result<()> {
    add(ctx, object, "random", |ctx: Ctx<'js>, length: u32| {
        let mut bytes = vec![0; (length as usize).min(65_536)];
        ring::rand::SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| Exception::throw_internal(&ctx, "there is no randomness"))?;
        ArrayBuffer::new(ctx, bytes)
    })?;
    add(ctx, object, "digest", |ctx: Ctx<'js>, name: String, data: ArrayBuffer<'js>| {
        let made = digest::digest(algorithm(&name), &copied(&data));
        ArrayBuffer::new(ctx, made.as_ref().to_vec())
    })?;
    add(ctx, object, "hmac", |ctx: Ctx<'js>, name: String, key: ArrayBuffer<'js>, data: ArrayBuffer<'js>| {
        let key = hmac::Key::new(hmac_algorithm(&name), &copied(&key));
        ArrayBuffer::new(ctx, hmac::sign(&key, &copied(&data)).as_ref().to_vec())
    })
}

fn bytes_of(value: &Value<'_>) -> Option<Vec<u8>> {
    let buffer = ArrayBuffer::from_value(value.clone())?;
    Some(copied(&buffer))
}

#[expect(unsafe_code, reason = "the bytes are copied before any code of the script can run and change them")]
fn copied(buffer: &ArrayBuffer<'_>) -> Vec<u8> {
    // SAFETY: nothing else runs in the engine of this buffer while it is borrowed.
    unsafe { buffer.as_bytes() }.unwrap_or_default().to_vec()
}

/// How many of the bytes are whole characters: all, but for a character that is cut off at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // What is wrong in the middle is shown as such; only the end matters here.
        Err(_) => {
            let tail = bytes.iter().rev().take(3).position(|byte| *byte >= 0xC0);
            match tail {
                Some(back) if width(bytes[bytes.len() - 1 - back]) > back + 1 => bytes.len() - 1 - back,
                _ => bytes.len(),
            }
        }
        Ok(_) => bytes.len(),
    }
}

fn width(first: u8) -> usize {
    match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    }
}

/// The parts of an address as JSON, in the words of `URL`.
fn parts_of(url: &Url) -> String {
    use url::quirks;
    let parts = serde_json::json!({
        "href": quirks::href(url), "origin": quirks::origin(url), "protocol": quirks::protocol(url),
        "username": quirks::username(url), "password": quirks::password(url), "host": quirks::host(url),
        "hostname": quirks::hostname(url), "port": quirks::port(url), "pathname": quirks::pathname(url),
        "search": quirks::search(url), "hash": quirks::hash(url),
    });
    parts.to_string()
}

/// Sets one part; what does not fit leaves the address as it is, but for a whole new address.
fn change(url: &mut Url, part: &str, value: &str) -> Option<()> {
    use url::quirks;
    match part {
        "href" => quirks::set_href(url, value).ok()?,
        "protocol" => drop(quirks::set_protocol(url, value)),
        "username" => drop(quirks::set_username(url, value)),
        "password" => drop(quirks::set_password(url, value)),
        "host" => drop(quirks::set_host(url, value)),
        "hostname" => drop(quirks::set_hostname(url, value)),
        "port" => drop(quirks::set_port(url, value)),
        "pathname" => quirks::set_pathname(url, value),
        "search" => quirks::set_search(url, value),
        _ => quirks::set_hash(url, value),
    }
    Some(())
}

fn algorithm(name: &str) -> &'static digest::Algorithm {
    match name {
        "SHA-1" => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        "SHA-384" => &digest::SHA384,
        "SHA-512" => &digest::SHA512,
        _ => &digest::SHA256,
    }
}

fn hmac_algorithm(name: &str) -> hmac::Algorithm {
    match name {
        "SHA-1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "SHA-384" => hmac::HMAC_SHA384,
        "SHA-512" => hmac::HMAC_SHA512,
        _ => hmac::HMAC_SHA256,
    }
}
