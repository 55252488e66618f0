//! A JSON value with templates in its leaves. It is rendered leaf by leaf straight into JSON text, so that no value can
//! break out of its string.

use bytes::Bytes;
use serde_json::Value;
use toolrail_core::CallError;

use super::{Compiler, Place, Placement, Rendering, Template, child};

/// A compiled JSON body.
#[derive(Debug)]
pub(crate) enum Tree {
    /// JSON text without templates.
    Fixed(Bytes),
    /// A string with templates; one whole expression keeps its type.
    Leaf(Template),
    /// An array; absent items are left out.
    Array(Vec<Tree>),
    /// An object, each key with quotes and colon; absent members are left out.
    Object(Vec<(Vec<u8>, Tree)>),
}

/// How the pointer of a member is made from the pointer of what holds it.
type MemberPointer = fn(&str, &str) -> String;

impl Compiler<'_> {
    /// Compiles a JSON value; notes what is wrong with its leaves.
    pub(crate) fn tree(&mut self, value: &Value, pointer: &str) -> Option<Tree> {
        self.tree_with(value, pointer, child)
    }

    /// Compiles a JSON value that the user wrote as one text, so that every pointer is that text's.
    pub(crate) fn tree_of_text(&mut self, value: &Value, pointer: &str) -> Option<Tree> {
        self.tree_with(value, pointer, |pointer, _| pointer.to_owned())
    }

    fn tree_with(&mut self, value: &Value, pointer: &str, member_pointer: MemberPointer) -> Option<Tree> {
        let filled = self.filled.len();
        let tree = match value {
            Value::String(text) => Some(Tree::Leaf(self.template(text, pointer, Place::Text)?)),
            Value::Array(items) => {
                let item = |(index, item): (usize, &Value)| {
                    self.tree_with(item, &member_pointer(pointer, &index.to_string()), member_pointer)
                };
                // Collected first, so that every item is compiled and every fault noted.
                let items: Vec<_> = items.iter().enumerate().map(item).collect();
                items.into_iter().collect::<Option<_>>().map(Tree::Array)
            }
            Value::Object(members) => {
                let member = |(key, member): (&String, &Value)| {
                    let place = member_pointer(pointer, key);
                    self.check_key(key, &place);
                    Some((key_text(key), self.tree_with(member, &place, member_pointer)?))
                };
                let members: Vec<_> = members.iter().map(member).collect();
                members.into_iter().collect::<Option<_>>().map(Tree::Object)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(fixed(value)),
        };
        // With variables filled in it is not what was written any more.
        let as_written = self.filled.len() == filled;
        tree.map(|tree| if as_written && tree.is_fixed() { fixed(value) } else { tree })
    }

    /// Notes a key that holds a template: names are part of the shape, which no argument may change.
    pub(crate) fn check_key(&mut self, key: &str, pointer: &str) {
        if key.contains("{{") || key.contains("${secrets.") {
            self.problems.error(pointer, "a name cannot be a template; only values can");
        }
    }
}

impl Tree {
    /// Appends the JSON text, or nothing at all if it is one expression and its value absent.
    pub(crate) fn write(
        &self,
        rendering: &mut Rendering<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Placement, CallError> {
        match self {
            Self::Fixed(text) => out.extend_from_slice(text),
            Self::Leaf(template) => return template.write_json(rendering, out),
            Self::Array(items) => {
                out.push(b'[');
                let first = out.len();
                for item in items {
                    write_member(b"", item, first, rendering, out)?;
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                let first = out.len();
                for (key, member) in members {
                    write_member(key, member, first, rendering, out)?;
                }
                out.push(b'}');
            }
        }
        Ok(Placement::Placed)
    }

    fn is_fixed(&self) -> bool {
        match self {
            Self::Fixed(_) => true,
            Self::Leaf(template) => template.literal().is_some(),
            Self::Array(items) => items.iter().all(Self::is_fixed),
            Self::Object(members) => members.iter().all(|(_, member)| member.is_fixed()),
        }
    }
}

fn write_member(
    key: &[u8],
    member: &Tree,
    first: usize,
    rendering: &mut Rendering<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CallError> {
    let before = out.len();
    if before > first {
        out.push(b',');
    }
    out.extend_from_slice(key);
    if member.write(rendering, out)? == Placement::Dropped {
        out.truncate(before);
    }
    Ok(())
}

fn fixed(value: &Value) -> Tree {
    Tree::Fixed(Bytes::from(value.to_string()))
}

fn key_text(key: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(key.len() + 3);
    toolrail_core::write_json_string(&mut text, key);
    text.push(b':');
    text
}
