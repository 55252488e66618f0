//! Why a store could not do what was asked.

use super::{Expected, Revision, Row};

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened, read or written.
    #[error("the store {store} is unavailable: {source}")]
    Unavailable {
        /// Which store, without credentials.
        store: String,
        /// What its driver said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It was lost in the middle of a write, and could not be asked what became of that.
    #[error(
        "whether the store {store} made the change is not known: {source}; read back what is there before you make it again"
    )]
    Unknown {
        /// Which store, without credentials.
        store: String,
        /// What its driver said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It does not take what was to be written: a rule of its table, or of its database, forbids it.
    #[error(
        "the store {store} refused the change: {reason}; change the definition, or that rule of the table mcp_tool"
    )]
    Refused {
        /// Which store, without credentials.
        store: String,
        /// What the database said.
        reason: String,
    },
    /// It was written by something newer.
    #[error(
        "the store {store} has schema version {found}, this program knows up to {known}; run the newer program, or restore a backup"
    )]
    TooNew {
        /// Which store.
        store: String,
        /// The schema version found.
        found: i64,
        /// The newest schema version known here.
        known: i64,
    },
    /// It takes no such message between gateways, or no more of them.
    #[error("the store {store} takes no message for {topic:?}: {reason}")]
    Undelivered {
        /// Which store.
        store: String,
        /// Who it was for.
        topic: String,
        /// Why not.
        reason: &'static str,
    },
    /// Somebody else changed the definition first.
    #[error("{name:?} was changed by somebody else: {}", told(expected, found.as_deref()))]
    Conflict {
        /// Which definition.
        name: String,
        /// What the writer expected.
        expected: Expected,
        /// What is there instead.
        found: Option<Box<Row>>,
    },
    /// History does not reach back that far any more.
    #[error("the history before revision {oldest} was forgotten; revision {asked} cannot be restored")]
    Forgotten {
        /// The revision asked for.
        asked: Revision,
        /// The oldest that can be had.
        oldest: Revision,
    },
}

fn told(expected: &Expected, found: Option<&Row>) -> String {
    let expected = match expected {
        Expected::Anything => "anything was expected".to_owned(),
        Expected::Absent => "none was expected".to_owned(),
        Expected::Version(version) => format!("version {version} was expected"),
    };
    match found {
        Some(row) => format!("{expected}, version {} is there; read it and try again", row.version),
        None => format!("{expected}, and it is not there; read the list and try again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_tells_both_versions_and_what_to_do() {
        let there = Row {
            tenant: None,
            name: "echo".into(),
            enabled: true,
            config_json: "secret".into(),
            version: 9,
            updated_at: String::new(),
            updated_by: None,
        };
        let told = |expected, found: Option<&Row>| {
            let found = found.cloned().map(Box::new);
            StoreError::Conflict { name: "echo".into(), expected, found }.to_string()
        };
        assert_eq!(
            told(Expected::Version(7), Some(&there)),
            "\"echo\" was changed by somebody else: version 7 was expected, version 9 is there; read it and try again"
        );
        assert_eq!(
            told(Expected::Absent, Some(&there)),
            "\"echo\" was changed by somebody else: none was expected, version 9 is there; read it and try again"
        );
        assert_eq!(
            told(Expected::Version(7), None),
            "\"echo\" was changed by somebody else: version 7 was expected, and it is not there; read the list and try again"
        );
    }
}
