//! Checks an expression and gives it its final form: every name and function is known, and no part can only fail. All that is
//! wrong is told at once.

use toolrail_core::{did_you_mean_written, shortened};

use super::node::{Each, Fact, Function, Macro, Node, PRINCIPAL, TOOL};
use super::sort::{Sort, signature};
use super::syntax::{Form, Operator, Syntax};
use super::{Mentions, NotCel};

/// The final form, and what it is about.
pub(super) fn check(syntax: &Syntax) -> Result<(Node, Mentions), Vec<NotCel>> {
    let mut check = Check::default();
    let (node, sort) = check.part(syntax);
    if !sort.may_be(Sort::Truth) {
        check.wrong(syntax.at, format!("this gives {}, and a condition gives true or false", sort.told()));
    }
    if check.wrong.is_empty() { Ok((node, check.about)) } else { Err(check.wrong) }
}

#[derive(Default)]
struct Check {
    about: Mentions,
    wrong: Vec<NotCel>,
    /// The name of what the macro around goes over, and what that is.
    item: Option<(String, Sort)>,
}

/// What stands for a part that is wrong, so that nothing more is said of it.
const WRONG: (Node, Sort) = (Node::Null, Sort::Any);

impl Check {
    fn wrong(&mut self, at: usize, told: impl Into<String>) -> (Node, Sort) {
        self.wrong.push(NotCel::at(at, told));
        WRONG
    }

