//! Request templates: text with `{{ expression }}` parts over `args` and `secrets`, compiled at registration. A value is
//! encoded for the place it goes to, so that no argument can change the shape of a request.

mod expression;
mod gathered;
mod inspect;
mod place;
mod placeholder;
mod render;
mod scan;
mod tree;

use serde_json::Value;
use toolrail_core::{
    ArgumentUse, CallError, Definition, ErrorCode, MASK, Problems, Secret, Secrets, ValueOrigin, Variables,
};

use crate::runtime::Runtime;
use crate::service::{self, Services};

use crate::outbound::Sensitive;

pub(crate) use expression::Expression;
pub(crate) use place::Place;
pub(crate) use render::{Evaluated, Rendering, text_of};
pub(crate) use scan::{Braces, Piece, scan};
pub(crate) use tree::Tree;

static NO_VARIABLES: Variables = Variables::none();
static NO_SERVICES: Services = Services::none();

/// What each item of a list takes up beside itself where it stands alone, such as in a header of its own.
const EACH: usize = 48;

/// A text with expressions in one place of a request.
#[derive(Debug)]
pub(crate) struct Template {
    pointer: String,
    place: Place,
    parts: Vec<TemplatePart>,
}

#[derive(Debug)]
enum TemplatePart {
    /// In the form in which it is sent.
    Literal(String),
    Expression(Expression),
}

/// What became of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Its value stands in the request.
    Placed,
    /// It was left out, because an argument is absent.
    Dropped,
}

/// A secret that a template names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedSecret {
    /// Its name.
    pub(crate) key: String,
    /// JSON pointer of the template.
    pub(crate) pointer: String,
    /// Whether it only says where the request goes.
    pub(crate) is_address: bool,
}

/// A `Host` header, which virtual hosts and networks that deliver for many go by instead of the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedHost {
    /// What it says, unless that is known only in a call.
    pub(crate) literal: Option<String>,
    /// JSON pointer of the header.
    pub(crate) pointer: String,
}

/// Compiles the templates of one definition and gathers what they refer to.
#[derive(Debug)]
pub(crate) struct Compiler<'c> {
    /// Where faults are noted.
    pub(crate) problems: &'c mut Problems,
    /// The secrets there are.
    pub(crate) secrets: &'c Secrets,
    /// The variables there are.
    variables: &'c Variables,
    /// The services there are.
    pub(crate) services: &'c Services,
    /// The values that were filled in already, because no call changes them.
    pub(crate) filled: Vec<ValueOrigin>,
    /// The arguments that were named so far.
    pub(crate) arguments: Vec<ArgumentUse>,
    /// Whether all arguments were taken together.
    pub(crate) all_arguments: bool,
    /// The arguments that the input schema declares.
    declared: Vec<&'c str>,
    /// The secrets that were named so far, and where.
    pub(crate) named_secrets: Vec<NamedSecret>,
    /// What was made from secrets and must be masked like them.
    pub(crate) derived_secrets: Vec<Secret>,
    /// The `Host` headers that were set so far.
    pub(crate) named_hosts: Vec<NamedHost>,
    /// Where requests are made in the name of whoever calls: JSON pointers of what says so.
    pub(crate) on_behalf: Vec<String>,
}

impl<'c> Compiler<'c> {
    /// A compiler that has seen nothing.
    pub(crate) fn new(problems: &'c mut Problems, secrets: &'c Secrets) -> Self {
        Self {
            problems,
            secrets,
            variables: &NO_VARIABLES,
            services: &NO_SERVICES,
            filled: Vec::new(),
            arguments: Vec::new(),
            all_arguments: false,
            declared: Vec::new(),
            named_secrets: Vec::new(),
            derived_secrets: Vec::new(),
            named_hosts: Vec::new(),
            on_behalf: Vec::new(),
        }
    }

    /// The same, for templates that run with that.
    pub(crate) fn on(runtime: &'c Runtime, problems: &'c mut Problems) -> Self {
        let Runtime { secrets, variables, services, .. } = runtime;
        Self { variables, services, ..Self::new(problems, secrets) }
    }

    /// The same, for the templates of that definition.
    pub(crate) fn of(definition: &'c Definition, problems: &'c mut Problems, runtime: &'c Runtime) -> Self {
        let properties = definition.input_schema.as_ref().and_then(|schema| schema.get("properties"));
        let declared = properties.and_then(Value::as_object).into_iter().flatten();
        Self { declared: declared.map(|(name, _)| name.as_str()).collect(), ..Self::on(runtime, problems) }
    }

    /// The same, for arguments that are declared elsewhere than in an input schema.
    pub(crate) fn declaring(self, names: &'c [String]) -> Self {
        Self { declared: names.iter().map(String::as_str).collect(), ..self }
    }

