//! A program: the source texts of a script and of what it imports.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

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

    /// What tells it from others in this process.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.entry, &self.files).hash(&mut hasher);
        hasher.finish()
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
