//! Values to choose from while an argument is typed.

use toolrail_core::{CallError, Completing, Completion, Problems};

/// The most values of one argument.
const MOST_VALUES: usize = 1_000;
/// The most values of one answer (MCP).
const MOST_ANSWERED: usize = 100;

/// The values of each argument or variable, in the order in which they were written.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    by_name: Vec<(String, Vec<String>)>,
}

impl Choices {
    /// Adds an argument; notes too many values.
    pub(crate) fn add(&mut self, name: &str, values: &[String], pointer: &str, problems: &mut Problems) {
        if values.len() > MOST_VALUES {
            problems.error(
                pointer,
                format!(
                    "has {} values; at most {MOST_VALUES} can be offered, so shorten the list",
                    values.len()
                ),
            );
        }
        self.by_name.push((name.to_owned(), values.to_vec()));
    }

    /// The values that begin with what has been typed, then those that contain it, in any case.
    pub(crate) fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        let Some((_, values)) = self.by_name.iter().find(|(name, _)| name == asked.argument) else {
            let names: Vec<_> = self.by_name.iter().map(|(name, _)| format!("{name:?}")).collect();
            return Err(CallError::invalid_params(format!(
                "{} has no argument {:?} to complete; it has {}",
                asked.of,
                asked.argument,
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            )));
        };
        let typed = asked.value.to_lowercase();
        let (mut begin, mut contain) = (Vec::new(), Vec::new());
        for value in values {
            match value.to_lowercase().find(&typed) {
                Some(0) => begin.push(value),
                Some(_) => contain.push(value),
                None => {}
            }
        }
        let total = begin.len() + contain.len();
        Ok(Completion {
            values: begin.into_iter().chain(contain).take(MOST_ANSWERED).cloned().collect(),
            total: u64::try_from(total).ok(),
            has_more: Some(total > MOST_ANSWERED),
        })
    }
}
