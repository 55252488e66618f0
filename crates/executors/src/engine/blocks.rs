//! Templates: text with `{{ … }}`, `{% for … %}`, `{% if … %}` and `{# … #}` in it.

use super::ast::{For, Node};
use super::evaluate::{Absence, Evaluator};
use super::fault::Fault;
use super::parse::{ExpressionParser, Syntax, Unknown, VariableUse};
use super::value::Value;
use crate::meter::Meter;

/// A whole template, taken apart.
#[derive(Debug)]
pub(crate) struct Program {
    nodes: Vec<Node>,
    uses: Vec<VariableUse>,
    unknown: Vec<Unknown>,
}

/// What ends a run of nodes.
#[derive(Debug, PartialEq, Eq)]
enum BlockEnd {
    Elif,
    Else,
    EndIf,
    EndFor,
    Text,
}

enum Block<'s> {
    Text(&'s str),
    Value(&'s str, usize),
    Statement(&'s str, usize),
}

impl Program {
    pub(crate) fn parse(source: &str) -> Result<Self, Syntax> {
        let (bound, uses, unknown) = (Vec::new(), Vec::new(), Vec::new());
        let mut reader =
            BlockReader { blocks: blocks(source)?, at: 0, bound, uses, unknown, end: source.len() };
        let (nodes, ended, at) = reader.nodes()?;
        if ended != BlockEnd::Text {
            return Err(Syntax { words: "there is nothing to end or to branch here".into(), at });
        }
        Ok(Self { nodes, uses: reader.uses, unknown: reader.unknown })
    }

    /// The variables that it takes from outside, each with the first step into it.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.uses.iter().map(|used| (used.name.as_str(), used.step.as_deref()))
    }

    /// The filters and tests it names that there are not.
    pub(crate) fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// The text that it makes of the variables.
    pub(crate) fn render(
        &self,
        variables: Vec<(&str, Value<'_>)>,
        steps: u64,
        most: usize,
        meter: &mut Meter,
    ) -> Result<String, Fault> {
        let mut out = String::new();
        Evaluator::new(Absence::Fails, steps, variables, meter).write(&self.nodes, &mut out, most)?;
        Ok(out)
    }
}

struct BlockReader<'s> {
    blocks: Vec<Block<'s>>,
    at: usize,
    bound: Vec<String>,
    uses: Vec<VariableUse>,
    unknown: Vec<Unknown>,
    end: usize,
}

impl<'s> BlockReader<'s> {
    /// Nodes up to the statement that ends them, and where that stands.
    fn nodes(&mut self) -> Result<(Vec<Node>, BlockEnd, usize), Syntax> {
        let mut nodes = Vec::new();
        while let Some(block) = self.blocks.get(self.at) {
            match *block {
                Block::Text(text) => {
                    self.at += 1;
                    nodes.push(Node::Text(text.to_owned()));
                }
                Block::Value(code, offset) => {
                    self.at += 1;
                    let printed = self.with(code, offset, |parser| {
                        let expr = parser.expression()?;
                        parser.end().map(|()| expr)
                    })?;
                    nodes.push(Node::Print(printed));
                }
                Block::Statement(code, offset) => {
                    let word =
                        code.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                    let ended = match word {
                        "for" => {
                            nodes.push(self.each(code, offset)?);
                            continue;
                        }
                        "if" => {
                            nodes.push(self.choice()?);
                            continue;
                        }
                        "elif" => BlockEnd::Elif,
                        "else" => BlockEnd::Else,
                        "endif" => BlockEnd::EndIf,
                        "endfor" => BlockEnd::EndFor,
                        other => {
                            return Err(Syntax {
                                words: format!("there is no statement {other}"),
                                at: offset,
                            });
                        }
                    };
                    return Ok((nodes, ended, offset));
                }
            }
        }
        Ok((nodes, BlockEnd::Text, self.end))
    }

    fn each(&mut self, code: &'s str, offset: usize) -> Result<Node, Syntax> {
        self.at += 1;
        let (names, over) = self.with(code, offset, |parser| {
            parser.skip_word("for");
            let brackets = parser.skip("(");
            let mut names = vec![parser.name()?];
            while parser.skip(",") {
                names.push(parser.name()?);
            }
            if brackets && !parser.skip(")") || !parser.skip_word("in") {
                return Err(Syntax { words: "a loop is written for name in list".into(), at: offset });
            }
            let over = parser.or()?;
            // The names hold for the condition too.
            parser.bound.extend(names.iter().cloned());
            let condition = if parser.skip_word("if") { Some(parser.expression()?) } else { None };
            parser.end()?;
            Ok((names, (over, condition)))
        })?;
        let known = self.bound.len();
        self.bound.extend(names.iter().cloned().chain(["loop".to_owned()]));
        let (body, mut ended, mut at) = self.nodes()?;
        self.bound.truncate(known);
        let mut otherwise = Vec::new();
        if ended == BlockEnd::Else {
            self.at += 1;
            (otherwise, ended, at) = self.nodes()?;
        }
        if ended != BlockEnd::EndFor {
            return Err(Syntax { words: "a for needs its endfor".into(), at });
        }
        self.at += 1;
        let (over, condition) = over;
        Ok(Node::For(Box::new(For { names, over, condition, body, otherwise })))
    }

    fn choice(&mut self) -> Result<Node, Syntax> {
        let mut branches = Vec::new();
        loop {
            let Some(Block::Statement(code, offset)) = self.blocks.get(self.at) else {
                return Err(Syntax { words: "an if needs its endif".into(), at: self.end });
            };
            let (code, offset) = (*code, *offset);
            self.at += 1;
            let is_else = code.trim() == "else";
            let condition = if is_else {
                None
            } else {
                Some(self.with(code, offset, |parser| {
                    let _ = parser.skip_word("if") || parser.skip_word("elif");
                    let condition = parser.expression()?;
                    parser.end().map(|()| condition)
                })?)
            };
            let (body, ended, at) = self.nodes()?;
            let otherwise = match condition {
                Some(condition) => {
                    branches.push((condition, body));
                    Vec::new()
                }
                None => body,
            };
            match ended {
                BlockEnd::EndIf => {
                    self.at += 1;
                    return Ok(Node::If(branches, otherwise));
                }
                BlockEnd::Elif | BlockEnd::Else if !is_else => {}
                _ => return Err(Syntax { words: "an if needs its endif".into(), at }),
            }
        }
    }

    /// Reads the code of a block with the names that are bound here.
    fn with<T>(
        &mut self,
        code: &'s str,
        offset: usize,
        read: impl FnOnce(&mut ExpressionParser<'s>) -> Result<T, Syntax>,
    ) -> Result<T, Syntax> {
        let mut parser = ExpressionParser::of(code, offset)?;
        parser.bound.clone_from(&self.bound);
        let result = read(&mut parser)?;
        self.uses.append(&mut parser.uses);
        self.unknown.append(&mut parser.unknown);
        Ok(result)
    }
}

/// Text and code of a template. A `-` inside the braces takes the white space beside them away, and so goes one line break
/// at the very end.
fn blocks(source: &str) -> Result<Vec<Block<'_>>, Syntax> {
    let mut blocks = Vec::new();
    let source = source.strip_suffix('\n').map_or(source, |rest| rest.strip_suffix('\r').unwrap_or(rest));
    let mut at = 0;
    let mut trims = false;
    loop {
        let opening = find_opening(source, at);
        let text = &source[at..opening.unwrap_or(source.len())];
        let text = if trims { text.trim_start() } else { text };
        let Some(opening) = opening else {
            push_text(text, &mut blocks);
            return Ok(blocks);
        };
        let inside = opening + 2;
        let (closing, is_code) = match &source[opening..inside] {
            "{{" => ("}}", true),
            "{%" => ("%}", true),
            _ => ("#}", false),
        };
        let length =
            if is_code { closed(&source[inside..], closing) } else { source[inside..].find(closing) };
        let Some(length) = length else {
            return Err(Syntax {
                words: format!("{:?} is never closed", &source[opening..inside]),
                at: opening,
            });
        };
        let code = &source[inside..inside + length];
        push_text(if code.starts_with('-') { text.trim_end() } else { text }, &mut blocks);
        trims = code.ends_with('-');
        let begins = usize::from(code.starts_with(['-', '+']));
        let ends = (code.len() - usize::from(code.ends_with(['-', '+']))).max(begins);
        let (code, offset) = (&code[begins..ends], inside + begins);
        match closing {
            "}}" => blocks.push(Block::Value(code, offset)),
            "%}" => blocks.push(Block::Statement(code, offset)),
            _ => {}
        }
        at = inside + length + 2;
    }
}

fn push_text<'s>(text: &'s str, blocks: &mut Vec<Block<'s>>) {
    if !text.is_empty() {
        blocks.push(Block::Text(text));
    }
}

fn find_opening(source: &str, mut at: usize) -> Option<usize> {
    loop {
        let found = at + source[at..].find('{')?;
        match source.as_bytes().get(found + 1) {
            Some(b'{' | b'%' | b'#') => return Some(found),
            _ => at = found + 1,
        }
    }
}

/// How long the code before `end` is; `end` does not count inside quotes or, for `}}`, inside an object.
pub(crate) fn closed(body: &str, end: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    let mut escaped = false;
    for (index, character) in body.char_indices() {
        match (quote, character) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, _) if depth == 0 && body[index..].starts_with(end) => return Some(index),
            (None, '{') => depth += 1,
            (None, '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
