//! A version that contradicts the audit record, in words.

use std::fmt;

use toolrail_core::Revision;

/// A version that is not what the audit record says was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Whose definition; everybody's if absent.
    pub tenant: Option<String>,
    /// Its name.
    pub name: String,
    /// Which version.
    pub version: Revision,
    /// What is wrong.
    pub fault: HistoryFault,
}

/// How a version contradicts the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryFault {
    /// It is otherwise than what was written.
    Otherwise,
    /// It does not differ from the one before it by what was changed: it, or that one, is otherwise.
    OtherwiseOr(Revision),
    /// It is not there, though older ones are.
    Missing,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "version {} of {:?}", self.version, self.name)?;
        if let Some(tenant) = &self.tenant {
            write!(formatter, " (of {tenant})")?;
        }
        match self.fault {
            HistoryFault::Otherwise => {
                write!(formatter, " was changed after it was written: the audit record says otherwise")
            }
            HistoryFault::OtherwiseOr(before) => write!(
                formatter,
                ", or version {before} before it, was changed after it was written: the audit record says otherwise"
            ),
            HistoryFault::Missing => write!(formatter, " was removed from the history"),
        }
    }
}