    /// Compiles a text; notes what is wrong with it.
    pub(crate) fn template(&mut self, text: &str, pointer: &str, place: Place) -> Option<Template> {
        match scan(text, Braces::Double) {
            Ok(pieces) => self.pieces(&pieces, pointer, place),
            Err(fault) => {
                self.problems.error(pointer, fault);
                None
            }
        }
    }

    /// Compiles a text that was already taken apart.
    pub(crate) fn pieces(&mut self, pieces: &[Piece<'_>], pointer: &str, place: Place) -> Option<Template> {
        let parts: Vec<_> = pieces.iter().map(|piece| self.part(*piece, pointer, place)).collect();
        let parts: Option<Vec<_>> = parts.into_iter().collect();
        Some(Template { pointer: pointer.to_owned(), place, parts: joined(parts?) })
    }

    fn part(&mut self, piece: Piece<'_>, pointer: &str, place: Place) -> Option<TemplatePart> {
        let part = match piece {
            Piece::Literal(text) => {
                for (found, meant) in placeholder::meant_as_templates(text, &self.declared) {
                    self.problems
                        .warning(pointer, format!("{found} is sent as it stands; write {{{{{meant}}}}}"));
                }
                place.literal(text).map(TemplatePart::Literal)
            }
            Piece::Expression(source) => self.expression(source, pointer, place),
            Piece::Argument(name) => Ok(TemplatePart::Expression(Expression::argument(name))),
        };
        match part {
            Ok(part) => {
                if let TemplatePart::Expression(expression) = &part {
                    self.gather(expression, pointer, place);
                }
                Some(part)
            }
            Err(fault) => {
                self.problems.error(pointer, fault);
                None
            }
        }
    }

    /// An expression, or what it comes to where that is known already.
    fn expression(&mut self, source: &str, pointer: &str, place: Place) -> Result<TemplatePart, String> {
        let expression = Expression::compile(source, self.variables)?;
        let Some(text) = expression.constant() else {
            for name in expression.variables().iter().filter(|name| self.variables.find(name).is_none()) {
                let how = Variables::how_to_set(name);
                self.problems.warning(
                    pointer,
                    format!("the variable {name:?} has no value here, so calls fail; {how}"),
                );
            }
            return Ok(TemplatePart::Expression(expression));
        };
        let mut placed = String::new();
        place.write(&text, &mut placed).map_err(|fault| format!("{} {fault}", expression.label()))?;
        let value = Some(Value::String(text));
        self.filled.push(ValueOrigin { pointer: pointer.to_owned(), from: source.to_owned(), value });
        Ok(TemplatePart::Literal(placed))
    }

    fn gather(&mut self, expression: &Expression, pointer: &str, place: Place) {
        let required = place == Place::Path && expression.needs_arguments();
        self.all_arguments |= expression.names_all_arguments();
        for name in expression.arguments() {
            let argument = ArgumentUse { name: name.clone(), pointer: pointer.to_owned(), required };
            if !self.arguments.contains(&argument) {
                self.arguments.push(argument);
            }
        }
        for key in expression.secrets() {
            let fault = match self.secrets.find(key) {
                None => Some(format!("has no value here, so calls fail; {}", self.secrets.how_to_set(key))),
                Some(secret) => Sensitive::is_too_short(secret.reveal())
                    .then(|| format!("{}, as calls fail", render::TOO_SHORT)),
            };
            if let Some(fault) = fault {
                self.problems.warning(pointer, format!("the secret {key:?} {fault}"));
            }
            let named = NamedSecret { key: key.clone(), pointer: pointer.to_owned(), is_address: false };
            if !self.named_secrets.contains(&named) {
                self.named_secrets.push(named);
            }
        }
    }

    /// Has what comes from a service point at the field of the definition that names it.
    pub(crate) fn settle_service(&mut self, field: &str) {
        self.problems.revise(|problem| service::told_at(field, problem));
        let secrets = self.named_secrets.iter_mut().map(|named| &mut named.pointer);
        for pointer in secrets.chain(&mut self.on_behalf) {
            service::pointed_at(field, pointer);
        }
    }
}

impl Template {
    /// The text, if there is no expression in it.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [TemplatePart::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The expression, if it is all there is: then its value keeps its JSON type.
    pub(crate) fn whole(&self) -> Option<&Expression> {
        match self.parts.as_slice() {
            [TemplatePart::Expression(expression)] => Some(expression),
            _ => None,
        }
    }

    /// JSON pointer of the text in the definition.
    pub(crate) fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Whether any of its values is secret.
    pub(crate) fn names_secret(&self) -> bool {
        self.expressions().any(|expression| !expression.secrets().is_empty())
    }

