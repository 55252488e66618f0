//! Calls on which a new condition is tried, to find one that always fails.

use super::value::Fault;
use super::{Evaluation, Scene, When};
use crate::facts::Subject;
use toolrail_core::{Role, SaidHints, ToolTraits};

/// The fault of the last of them, if none of them has a result and none depends on arguments.
pub(super) fn fault_of_all(when: &When) -> Option<Fault> {
    let somebody = Subject {
        name: Some("1".to_owned()),
        tenant: Some("1".to_owned()),
        role: Some(Role::Call),
        groups: vec!["1".to_owned(); 64],
        scopes: vec!["1".to_owned(); 64],
    };
    let tags = vec!["1".to_owned(); 64];
    let tool = ToolTraits {
        name: "1",
        kind: "http",
        tags: &tags,
        category: Some("1"),
        tenant: Some("1"),
        hints: SaidHints::default(),
    };
    let said = SaidHints { read_only: Some(true), open_world: Some(false), ..SaidHints::default() };
    let read_only = ToolTraits { hints: said, ..tool };
    let mut last = None;
    for subject in [&Subject::default(), &somebody] {
        for tool in [&ToolTraits::named("weather.today"), &tool, &read_only] {
            match Evaluation::new(Scene { subject, tool, args: None }).holds(when) {
                Ok(_) | Err(Fault::Unknown) => return None,
                Err(fault) => last = Some(fault),
            }
        }
    }
    last
}
