//! Who this process says it is, on its command line and to its clients. Set once, before anything else runs.

use std::sync::OnceLock;

static OURS: OnceLock<Gateway> = OnceLock::new();

/// The first line of the help: Toolrail's own, and that of a binary with a name of its own.
const ABOUT: &str =
    "An MCP gateway: tools, prompts, resources and upstream servers from JSON or YAML definitions";
const ABOUT_ANOTHER: &str =
    "Serves its tools, and those of your definitions and upstream servers, to MCP clients";

/// The gateway with its command line, under a name of its own if it is given one.
#[derive(Clone, Debug)]
pub struct Gateway {
    name: &'static str,
    title: &'static str,
    version: &'static str,
    about: &'static str,
    instructions: Option<String>,
}

impl Gateway {
    /// Toolrail itself.
    #[expect(clippy::new_without_default, reason = "it is the beginning of a sentence that ends with `run`")]
    pub const fn new() -> Self {
        Self {
            name: "toolrail",
            title: "Toolrail",
            version: env!("CARGO_PKG_VERSION"),
            about: ABOUT,
            instructions: None,
        }
    }

    /// Its name: that of the binary, and what clients know it by.
    #[must_use]
    pub fn name(self, name: &'static str) -> Self {
        Self { name, title: name, about: ABOUT_ANOTHER, ..self }
    }

    /// Its name for people, if that is another.
    #[must_use]
    pub fn title(self, title: &'static str) -> Self {
        Self { title, ..self }
    }

    /// Its version.
    #[must_use]
    pub fn version(self, version: &'static str) -> Self {
        Self { version, ..self }
    }

    /// What models should know about its tools as a whole.
    #[must_use]
    pub fn instructions(self, text: impl Into<String>) -> Self {
        Self { instructions: Some(text.into()), ..self }
    }

    /// Makes this process that gateway, unless it is one already.
    pub(crate) fn introduce(self) {
        let _ = OURS.set(self);
    }
}

fn ours() -> &'static Gateway {
    OURS.get_or_init(Gateway::new)
}

/// The name of the program in commands, and of the server for clients.
pub(crate) fn name() -> &'static str {
    ours().name
}

/// Its name for people.
pub(crate) fn title() -> &'static str {
    ours().title
}

/// Its version.
pub(crate) fn version() -> &'static str {
    ours().version
}

/// The first line of its help.
pub(crate) fn about() -> &'static str {
    ours().about
}

/// What models should know about its tools as a whole.
pub(crate) fn instructions() -> Option<String> {
    ours().instructions.clone()
}
