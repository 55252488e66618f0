//! The changelog always has a place for the next user-visible change.

use std::path::Path;

use super::{Fault, TextFile};

const CHANGELOG: &str = "CHANGELOG.md";

pub(super) fn check(files: &[TextFile]) -> Option<Fault> {
    let changelog = files.iter().find(|file| file.path == Path::new(CHANGELOG));
    let has_section = changelog.is_some_and(|file| file.text.lines().any(is_unreleased));
    let text = "has no section for unreleased changes: add `## [Unreleased]` at the top".to_owned();
    (!has_section).then(|| Fault { path: CHANGELOG.into(), line: 1, text })
}

fn is_unreleased(line: &str) -> bool {
    line.strip_prefix("## ").is_some_and(|title| title.trim().trim_matches(['[', ']']) == "Unreleased")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changelog_without_an_unreleased_section_is_a_fault() {
        for (text, is_fine) in [
            ("# Changelog\n\n## [Unreleased]\n", true),
            ("## Unreleased\n", true),
            ("# Changelog\n\n## 0.1.0\n", false),
            ("", false),
        ] {
            let files = [TextFile { path: CHANGELOG.into(), text: text.to_owned() }];
            assert_eq!(check(&files).is_none(), is_fine, "{text:?}");
        }
        assert!(check(&[]).is_some());
    }
}
