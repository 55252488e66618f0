//! A program: the source texts of a script and of what it imports.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// See [`Program::digest`].
pub(crate) type Digest = [u8; 32];

/// The source texts of a script and of what it imports, by the names of their files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The file that exports the tool.
    pub entry: String,
    /// Every file, the entry among them; names are relative to one folder and never begin with `/` or `..`.
    pub files: BTreeMap<String, String>,
}

impl Program {
    /// A program of one file.
    pub fn single(name: impl Into<String>, source: impl Into<String>) -> Self {
        let entry = name.into();
        Self { files: BTreeMap::from([(entry.clone(), source.into())]), entry }
    }

    /// What tells it from others; nobody can make another one with the same.
    pub(crate) fn digest(&self) -> Digest {
        let mut context = ring::digest::Context::new(&ring::digest::SHA256);
        let mut add = |text: &str| {
            context.update(&text.len().to_le_bytes());
            context.update(text.as_bytes());
        };
        add(&self.entry);
        for (name, text) in &self.files {
            add(name);
            add(text);
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        digest
    }
}

/// What is wrong with a program, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// Line and column, both from 1, where they are known.
    pub place: Option<(u32, u32)>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(out, "{}:{line}:{column}: {}", self.file, self.message),
            None => write!(out, "{}: {}", self.file, self.message),
        }
    }
}
