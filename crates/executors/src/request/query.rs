//! Query parameters, of a URL and of `query`, and the fields of a form, which look the same. Arrays repeat the name;
//! what is absent or null is left out.

use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value};
use toolrail_core::CallError;

use super::{RequestSettings, Written, scalar_text, written_out};
use crate::percent::UNRESERVED;
use crate::template::{Compiler, Piece, Place, Rendering, Template};

/// One parameter, or several without templates.
#[derive(Debug)]
pub(crate) enum Parameter {
    /// As it is sent.
    Literal(String),
    /// A name, encoded and with its `=`, and its value.
    Value(String, Template),
}

impl Parameter {
    /// The decoded names in it, for finding a name that is set twice.
    pub(super) fn names(&self) -> Vec<String> {
        let text = match self {
            Self::Literal(text) => text,
            Self::Value(name, _) => name,
        };
        let name = |pair: &str| {
            percent_encoding::percent_decode_str(pair.split('=').next().unwrap_or_default())
                .decode_utf8_lossy()
                .into_owned()
        };
        text.split('&').map(name).collect()
    }
}

/// Compiles the query of the URL and the field `query`.
pub(super) fn compile(
    written: &Written<'_>,
    settings: &RequestSettings<'_>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<Parameter>> {
    let from_url = url_query(written, compiler);
    let listed =
        settings.query.map_or(Some(Vec::new()), |query| fields(query, &settings.pointer("query"), compiler));
    let (mut parameters, listed) = (from_url?, listed?);
    for name in listed.iter().flat_map(Parameter::names) {
        if parameters.iter().any(|parameter| parameter.names().contains(&name)) {
            compiler.problems.warning(
                crate::template::child(&settings.pointer("query"), &name),
                format!(
                    "the parameter {name:?} also stands in the URL, so it is sent twice; keep one of them"
                ),
            );
        }
    }
    parameters.extend(listed);
    Some(parameters)
}

/// Compiles a map of names to values.
pub(super) fn fields(
    members: &Map<String, Value>,
    pointer: &str,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<Parameter>> {
    let mut parameters = Vec::new();
    let mut whole = Some(());
    for (name, value) in members {
        let place = crate::template::child(pointer, name);
        compiler.check_key(name, &place);
        let items: Vec<(String, &Value)> = match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(index, item)| (format!("{place}/{index}"), item)).collect()
            }
            other => vec![(place, other)],
        };
        for (place, item) in items {
            match field(name, item, &place, compiler) {
                Some(parameter) => parameters.push(parameter),
                None => whole = None,
            }
        }
    }
    whole.map(|()| parameters)
}

fn field(name: &str, value: &Value, pointer: &str, compiler: &mut Compiler<'_>) -> Option<Parameter> {
    let text = scalar_text(value, pointer, compiler.problems)?;
    let template = compiler.template(&text, pointer, Place::Query)?;
    if template.literal().is_some() {
        written_out::warn(name, &text, pointer, compiler.problems);
    }
    let name = encoded_name(name);
    Some(match template.literal() {
        Some(value) => Parameter::Literal(format!("{name}{value}")),
        None => Parameter::Value(name, template),
    })
}

/// A name as it stands before its value, with the `=`.
pub(super) fn encoded_name(name: &str) -> String {
    format!("{}=", utf8_percent_encode(name, UNRESERVED))
}

/// Appends the parameters, the first one after `start` if there is any.
pub(super) fn write_parameters(
    parameters: &[Parameter],
    start: Option<char>,
    rendering: &mut Rendering<'_>,
    out: &mut String,
) -> Result<(), CallError> {
    let mut separator = start;
    let mut separate = move |out: &mut String| {
        out.extend(separator);
        separator = Some('&');
    };
    for parameter in parameters {
        match parameter {
            Parameter::Literal(text) => {
                separate(out);
                out.push_str(text);
            }
            Parameter::Value(name, template) => {
                template.each(rendering, |value| {
                    separate(out);
                    out.push_str(name);
                    out.push_str(value);
                    Ok(())
                })?;
            }
        }
    }
    Ok(())
}

fn url_query(written: &Written<'_>, compiler: &mut Compiler<'_>) -> Option<Vec<Parameter>> {
    let mut parameters = Vec::new();
    let mut whole = Some(());
    for pair in pairs(&written.query) {
        match url_parameter(&pair, &written.pointer, compiler) {
            Some(parameter) => parameters.push(parameter),
            None => whole = None,
        }
    }
    whole.map(|()| parameters)
}

/// The pieces between the ampersands.
fn pairs<'p>(pieces: &[Piece<'p>]) -> Vec<Vec<Piece<'p>>> {
    let mut pairs: Vec<Vec<Piece<'p>>> = Vec::new();
    let mut open = false;
    for piece in pieces {
        let parts: Vec<Piece<'p>> = match *piece {
            Piece::Literal(text) => text.split('&').map(Piece::Literal).collect(),
            other => vec![other],
        };
        for (index, part) in parts.into_iter().enumerate() {
            open &= index == 0;
            if matches!(part, Piece::Literal("")) {
                continue;
            }
            match pairs.last_mut() {
                Some(pair) if open => pair.push(part),
                _ => pairs.push(vec![part]),
            }
            open = true;
        }
    }
    pairs
}

fn url_parameter(pair: &[Piece<'_>], pointer: &str, compiler: &mut Compiler<'_>) -> Option<Parameter> {
    if let [Piece::Literal(text)] = pair {
        if let Some((name, value)) = text.split_once('=') {
            written_out::warn(name, value, pointer, compiler.problems);
        }
        return compiler
            .pieces(pair, pointer, Place::UrlQuery)?
            .literal()
            .map(|text| Parameter::Literal(text.to_owned()));
    }
    let Some((Piece::Literal(first), rest)) = pair.split_first() else {
        compiler
            .problems
            .error(pointer, "the name of a query parameter cannot be a template; write ?name={{args.value}}");
        return None;
    };
    let Some((name, start)) = first.split_once('=') else {
        compiler
            .problems
            .error(pointer, "the name of a query parameter cannot be a template; write ?name={{args.value}}");
        return None;
    };
    let mut value: Vec<_> =
        [Piece::Literal(start)].into_iter().filter(|piece| *piece != Piece::Literal("")).collect();
    value.extend(rest);
    let template = compiler.pieces(&value, pointer, Place::UrlQuery)?;
    Some(match template.literal() {
        Some(value) => Parameter::Literal(format!("{name}={value}")),
        None => Parameter::Value(format!("{name}="), template),
    })
}
