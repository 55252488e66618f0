//! Expressions out of tokens. The precedence is Jinja's: conditions, `or`, `and`, `not`, comparisons, sums, `~`, products,
//! powers, signs, and closest of all steps, filters and tests.

mod values;

use super::ast::{Comparison, Expr, Kind, Operator, Parameters};
use super::filters::{Filter, has_filter};
use super::lex::{Placed, Token, tokens};
use super::tests::{Test, has_test};

/// How deep an expression may go; evaluating it goes as deep.
const DEEPEST: usize = 100;

/// A fault in what was written, and where.
#[derive(Debug)]
pub(crate) struct Syntax {
    pub(crate) words: String,
    pub(crate) at: usize,
}

/// A variable that an expression takes from outside, and the first step into it.
#[derive(Debug)]
pub(super) struct VariableUse {
    pub(super) name: String,
    pub(super) step: Option<String>,
}

/// A filter, a test or a function that there is not.
#[derive(Debug)]
pub(crate) struct Unknown {
    /// `filter`, `test` or `function`
    pub(crate) sort: &'static str,
    pub(crate) name: String,
    pub(crate) at: usize,
}

/// An expression by itself.
pub(crate) fn parse_expression(source: &str) -> Result<Expr, Syntax> {
    let mut parser = ExpressionParser::of(source, 0)?;
    let expression = parser.expression()?;
    parser.end()?;
    match parser.unknown.pop() {
        Some(Unknown { sort, name, at }) => Err(Syntax { words: format!("there is no {sort} {name}"), at }),
        None => Ok(expression),
    }
}

pub(super) struct ExpressionParser<'s> {
    tokens: Vec<Placed<'s>>,
    at: usize,
    end: usize,
    depth: usize,
    /// Names that loops around have given to something.
    pub(super) bound: Vec<String>,
    pub(super) uses: Vec<VariableUse>,
    pub(super) unknown: Vec<Unknown>,
}

type Parsed<T> = Result<T, Syntax>;

impl<'s> ExpressionParser<'s> {
    pub(super) fn of(code: &'s str, offset: usize) -> Parsed<Self> {
        let tokens = tokens(code, offset).map_err(|(words, at)| Syntax { words, at })?;
        let end = offset + code.len();
        Ok(Self { tokens, at: 0, end, depth: 0, bound: Vec::new(), uses: Vec::new(), unknown: Vec::new() })
    }

    /// Everything must have been read.
    pub(super) fn end(&self) -> Parsed<()> {
        if self.at < self.tokens.len() { Err(self.unexpected("the end")) } else { Ok(()) }
    }

