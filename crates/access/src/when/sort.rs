//! What a part of an expression can be, known before it is evaluated: enough to refuse what can only fail.

use super::node::{Fact, Function};
use super::syntax::Operator;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Known only with the arguments.
    Any,
    Null,
    Truth,
    Number,
    Text,
    /// A list of texts.
    Texts,
    List,
    Table,
}

impl Sort {
    pub(super) fn of(fact: Fact) -> Self {
        match fact {
            Fact::Groups | Fact::Scopes | Fact::ToolTags => Self::Texts,
            Fact::ToolHint(_) => Self::Truth,
            Fact::Name
            | Fact::Tenant
            | Fact::Role
            | Fact::ToolName
            | Fact::ToolKind
            | Fact::ToolCategory
            | Fact::ToolTenant => Self::Text,
        }
    }

    /// Whether what is of this sort may be of that one.
    pub(super) fn may_be(self, wanted: Self) -> bool {
        let list = |sort: Self| matches!(sort, Self::Texts | Self::List);
        self == Self::Any || wanted == Self::Any || self == wanted || list(self) && list(wanted)
    }

    /// What it is if it is one of two.
    pub(super) fn either(self, other: Self) -> Self {
        if self == other { self } else { Self::Any }
    }

    /// For people.
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Null => "null",
            Self::Truth => "true or false",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Texts => "a list of texts",
            Self::List => "a list",
            Self::Table => "an object",
        }
    }
}

impl Operator {
    /// What it gives for two values of these sorts; why it cannot, if it can only fail or is always the same.
    pub(super) fn result(self, left: Sort, right: Sort) -> Result<Sort, String> {
        let fits = |sorts: &[Sort]| {
            left.may_be(right) && sorts.iter().any(|sort| left.may_be(*sort) && right.may_be(*sort))
        };
        let unfit = || format!("`{}` does not go with {} and {}", self.word(), left.told(), right.told());
        match self {
            Self::Equal | Self::Unequal if left.may_be(right) => Ok(Sort::Truth),
            Self::Equal | Self::Unequal => {
                let empty = if [left, right] == [Sort::Text, Sort::Null] {
                    "; a text that is not there is ''"
                } else {
                    ""
                };
                Err(format!("{} and {} are never the same{empty}", left.told(), right.told()))
            }
            Self::Less | Self::AtMost | Self::Greater | Self::AtLeast => {
                fits(&[Sort::Number, Sort::Text, Sort::Truth]).then_some(Sort::Truth).ok_or_else(unfit)
            }
            Self::In => {
                let holds = right.may_be(Sort::List) || right.may_be(Sort::Table);
                let may_hold = right != Sort::Texts || left.may_be(Sort::Text);
                (holds && may_hold).then_some(Sort::Truth).ok_or_else(unfit)
            }
            Self::Add if fits(&[Sort::Number, Sort::Text, Sort::List]) => Ok(match (left, right) {
                (left, right) if left == right => left,
                (Sort::Number | Sort::Text, _) => left,
                (_, Sort::Number | Sort::Text) => right,
                _ => Sort::List,
            }),
            Self::Add => Err(unfit()),
            Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder => {
                fits(&[Sort::Number]).then_some(Sort::Number).ok_or_else(unfit)
            }
        }
    }
}

/// How a function is called.
pub(super) struct Signature {
    pub(super) written: &'static str,
    pub(super) takes: &'static [&'static [Sort]],
    pub(super) gives: Sort,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Function,
    Method,
    Both,
}

impl Signature {
    /// Whether it may be called that way.
    pub(super) fn may_be_called(&self, on_something: bool) -> bool {
        self.style == Style::Both || on_something == (self.style == Style::Method)
    }
}

pub(super) fn signature(function: Function) -> Signature {
    const TEXT: &[Sort] = &[Sort::Text];
    const SIZED: &[Sort] = &[Sort::Text, Sort::List, Sort::Table];
    const WRITABLE: &[Sort] = &[Sort::Text, Sort::Number, Sort::Truth];
    const NUMERIC: &[Sort] = &[Sort::Text, Sort::Number];
    let method = |written, takes, gives| Signature { written, takes, gives, style: Style::Method };
    let plain = |written, takes, gives| Signature { written, takes, gives, style: Style::Function };
    match function {
        Function::Size => {
            Signature { written: "size(value)", takes: &[SIZED], gives: Sort::Number, style: Style::Both }
        }
        Function::Contains => method("text.contains('part')", &[TEXT, TEXT], Sort::Truth),
        Function::StartsWith => method("text.startsWith('begin')", &[TEXT, TEXT], Sort::Truth),
        Function::EndsWith => method("text.endsWith('end')", &[TEXT, TEXT], Sort::Truth),
        Function::LowerAscii => method("text.lowerAscii()", &[TEXT], Sort::Text),
        Function::UpperAscii => method("text.upperAscii()", &[TEXT], Sort::Text),
        Function::Text => plain("string(value)", &[WRITABLE], Sort::Text),
        Function::Whole => plain("int(value)", &[NUMERIC], Sort::Number),
        Function::Fraction => plain("double(value)", &[NUMERIC], Sort::Number),
    }
}
