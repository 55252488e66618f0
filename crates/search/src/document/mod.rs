//! What is known of a tool that may be looked for.

pub(crate) mod analysis;
pub(crate) mod entry;
pub(crate) mod text;

/// One tool, as its definition describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its name for people.
    pub title: Option<&'a str>,
    /// What it does.
    pub description: &'a str,
    /// Words for people and search.
    pub tags: Vec<&'a str>,
    /// A group for people and search.
    pub category: Option<&'a str>,
    /// The server that has it.
    pub server: Option<&'a str>,
    /// What that server is for.
    pub server_description: Option<&'a str>,
    /// Its arguments, nested ones too.
    pub parameters: Vec<Parameter<'a>>,
}

/// One argument of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub description: Option<&'a str>,
}