    fn part(&mut self, syntax: &Syntax) -> (Node, Sort) {
        let at = syntax.at;
        match &syntax.form {
            Form::Null => (Node::Null, Sort::Null),
            Form::Truth(truth) => (Node::Truth(*truth), Sort::Truth),
            Form::Whole(number) => (Node::Whole(*number), Sort::Number),
            Form::Fraction(number) => (Node::Fraction(*number), Sort::Number),
            Form::Text(text) => (Node::Text(text.as_str().into()), Sort::Text),
            Form::Name(name) => self.name(at, name),
            Form::Select(target, field) => self.select(at, target, field),
            Form::Index(parts) => self.index(at, parts),
            Form::Call(target, name, arguments) => self.call(at, target.as_deref(), name, arguments),
            Form::List(parts) => (Node::List(self.parts(parts)), Sort::List),
            Form::Table(entries) => self.table(entries),
            Form::Not(part) => (Node::Not(Box::new(self.needs(part, Sort::Truth, "!"))), Sort::Truth),
            Form::Negate(part) => (Node::Negate(Box::new(self.needs(part, Sort::Number, "-"))), Sort::Number),
            Form::Both(parts) => (Node::Both(self.truths(parts, "&&")), Sort::Truth),
            Form::Either(parts) => (Node::Either(self.truths(parts, "||")), Sort::Truth),
            Form::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.needs(condition, Sort::Truth, "?");
                let ((then, sort), (otherwise, other)) = (self.part(then), self.part(otherwise));
                (Node::Choice(Box::new([condition, then, otherwise])), sort.either(other))
            }
            Form::Binary(operator, parts) => self.binary(at, *operator, parts),
        }
    }

    fn parts(&mut self, parts: &[Syntax]) -> Vec<Node> {
        parts.iter().map(|part| self.part(part).0).collect()
    }

    fn truths(&mut self, parts: &[Syntax], operator: &str) -> Vec<Node> {
        parts.iter().map(|part| self.needs(part, Sort::Truth, operator)).collect()
    }

    /// A part that has to be of that sort.
    fn needs(&mut self, part: &Syntax, sort: Sort, operator: &str) -> Node {
        let (node, found) = self.part(part);
        if !found.may_be(sort) {
            self.wrong(part.at, format!("`{operator}` needs {}, and this is {}", sort.told(), found.told()));
        }
        node
    }

    fn name(&mut self, at: usize, name: &str) -> (Node, Sort) {
        if let Some((item, sort)) = &self.item
            && item == name
        {
            return (Node::Item, *sort);
        }
        match name {
            "args" => {
                self.about.args = true;
                (Node::Args, Sort::Table)
            }
            "principal" => self.wrong(at, listing("principal", &PRINCIPAL)),
            "tool" => self.wrong(at, listing("tool", &TOOL)),
            _ => {
                let asked =
                    did_you_mean_written(name, ["args", "principal", "tool"], |meant| format!("`{meant}`"));
                let told = format!("there is no `{}`, only principal, tool and args", shortened(name));
                self.wrong(at, with_question(told, asked))
            }
        }
    }

    fn select(&mut self, at: usize, target: &Syntax, field: &str) -> (Node, Sort) {
        match self.fact(at, target, field) {
            Some(Ok(fact)) => (Node::Fact(fact), Sort::of(fact)),
            Some(Err(wrong)) => wrong,
            None => (Node::Select(Box::new(self.object(at, target, field)), field.into()), Sort::Any),
        }
    }

    /// What something has to be that a field is asked of.
    fn object(&mut self, at: usize, target: &Syntax, field: &str) -> Node {
        let (node, sort) = self.part(target);
        if !sort.may_be(Sort::Table) {
            self.wrong(at, format!("{} has no field {:?}", sort.told(), shortened(field)));
        }
        node
    }

    /// A field of `principal` or `tool`.
    fn fact(&mut self, at: usize, target: &Syntax, field: &str) -> Option<Result<Fact, (Node, Sort)>> {
        let Form::Name(name) = &target.form else {
            return None;
        };
        let fields: &[(&str, Fact)] = match name.as_str() {
            _ if self.item.as_ref().is_some_and(|(item, _)| item == name) => return None,
            "principal" => &PRINCIPAL,
            "tool" => &TOOL,
            _ => return None,
        };
        self.about.principal |= name == "principal";
        self.about.tool |= name == "tool";
        if let Some((_, fact)) = fields.iter().find(|(known, _)| *known == field) {
            return Some(Ok(*fact));
        }
        let known = fields.iter().map(|(known, _)| *known);
        let asked = did_you_mean_written(field, known, |meant| format!("`{name}.{meant}`"));
        let told = format!("{name} has no `{}`; {}", shortened(field), listing(name, fields));
        Some(Err(self
            .wrong(at, asked.map_or(told, |asked| format!("{name} has no `{}`; {asked}", shortened(field))))))
    }

    fn index(&mut self, at: usize, parts: &[Syntax; 2]) -> (Node, Sort) {
        let [container, key] = parts;
        let ((container, sort), (key, key_sort)) = (self.part(container), self.part(key));
        let is_list = matches!(sort, Sort::List | Sort::Texts);
        if !is_list && !sort.may_be(Sort::Table) || is_list && !key_sort.may_be(Sort::Number) {
            self.wrong(at, format!("{} has no entry for {}", sort.told(), key_sort.told()));
        }
        let found = if sort == Sort::Texts { Sort::Text } else { Sort::Any };
        (Node::Index(Box::new([container, key])), found)
    }

    fn table(&mut self, entries: &[(Syntax, Syntax)]) -> (Node, Sort) {
        let mut table = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let (node, sort) = self.part(key);
            if !(sort.may_be(Sort::Text) || sort.may_be(Sort::Number) || sort.may_be(Sort::Truth)) {
                self.wrong(
                    key.at,
                    format!("a key of a table is a text, a number, true or false, not {}", sort.told()),
                );
            }
            table.push((node, self.part(value).0));
        }
        (Node::Table(table), Sort::Table)
    }

    fn binary(&mut self, at: usize, operator: Operator, parts: &[Syntax; 2]) -> (Node, Sort) {
        let [left, right] = parts;
        let ((left, left_sort), (right, right_sort)) = (self.part(left), self.part(right));
        let sort = operator.result(left_sort, right_sort).unwrap_or_else(|told| self.wrong(at, told).1);
        (Node::Binary(operator, Box::new([left, right])), sort)
    }

    fn call(&mut self, at: usize, target: Option<&Syntax>, name: &str, arguments: &[Syntax]) -> (Node, Sort) {
        if let (None, "has") = (target, name) {
            return self.has(at, arguments);
        }
        if let (Some(target), Some(what)) =
            (target, Macro::ALL.into_iter().find(|known| known.word() == name))
        {
            return self.each(at, what, target, arguments);
        }
        let Some(function) = Function::ALL.into_iter().find(|known| known.word() == name) else {
            return self.wrong(at, no_function(name));
        };
        let signature = signature(function);
        let takes_target = target.is_some();
        let given = arguments.len() + usize::from(takes_target);
        if !signature.may_be_called(takes_target) || given != signature.takes.len() {
            return self.wrong(at, format!("`{name}` is written {}", signature.written));
        }
        let mut nodes = Vec::with_capacity(given);
        for (part, sorts) in target.into_iter().chain(arguments).zip(signature.takes) {
            let (node, sort) = self.part(part);
            if !sorts.iter().any(|wanted| sort.may_be(*wanted)) {
                self.wrong(
                    part.at,
                    format!("`{name}` does not go with {}; it is written {}", sort.told(), signature.written),
                );
            }
            nodes.push(node);
        }
        (Node::Call(function, nodes), signature.gives)
    }

    fn has(&mut self, at: usize, arguments: &[Syntax]) -> (Node, Sort) {
        let [Syntax { at: field_at, form: Form::Select(target, field), .. }] = arguments else {
            return self
                .wrong(at, "`has` asks for a field: has(args.name); for other keys write 'a-b' in args");
        };
        let node = match self.fact(*field_at, target, field) {
            Some(Ok(fact)) => Node::HasFact(fact),
            Some(Err(wrong)) => wrong.0,
            None => Node::Has(Box::new(self.object(*field_at, target, field)), field.as_str().into()),
        };
        (node, Sort::Truth)
    }

    fn each(&mut self, at: usize, what: Macro, target: &Syntax, arguments: &[Syntax]) -> (Node, Sort) {
        if self.item.is_some() {
            return self.wrong(
                at,
                format!("`{}` cannot stand within another such; make two rules of it", what.word()),
            );
        }
        let (range, sort) = self.part(target);
        if !(sort.may_be(Sort::List) || sort.may_be(Sort::Table)) {
            self.wrong(at, format!("`{}` goes over a list, and this is {}", what.word(), sort.told()));
        }
        let (item, only, body) = match arguments {
            [item, body] => (item, None, body),
            [item, only, body] if what == Macro::Map => (item, Some(only), body),
            _ => return self.wrong(at, format!("`{0}` is written list.{0}(item, condition)", what.word())),
        };
        let Form::Name(item) = &item.form else {
            return self.wrong(item.at, "a name for the item is expected here");
        };
        if ["args", "principal", "tool"].contains(&item.as_str()) {
            return self.wrong(at, format!("`{item}` means something already; give the item another name"));
        }
        self.item = Some((item.clone(), if sort == Sort::Texts { Sort::Text } else { Sort::Any }));
        let only = only.map(|only| self.needs(only, Sort::Truth, what.word()));
        let maps = what == Macro::Map;
        let body = if maps { self.part(body).0 } else { self.needs(body, Sort::Truth, what.word()) };
        self.item = None;
        let gives = if matches!(what, Macro::Map | Macro::Filter) { Sort::List } else { Sort::Truth };
        (Node::Each(Box::new(Each { what, range, only, body })), gives)
    }
}

fn with_question(told: String, asked: Option<String>) -> String {
    match asked {
        Some(asked) => format!("{told}; {asked}"),
        None => told,
    }
}

/// The fields there are.
fn listing(name: &str, fields: &[(&str, Fact)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(field, _)| format!("{name}.{field}")).collect();
    format!("write one of {}", fields.join(", "))
}

fn no_function(name: &str) -> String {
    let instead = match name {
        "matches" => Some("there are no regular expressions here; use startsWith, endsWith or contains"),
        "timestamp" | "duration" => Some("there are no times here"),
        "all" | "exists" | "exists_one" | "map" | "filter" => Some("it is written list.all(item, condition)"),
        _ => None,
    };
    let known =
        Function::ALL.map(Function::word).into_iter().chain(Macro::ALL.map(Macro::word)).chain(["has"]);
    let asked = did_you_mean_written(name, known.clone(), |meant| format!("`{meant}`"));
    let listed = || format!("there are {}", known.clone().collect::<Vec<_>>().join(", "));
    let more = instead.map(str::to_owned).or(asked).unwrap_or_else(listed);
    format!("there is no function `{}`; {more}", shortened(name))
}
