//! What each keyword of a schema asks, as checks.

use std::sync::Arc;

use jsonschema_value::numeric_check::{BoundOp, compile_bound};
use serde_json::{Map, Value};

use super::build::{Builder, SchemaSpot};
use super::known::Known;
use super::node::{Bound, Check, Choices, Condition, Contains, Fixed, Items, Members, NodeId, Types};
use super::pattern::Pattern;
use super::quote::{brief, listed};
use super::{Dialect, Violation, member};

type Schema<'s> = &'s Map<String, Value>;
type Added = Result<(), Violation>;
type Named = Vec<(Box<str>, NodeId)>;

impl<'s> Builder<'s> {
    /// What the keywords ask that need no other schema.
    pub(super) fn add_assertions(
        &mut self,
        schema: Schema<'s>,
        spot: &SchemaSpot<'s>,
        checks: &mut Vec<Check>,
    ) -> Added {
        for (keyword, value) in schema {
            if let Some(check) = simple_check(keyword, value) {
                checks.push(check);
            }
        }
        if self.dialect == Dialect::Current
            && let Some(Value::Object(named)) = member(schema, "dependentRequired")
        {
            let named = named.iter().map(|(name, names)| (name.as_str().into(), names_in(names)));
            checks.push(Check::DependentRequired(named.collect()));
        }
        if let Some(text) = member(schema, "pattern").and_then(Value::as_str) {
            checks.push(Check::Pattern(self.pattern(text, &spot.inner(spot.place.value, &["pattern"]))?));
        }
        // In 2020-12 formats and encodings are only said, not checked.
        if self.dialect == Dialect::Draft7 {
            let known = [Known::format_of(schema), Known::content_of(schema)];
            checks.extend(known.into_iter().flatten().map(|known| Check::Known(Box::new(known))));
        }
        Ok(())
    }

    fn pattern(&mut self, text: &str, spot: &SchemaSpot<'s>) -> Result<Arc<Pattern>, Violation> {
        let pattern = self.patterns.compile(text).map_err(|message| spot.fault(message))?;
        if pattern.is_tried() {
            self.tried.push(spot.pointer.clone());
        }
        Ok(pattern)
    }

    /// What the keywords ask by way of other schemas.
    pub(super) fn add_applicators(
        &mut self,
        schema: Schema<'s>,
        spot: &SchemaSpot<'s>,
        checks: &mut Vec<Check>,
    ) -> Added {
        self.add_members(schema, spot, checks)?;
        self.add_items(schema, spot, checks)?;
        for (keyword, make) in [
            ("allOf", Check::All as fn(Box<[NodeId]>) -> Check),
            ("anyOf", Check::Any),
            ("oneOf", Check::One),
        ] {
            if let Some(nodes) = self.list(schema, keyword, spot)? {
                checks.push(make(nodes));
            }
        }
        checks.extend(self.one(schema, "not", spot)?.map(Check::Not));
        if let Some(condition) = self.one(schema, "if", spot)? {
            let (then, otherwise) = (self.one(schema, "then", spot)?, self.one(schema, "else", spot)?);
            checks.push(Check::If(Box::new(Condition { asked: condition, then, otherwise })));
        }
        self.add_dependencies(schema, spot, checks)?;
        if self.dialect == Dialect::Current {
            if let Some(target) = member(schema, "$dynamicRef").and_then(Value::as_str) {
                checks.push(Check::Reference(self.dynamic_target_of(target, spot)?));
            }
            let unevaluated = self.one(schema, "unevaluatedProperties", spot)?;
            checks.extend(unevaluated.map(Check::UnevaluatedMembers));
            checks.extend(self.one(schema, "unevaluatedItems", spot)?.map(Check::UnevaluatedItems));
        }
        Ok(())
    }

    fn add_members(&mut self, schema: Schema<'s>, spot: &SchemaSpot<'s>, checks: &mut Vec<Check>) -> Added {
        let mut members = Members {
            named: self.named(schema, "properties", spot)?.unwrap_or_default(),
            ..Members::default()
        };
        members.named.sort();
        if let Some(Value::Object(patterns)) = member(schema, "patternProperties") {
            for (text, value) in patterns {
                let inner = spot.inner(value, &["patternProperties", text]);
                members.patterns.push((self.pattern(text, &inner)?, self.node_of(inner)?));
            }
        }
        members.additional = self.one(schema, "additionalProperties", spot)?;
        if !members.named.is_empty() || !members.patterns.is_empty() || members.additional.is_some() {
            checks.push(Check::Members(Box::new(members)));
        }
        checks.extend(self.one(schema, "propertyNames", spot)?.map(Check::MemberNames));
        Ok(())
    }

    fn add_items(&mut self, schema: Schema<'s>, spot: &SchemaSpot<'s>, checks: &mut Vec<Check>) -> Added {
        let items = match (self.dialect, member(schema, "items")) {
            (Dialect::Draft7, Some(Value::Array(_))) => Items {
                first: self.list(schema, "items", spot)?.unwrap_or_default(),
                rest: self.one(schema, "additionalItems", spot)?,
            },
            (Dialect::Draft7, _) => Items { first: Box::default(), rest: self.one(schema, "items", spot)? },
            (Dialect::Current, _) => Items {
                first: self.list(schema, "prefixItems", spot)?.unwrap_or_default(),
                rest: self.one(schema, "items", spot)?,
            },
        };
        if !items.first.is_empty() || items.rest.is_some() {
            checks.push(Check::Items(Box::new(items)));
        }
        if let Some(node) = self.one(schema, "contains", spot)? {
            let bound = |keyword| {
                (self.dialect == Dialect::Current).then(|| member(schema, keyword).and_then(count)).flatten()
            };
            let (least, most) = (bound("minContains").unwrap_or(1), bound("maxContains"));
            checks.push(Check::Contains(Box::new(Contains { node, least, most })));
        }
        Ok(())
    }