    /// Its expressions.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Expression(expression) => Some(expression),
            TemplatePart::Literal(_) => None,
        })
    }

    /// Appends the text, or nothing at all if an argument is absent.
    pub(crate) fn write(
        &self,
        rendering: &mut Rendering<'_>,
        out: &mut String,
    ) -> Result<Placement, CallError> {
        self.write_within(usize::MAX, rendering, out)
    }

    /// The same; a text of more than `most` bytes is refused.
    pub(crate) fn write_within(
        &self,
        most: usize,
        rendering: &mut Rendering<'_>,
        out: &mut String,
    ) -> Result<Placement, CallError> {
        let start = out.len();
        for part in &self.parts {
            if out.len() - start > most {
                break;
            }
            match part {
                TemplatePart::Literal(text) => out.push_str(text),
                TemplatePart::Expression(expression) => {
                    let value = rendering.evaluate(expression, &self.pointer)?;
                    if self.drops(&value) {
                        out.truncate(start);
                        self.note_dropped(expression, &value, rendering);
                        return Ok(Placement::Dropped);
                    }
                    self.encode(expression, &value, out)?;
                }
            }
        }
        if out.len() - start > most {
            let words = format!(
                "the text at {} grows beyond {most} bytes with these arguments; give shorter ones",
                self.pointer
            );
            return Err(CallError::new(ErrorCode::TooLarge, words).about_definition());
        }
        Ok(Placement::Placed)
    }

    /// Passes the text to `place`: once, or once for each item if the template is one whole expression and its value an
    /// array; not at all if an argument is absent.
    pub(crate) fn each(
        &self,
        rendering: &mut Rendering<'_>,
        mut place: impl FnMut(&str) -> Result<(), CallError>,
    ) -> Result<Placement, CallError> {
        if let Some(text) = self.literal() {
            place(text)?;
            return Ok(Placement::Placed);
        }
        let mut scratch = rendering.take_scratch();
        let placement = self.each_with(rendering, &mut scratch, &mut place);
        rendering.return_scratch(scratch);
        placement
    }

    fn each_with(
        &self,
        rendering: &mut Rendering<'_>,
        scratch: &mut String,
        place: &mut impl FnMut(&str) -> Result<(), CallError>,
    ) -> Result<Placement, CallError> {
        let Some(expression) = self.whole() else {
            let placement = self.write(rendering, scratch)?;
            if placement == Placement::Placed {
                place(scratch)?;
            }
            return Ok(placement);
        };
        let value = rendering.evaluate(expression, &self.pointer)?;
        if self.drops(&value) {
            self.note_dropped(expression, &value, rendering);
            return Ok(Placement::Dropped);
        }
        let Some(items) = value.items() else {
            self.encode(expression, &value, scratch)?;
            place(scratch)?;
            return Ok(Placement::Placed);
        };
        rendering.place(EACH * items.len(), &self.pointer)?;
        let mut placement = Placement::Dropped;
        for item in items.iter().map(Evaluated::Given).filter(|item| !self.drops(item)) {
            scratch.clear();
            self.encode(expression, &item, scratch)?;
            place(scratch)?;
            placement = Placement::Placed;
        }
        Ok(placement)
    }

    /// Appends the value as JSON, or nothing at all if an argument is absent.
    pub(crate) fn write_json(
        &self,
        rendering: &mut Rendering<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Placement, CallError> {
        if let Some(expression) = self.whole() {
            let value = rendering.evaluate(expression, &self.pointer)?;
            if matches!(value, Evaluated::Absent) {
                self.note_dropped(expression, &value, rendering);
                return Ok(Placement::Dropped);
            }
            value.write_json(out);
            return Ok(Placement::Placed);
        }
        let mut scratch = rendering.take_scratch();
        let placement = self.write(rendering, &mut scratch);
        if matches!(placement, Ok(Placement::Placed)) {
            toolrail_core::write_json_string(out, &scratch);
        }
        rendering.return_scratch(scratch);
        placement
    }

    fn drops(&self, value: &Evaluated<'_>) -> bool {
        matches!(value, Evaluated::Absent) || (self.place.drops_null() && value.is_null())
    }

    fn encode(
        &self,
        expression: &Expression,
        value: &Evaluated<'_>,
        out: &mut String,
    ) -> Result<(), CallError> {
        if matches!(value, Evaluated::Masked) {
            out.push_str(MASK);
            return Ok(());
        }
        self.place.write(&value.text(), out).map_err(|fault| {
            let words = format!("{} {fault}", expression.label());
            CallError::at_field(ErrorCode::InvalidArguments, &self.pointer, words)
        })
    }

    fn note_dropped(&self, expression: &Expression, value: &Evaluated<'_>, rendering: &mut Rendering<'_>) {
        let why = if value.is_null() { "null" } else { "absent" };
        rendering.note(|| format!("{} is left out: {} is {why}", self.pointer, expression.label()));
    }
}

/// Texts that meet become one.
fn joined(parts: Vec<TemplatePart>) -> Vec<TemplatePart> {
    let mut joined: Vec<TemplatePart> = Vec::with_capacity(parts.len());
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(TemplatePart::Literal(before)), TemplatePart::Literal(text)) => before.push_str(&text),
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// The JSON pointer of a member.
pub(crate) fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests;
