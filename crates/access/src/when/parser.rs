//! Makes the tree of a text: by precedence, as CEL's grammar has it. Brackets within brackets are counted, so that no text can
//! use up the stack.

use super::NotCel;
use super::syntax::{Form, Operator, Syntax, node};
use super::token::{Token, tokens};
use crate::limits::{DEEPEST_BRACKETS, LONGEST_EXPRESSION};

/// From the weakest to the strongest, below `||` and `&&`.
const LEVELS: [&[Operator]; 3] = [
    &[
        Operator::Equal,
        Operator::Unequal,
        Operator::Less,
        Operator::AtMost,
        Operator::Greater,
        Operator::AtLeast,
        Operator::In,
    ],
    &[Operator::Add, Operator::Subtract],
    &[Operator::Multiply, Operator::Divide, Operator::Remainder],
];

/// The tree of that text.
pub(super) fn parse(text: &str) -> Result<Syntax, NotCel> {
    if text.chars().nth(LONGEST_EXPRESSION).is_some() {
        let told = format!(
            "the expression has more than {LONGEST_EXPRESSION} characters; make several rules of it, or lists in `who` and `tools`"
        );
        return Err(NotCel::at(0, told));
    }
    let mut parser = Parser { tokens: tokens(text)?, next: 0, brackets: 0 };
    let tree = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(tree),
        other => Err(NotCel::at(
            parser.at(),
            format!("{} has no meaning here; an operator is missing before it", other.told()),
        )),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    brackets: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(0, |(at, _)| *at)
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let here = matches!(self.peek(), Token::Symbol(found) if *found == symbol);
        self.next += usize::from(here);
        here
    }

    fn expect(&mut self, symbol: &str) -> Result<(), NotCel> {
        if self.accept(symbol) {
            return Ok(());
        }
        Err(NotCel::at(self.at(), format!("`{symbol}` is expected here, not {}", self.peek().told())))
    }

    fn expression(&mut self) -> Result<Syntax, NotCel> {
        if self.brackets > DEEPEST_BRACKETS {
            let told = format!(
                "more than {DEEPEST_BRACKETS} parts stand in one another here; make several rules of it"
            );
            return Err(NotCel::at(self.at(), told));
        }
        self.brackets += 1;
        let tree = self.choice();
        self.brackets -= 1;
        tree
    }

    fn choice(&mut self) -> Result<Syntax, NotCel> {
        let condition = self.either()?;
        let at = self.at();
        if !self.accept("?") {
            return Ok(condition);
        }
        let then = self.either()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        node(at, Form::Choice(Box::new([condition, then, otherwise])))
    }

    fn either(&mut self) -> Result<Syntax, NotCel> {
        let at = self.at();
        let mut parts = vec![self.both()?];
        while self.accept("||") {
            parts.push(self.both()?);
        }
        several(at, parts, Form::Either)
    }

    fn both(&mut self) -> Result<Syntax, NotCel> {
        let at = self.at();
        let mut parts = vec![self.binary(0)?];
        while self.accept("&&") {
            parts.push(self.binary(0)?);
        }
        several(at, parts, Form::Both)
    }

    fn binary(&mut self, level: usize) -> Result<Syntax, NotCel> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let at = self.at();
            self.next += 1;
            let right = self.binary(level + 1)?;
            left = node(at, Form::Binary(operator, Box::new([left, right])))?;
        }
        Ok(left)
    }

    fn operator(&self, among: &[Operator]) -> Option<Operator> {
        let word = match self.peek() {
            Token::Symbol(symbol) => *symbol,
            Token::Name(name) if name == "in" => "in",
            _ => return None,
        };
        among.iter().copied().find(|operator| operator.word() == word)
    }

    /// Signs in a row cancel each other out, as in CEL.
    fn unary(&mut self) -> Result<Syntax, NotCel> {
        let at = self.at();
        let sign = if matches!(self.peek(), Token::Symbol("!")) { "!" } else { "-" };
        let mut signs = 0_usize;
        while self.accept(sign) {
            signs += 1;
        }
        if let ("-", 1, Token::Whole(number)) = (sign, signs % 2, self.peek()) {
            let number = negative(*number, at)?;
            self.next += 1;
            return self.members(node(at, Form::Whole(number))?);
        }
        let operand = self.primary()?;
        let operand = self.members(operand)?;
        match (signs % 2, sign) {
            (0, _) => Ok(operand),
            (_, "!") => node(at, Form::Not(Box::new(operand))),
            (_, _) => node(at, Form::Negate(Box::new(operand))),
        }
    }

    /// What follows a value: `.name`, `.name(…)`, `[…]`.
    fn members(&mut self, mut value: Syntax) -> Result<Syntax, NotCel> {
        loop {
            let at = self.at();
            if self.accept("[") {
                let key = self.expression()?;
                self.expect("]")?;
                value = node(at, Form::Index(Box::new([value, key])))?;
            } else if self.accept(".") {
                let at = self.at();
                let Token::Name(name) = self.advance() else {
                    return Err(NotCel::at(at, "a name is expected after `.`"));
                };
                value = if self.accept("(") {
                    let arguments = self.list_until(")")?;
                    node(at, Form::Call(Some(Box::new(value)), name, arguments))?
                } else {
                    node(at, Form::Select(Box::new(value), name))?
                };
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Result<Syntax, NotCel> {
        let at = self.at();
        let form = match self.advance() {
            Token::Whole(number) => {
                Form::Whole(i64::try_from(number).map_err(|_| NotCel::at(at, "this number is too large"))?)
            }
            Token::Fraction(number) => Form::Fraction(number),
            Token::Text(text) => Form::Text(text),
            Token::Name(name) => return self.named(at, name),
            Token::Symbol("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Symbol("[") => Form::List(self.list_until("]")?),
            Token::Symbol("{") => Form::Table(self.table()?),
            other => {
                let told = format!("a value is expected here, not {}", other.told());
                return Err(NotCel::at(at, told));
            }
        };
        node(at, form)
    }

    fn named(&mut self, at: usize, name: String) -> Result<Syntax, NotCel> {
        let form = match name.as_str() {
            "true" => Form::Truth(true),
            "false" => Form::Truth(false),
            "null" => Form::Null,
            "in" => return Err(NotCel::at(at, "a value is expected before `in`")),
            _ if self.accept("(") => Form::Call(None, name, self.list_until(")")?),
            _ if matches!(self.peek(), Token::Symbol("{")) => {
                return Err(NotCel::at(at, "there are no messages here; a table is written {'key': value}"));
            }
            _ => Form::Name(name),
        };
        node(at, form)
    }

    fn list_until(&mut self, end: &str) -> Result<Vec<Syntax>, NotCel> {
        let mut list = Vec::new();
        while !self.accept(end) {
            if !list.is_empty() {
                self.expect(",")?;
                // A comma may stand at the end of a list, not of arguments.
                if end == "]" && self.accept(end) {
                    break;
                }
            }
            list.push(self.expression()?);
        }
        Ok(list)
    }

    fn table(&mut self) -> Result<Vec<(Syntax, Syntax)>, NotCel> {
        let mut entries = Vec::new();
        while !self.accept("}") {
            if !entries.is_empty() {
                self.expect(",")?;
                if self.accept("}") {
                    break;
                }
            }
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, self.expression()?));
        }
        Ok(entries)
    }
}

fn negative(number: u64, at: usize) -> Result<i64, NotCel> {
    0_i64.checked_sub_unsigned(number).ok_or_else(|| NotCel::at(at, "this number is too small"))
}

fn several(at: usize, mut parts: Vec<Syntax>, form: impl Fn(Vec<Syntax>) -> Form) -> Result<Syntax, NotCel> {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => Ok(only),
        (_, last) => {
            parts.extend(last);
            node(at, form(parts))
        }
    }
}