    fn add_dependencies(
        &mut self,
        schema: Schema<'s>,
        spot: &SchemaSpot<'s>,
        checks: &mut Vec<Check>,
    ) -> Added {
        if self.dialect == Dialect::Current
            && let Some(named) = self.named(schema, "dependentSchemas", spot)?
        {
            checks.push(Check::DependentSchemas(named.into()));
        }
        let Some(Value::Object(named)) = member(schema, "dependencies") else {
            return Ok(());
        };
        let (mut required, mut schemas) = (Vec::new(), Vec::new());
        for (name, value) in named {
            if value.is_array() {
                required.push((name.as_str().into(), names_in(value)));
            } else {
                let node = self.node_of(spot.inner(value, &["dependencies", name]))?;
                schemas.push((name.as_str().into(), node));
            }
        }
        checks.push(Check::DependentRequired(required.into()));
        checks.push(Check::Dependencies(schemas.into()));
        Ok(())
    }

    fn one(
        &mut self,
        schema: Schema<'s>,
        keyword: &str,
        spot: &SchemaSpot<'s>,
    ) -> Result<Option<NodeId>, Violation> {
        let value = member(schema, keyword);
        value.map(|value| self.node_of(spot.inner(value, &[keyword]))).transpose()
    }

    fn list(
        &mut self,
        schema: Schema<'s>,
        keyword: &str,
        spot: &SchemaSpot<'s>,
    ) -> Result<Option<Box<[NodeId]>>, Violation> {
        let Some(Value::Array(values)) = member(schema, keyword) else {
            return Ok(None);
        };
        let nodes = values.iter().enumerate();
        let nodes = nodes.map(|(at, value)| self.node_of(spot.inner(value, &[keyword, &at.to_string()])));
        nodes.collect::<Result<_, _>>().map(Some)
    }

    fn named(
        &mut self,
        schema: Schema<'s>,
        keyword: &str,
        spot: &SchemaSpot<'s>,
    ) -> Result<Option<Named>, Violation> {
        let Some(Value::Object(values)) = member(schema, keyword) else {
            return Ok(None);
        };
        let nodes = values.iter().map(|(name, value)| {
            Ok((name.as_str().into(), self.node_of(spot.inner(value, &[keyword, name]))?))
        });
        nodes.collect::<Result<_, _>>().map(Some)
    }
}

/// What a keyword asks by itself.
fn simple_check(keyword: &str, value: &Value) -> Option<Check> {
    Some(match keyword {
        "type" => Check::Type(types_in(value)),
        "const" => Check::Const(Box::new(fixed(value))),
        "enum" => Check::Enum(Box::new(choices(value.as_array()?))),
        "minimum" => bound(BoundOp::Gte, "less than the minimum of", value)?,
        "maximum" => bound(BoundOp::Lte, "greater than the maximum of", value)?,
        "exclusiveMinimum" => bound(BoundOp::Gt, "less than or equal to the minimum of", value)?,
        "exclusiveMaximum" => bound(BoundOp::Lt, "greater than or equal to the maximum of", value)?,
        "multipleOf" => match value {
            Value::Number(number) => Check::MultipleOf(number.clone()),
            _ => return None,
        },
        "minLength" => Check::MinLength(count(value)?),
        "maxLength" => Check::MaxLength(count(value)?),
        "minItems" => Check::MinItems(count(value)?),
        "maxItems" => Check::MaxItems(count(value)?),
        "minProperties" => Check::MinProperties(count(value)?),
        "maxProperties" => Check::MaxProperties(count(value)?),
        "required" => Check::Required(names_in(value)),
        "uniqueItems" if value == &Value::Bool(true) => Check::UniqueItems,
        _ => return None,
    })
}

fn bound(operation: BoundOp, beyond: &'static str, limit: &Value) -> Option<Check> {
    let Value::Number(limit) = limit else {
        return None;
    };
    let compiled = compile_bound(operation, limit);
    Some(Check::Bound(Box::new(Bound { compiled, beyond, limit: limit.clone() })))
}

fn types_in(value: &Value) -> Types {
    let mut types = Types::default();
    match value {
        Value::String(name) => types.add(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).for_each(|name| types.add(name)),
        _ => {}
    }
    types
}

fn names_in(value: &Value) -> Box<[Box<str>]> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect()
}

/// A number of things; `3.0` is one, too.
fn count(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the meta-schema lets only whole numbers from 0 on pass; larger ones mean as many as there can be"
    )]
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
}

fn fixed(value: &Value) -> Fixed {
    Fixed { value: value.clone(), weight: weight(value) }
}

/// How many values there are to compare.
fn weight(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(weight).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(weight).sum::<u64>(),
        Value::String(text) => 1 + text.len() as u64 / 64,
        _ => 1,
    }
}

fn choices(values: &[Value]) -> Choices {
    /// As many are told.
    const TOLD: usize = 10;
    let mut texts: Vec<Box<str>> = values.iter().filter_map(Value::as_str).map(Into::into).collect();
    texts.sort();
    let others = values.iter().filter(|value| !value.is_string()).map(fixed).collect();
    let more = values.len().saturating_sub(TOLD);
    let mut told: Vec<String> = values.iter().take(TOLD).map(brief).collect();
    if more > 0 {
        told.push(format!("{more} others"));
    }
    Choices { texts, others, told: listed(&told).into() }
}