    pub(super) fn skip_word(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(word)) if *word == wanted);
        self.at += usize::from(found);
        found
    }

    pub(super) fn skip(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(sign)) if *sign == wanted);
        self.at += usize::from(found);
        found
    }

    pub(super) fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let name = (*word).to_owned();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// A whole expression, conditions included.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fault("it is nested too deep; use fewer brackets"));
        }
        let start = self.place();
        let mut value = self.or()?;
        while self.skip_word("if") {
            let condition = self.or()?;
            let otherwise = if self.skip_word("else") { Some(self.expression()?) } else { None };
            value = self.made(start, Kind::If(Box::new((value, condition, otherwise))));
        }
        self.depth -= 1;
        Ok(value)
    }

    /// An expression that a condition may follow: what a loop goes over.
    pub(super) fn or(&mut self) -> Parsed<Expr> {
        let start = self.place();
        let mut left = self.and()?;
        while self.skip_word("or") {
            let right = self.and()?;
            left = self.made(start, Kind::Or(Box::new((left, right))));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed<Expr> {
        let start = self.place();
        let mut left = self.not()?;
        while self.skip_word("and") {
            let right = self.not()?;
            left = self.made(start, Kind::And(Box::new((left, right))));
        }
        Ok(left)
    }

    fn not(&mut self) -> Parsed<Expr> {
        let start = self.place();
        if self.skip_word("not") {
            let inner = self.not()?;
            return Ok(self.made(start, Kind::Not(Box::new(inner))));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        let start = self.place();
        let first = self.sum()?;
        let mut others = Vec::new();
        while let Some(comparison) = self.comparison_sign()? {
            others.push((comparison, self.sum()?));
        }
        Ok(if others.is_empty() { first } else { self.made(start, Kind::Compare(Box::new(first), others)) })
    }

    fn comparison_sign(&mut self) -> Parsed<Option<Comparison>> {
        let found = match self.peek() {
            Some(Token::Sign("==")) => Comparison::Equal,
            Some(Token::Sign("!=")) => Comparison::Unequal,
            Some(Token::Sign("<")) => Comparison::Less,
            Some(Token::Sign("<=")) => Comparison::LessOrEqual,
            Some(Token::Sign(">")) => Comparison::Greater,
            Some(Token::Sign(">=")) => Comparison::GreaterOrEqual,
            Some(Token::Word("in")) => Comparison::In,
            Some(Token::Word("not")) => {
                self.at += 1;
                if !self.skip_word("in") {
                    return Err(self.unexpected("in"));
                }
                return Ok(Some(Comparison::NotIn));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(found))
    }

    fn sum(&mut self) -> Parsed<Expr> {
        self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::joined)
    }

    fn joined(&mut self) -> Parsed<Expr> {
        self.chain(&[("~", Operator::Join)], Self::product)
    }

    fn product(&mut self) -> Parsed<Expr> {
        let signs = [
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("//", Operator::DivideWhole),
            ("%", Operator::Remainder),
        ];
        self.chain(&signs, Self::power)
    }

    fn power(&mut self) -> Parsed<Expr> {
        self.chain(&[("**", Operator::Power)], Self::signed)
    }

    fn chain(&mut self, signs: &[(&str, Operator)], operand: fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let start = self.place();
        let mut left = operand(self)?;
        while let Some((_, operator)) = signs.iter().find(|(sign, _)| self.skip(sign)) {
            let right = operand(self)?;
            left = self.made(start, Kind::Compute(Box::new((left, *operator, right))));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Parsed<Expr> {
        let value = self.sign_and_steps()?;
        self.filters(value)
    }

    fn sign_and_steps(&mut self) -> Parsed<Expr> {
        let start = self.place();
        if self.skip("-") {
            let inner = self.sign_and_steps()?;
            return Ok(self.made(start, Kind::Negate(Box::new(inner))));
        }
        let value = self.primary()?;
        self.steps(value, start)
    }

    fn filters(&mut self, mut value: Expr) -> Parsed<Expr> {
        let start = value.at.start;
        loop {
            if self.skip("|") {
                let name = self.known("filter", has_filter)?;
                let filter = Filter::find_or_any(&name);
                let parameters = self.optional_parameters()?;
                value = self.made(start, Kind::Filter(Box::new(value), filter, parameters));
            } else if self.skip_word("is") {
                let negated = self.skip_word("not");
                let name = self.known("test", has_test)?;
                let test = Test::find_or_any(&name);
                let parameters = self.test_parameters()?;
                value = self.made(start, Kind::Test(Box::new(value), test, parameters));
                if negated {
                    value = self.made(start, Kind::Not(Box::new(value)));
                }
            } else {
                return Ok(value);
            }
        }
    }

    /// The name of a filter or test. One that there is not is noted, so that all of them are told at once.
    fn known(&mut self, sort: &'static str, has: fn(&str) -> bool) -> Parsed<String> {
        let at = self.place();
        let name = self.name()?;
        if !has(&name) {
            self.unknown.push(Unknown { sort, name: name.clone(), at });
        }
        Ok(name)
    }

    fn optional_parameters(&mut self) -> Parsed<Parameters> {
        if self.skip("(") { self.parameters() } else { Ok(Parameters::default()) }
    }

    /// In brackets, or one value right behind, as in `is divisibleby 3`.
    fn test_parameters(&mut self) -> Parsed<Parameters> {
        let follows = match self.peek() {
            Some(Token::Word(word)) => !matches!(*word, "and" | "or" | "else" | "is" | "if" | "not" | "in"),
            Some(Token::Sign(sign)) => matches!(*sign, "[" | "{"),
            Some(Token::Text(_) | Token::Int(_) | Token::Float(_)) => true,
            None => false,
        };
        if !follows {
            return self.optional_parameters();
        }
        let value = self.sign_and_steps()?;
        Ok(Parameters { positional: vec![value], named: Vec::new() })
    }

    /// What stands between brackets, of which the first is read already.
    fn parameters(&mut self) -> Parsed<Parameters> {
        let mut parameters = Parameters::default();
        while !self.skip(")") {
            let named =
                matches!((self.token(0), self.token(1)), (Some(Token::Word(_)), Some(Token::Sign("="))));
            if named {
                let name = self.name()?;
                self.expect("=")?;
                parameters.named.push((name, self.expression()?));
            } else {
                parameters.positional.push(self.expression()?);
            }
            if !self.skip(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(parameters)
    }

    fn expect(&mut self, wanted: &str) -> Parsed<()> {
        if self.skip(wanted) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    fn peek(&self) -> Option<&Token<'s>> {
        self.token(0)
    }

    fn token(&self, ahead: usize) -> Option<&Token<'s>> {
        self.tokens.get(self.at + ahead).map(|(token, _)| token)
    }

    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(_, at)| at.start)
    }

    fn last_end(&self) -> usize {
        self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(self.end, |(_, at)| at.end)
    }

    fn made(&self, start: usize, kind: Kind) -> Expr {
        Expr { kind, at: start..self.last_end() }
    }

    fn unexpected(&self, wanted: &str) -> Syntax {
        self.fault(&match self.peek() {
            Some(Token::Word(word)) => format!("unexpected {word:?}, expected {wanted}"),
            Some(Token::Sign(sign)) => format!("unexpected {sign:?}, expected {wanted}"),
            Some(Token::Text(_)) => format!("unexpected text, expected {wanted}"),
            Some(Token::Int(_) | Token::Float(_)) => format!("unexpected number, expected {wanted}"),
            None => format!("unexpected end, expected {wanted}"),
        })
    }

    fn fault(&self, words: &str) -> Syntax {
        Syntax { words: words.to_owned(), at: self.place() }
    }
}
