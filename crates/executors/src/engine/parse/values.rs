//! The values of an expression: literals, variables, lists, objects, and steps into them.

use std::ops::Range;

use super::super::ast::{AccessStep, Expr, Kind, LoopField};
use super::super::lex::Token;
use super::super::value::Value;
use super::{ExpressionParser, Parsed, Unknown, VariableUse};

impl ExpressionParser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let start = self.place();
        let Some((token, _)) = self.tokens.get(self.at).cloned() else {
            return Err(self.unexpected("a value"));
        };
        self.at += 1;
        let kind = match token {
            Token::Word("true" | "True") => Kind::Literal(Value::Bool(true)),
            Token::Word("false" | "False") => Kind::Literal(Value::Bool(false)),
            Token::Word("none" | "None") => Kind::Literal(Value::Null),
            Token::Word("loop") if self.bound.iter().any(|name| name == "loop") => self.loop_field()?,
            Token::Word("range") if self.skip("(") => Kind::Range(self.parameters()?),
            Token::Word("and" | "or" | "not" | "if" | "else" | "is" | "in") => {
                self.at -= 1;
                return Err(self.unexpected("a value"));
            }
            Token::Word(name) => self.variable(name)?,
            Token::Text(mut text) => {
                while let Some((Token::Text(more), _)) = self.tokens.get(self.at) {
                    text.push_str(more);
                    self.at += 1;
                }
                Kind::Literal(Value::from(text))
            }
            Token::Int(number) => Kind::Literal(Value::Int(number)),
            Token::Float(number) => Kind::Literal(Value::Float(number)),
            Token::Sign("(") => self.brackets()?,
            Token::Sign("[") => Kind::List(self.list("]")?),
            Token::Sign("{") => self.map()?,
            Token::Sign(_) => {
                self.at -= 1;
                return Err(self.unexpected("a value"));
            }
        };
        Ok(self.made(start, kind))
    }

    fn variable(&mut self, name: &str) -> Parsed<Kind> {
        if self.bound.iter().any(|bound| bound == name) {
            return Ok(Kind::Variable(name.to_owned()));
        }
        let step = match (self.token(0), self.token(1), self.token(2)) {
            (Some(Token::Sign(".")), Some(Token::Word(step)), _) => Some((*step).to_owned()),
            (Some(Token::Sign("[")), Some(Token::Text(step)), Some(Token::Sign("]"))) => Some(step.clone()),
            _ => None,
        };
        self.uses.push(VariableUse { name: name.to_owned(), step });
        let at = self.place();
        if self.skip("(") {
            self.unknown.push(Unknown { sort: "function", name: name.to_owned(), at });
            self.parameters()?;
        }
        Ok(Kind::Variable(name.to_owned()))
    }

    fn brackets(&mut self) -> Parsed<Kind> {
        if self.skip(")") {
            return Ok(Kind::List(Vec::new()));
        }
        let first = self.expression()?;
        if self.skip(")") {
            return Ok(first.kind);
        }
        self.expect(",")?;
        let mut items = vec![first];
        items.extend(self.list(")")?);
        Ok(Kind::List(items))
    }

    fn list(&mut self, closing: &str) -> Parsed<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.skip(closing) {
            items.push(self.expression()?);
            if !self.skip(",") {
                self.expect(closing)?;
                break;
            }
        }
        Ok(items)
    }

    fn map(&mut self) -> Parsed<Kind> {
        let mut members = Vec::new();
        while !self.skip("}") {
            let key = self.expression()?;
            self.expect(":")?;
            members.push((key, self.expression()?));
            if !self.skip(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Kind::Map(members))
    }

    fn loop_field(&mut self) -> Parsed<Kind> {
        self.expect(".")?;
        let name = self.name()?;
        let field = match name.as_str() {
            "index" => LoopField::Index,
            "index0" => LoopField::Index0,
            "revindex" => LoopField::Revindex,
            "revindex0" => LoopField::Revindex0,
            "first" => LoopField::First,
            "last" => LoopField::Last,
            "length" => LoopField::Length,
            "depth" => LoopField::Depth,
            "depth0" => LoopField::Depth0,
            "previtem" => LoopField::Previtem,
            "nextitem" => LoopField::Nextitem,
            "cycle" => {
                self.expect("(")?;
                LoopField::Cycle(self.parameters()?.positional)
            }
            other => {
                return Err(
                    self.fault(&format!("a loop has no {other}; there are index, first, last and so on"))
                );
            }
        };
        Ok(Kind::Loop(field))
    }

    pub(super) fn steps(&mut self, value: Expr, start: usize) -> Parsed<Expr> {
        let mut steps: Vec<(AccessStep, Range<usize>)> = Vec::new();
        loop {
            let step = if self.skip(".") {
                let step = match self.token(0) {
                    Some(Token::Word(name)) => AccessStep::Member((*name).to_owned()),
                    Some(Token::Int(index)) => {
                        let kind = Kind::Literal(Value::Int(*index));
                        AccessStep::Item(Expr { kind, at: self.place()..self.place() })
                    }
                    _ => return Err(self.unexpected("a name")),
                };
                self.at += 1;
                step
            } else if self.skip("[") {
                self.subscript()?
            } else if matches!(self.peek(), Some(Token::Sign("("))) {
                return Err(
                    self.fault("calling something is not supported; use a filter, as in result.name|upper")
                );
            } else {
                break;
            };
            steps.push((step, start..self.last_end()));
        }
        Ok(if steps.is_empty() { value } else { self.made(start, Kind::Path(Box::new(value), steps)) })
    }

    fn subscript(&mut self) -> Parsed<AccessStep> {
        let mut parts: [Option<Box<Expr>>; 3] = [None, None, None];
        let mut colons = 0;
        loop {
            if self.skip("]") {
                break;
            }
            if colons < 2 && self.skip(":") {
                colons += 1;
                continue;
            }
            if parts[colons].is_some() {
                return Err(self.unexpected("]"));
            }
            parts[colons] = Some(Box::new(self.expression()?));
        }
        if colons > 0 {
            return Ok(AccessStep::Slice(parts));
        }
        let [Some(index), _, _] = parts else {
            return Err(self.fault("[] is empty; name an item"));
        };
        Ok(AccessStep::Item(*index))
    }
}
