//! Links in Markdown files to other files of the repository must lead somewhere.

use std::path::Path;

use super::{Fault, TextFile};

pub(super) fn check(file: &TextFile, root: &Path) -> Vec<Fault> {
    if file.path.extension().is_none_or(|extension| extension != "md") {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let mut in_code = false;
    for (index, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let broken = targets(line).into_iter().filter(|target| !resolves(target, &file.path, root));
            faults.extend(broken.map(|target| Fault {
                path: file.path.clone(),
                line: index + 1,
                text: format!("link to {target} leads nowhere: correct the path or remove the link"),
            }));
        }
    }
    faults
}

/// The targets of `[text](target)` and `[label]: target` on one line, outside inline code.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // Every second piece between backticks is code.
    for prose in line.split('`').step_by(2) {
        let inline = prose.match_indices("](").map(|(start, mark)| &prose[start + mark.len()..]);
        found.extend(inline.filter_map(|rest| rest.split([')', ' ']).next()));
    }
    if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
        found.extend(target.split_whitespace().next());
    }
    found
}

fn resolves(target: &str, from: &Path, root: &Path) -> bool {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() || has_scheme(target) {
        return true;
    }
    let base = if path.starts_with('/') { root.to_owned() } else { root.join(from.parent().unwrap_or(from)) };
    base.join(path.trim_start_matches('/')).exists()
}

fn has_scheme(target: &str) -> bool {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.chars().all(|character| character.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_missing_files_are_faults() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("docs")).unwrap();
        std::fs::write(root.path().join("docs/a.md"), "").unwrap();
        let text = [
            "[ok](a.md) [`code`](a.md#part) [site](https://example.com/x) [part](#part) [mail](mailto:a@b.c)",
            "[up](../docs/a.md) [root](/docs/a.md) [folder](../docs)",
            "[gone](b.md) and [`gone too`](../c.md \"title\")",
            "`[not a link](d.md)`",
            "```\n[not a link](e.md)\n```",
            "[label]: missing.md",
        ];
        let file = TextFile { path: "docs/index.md".into(), text: text.join("\n") };
        let faults: Vec<String> = check(&file, root.path()).iter().map(Fault::to_string).collect();
        let places: Vec<&str> = faults.iter().filter_map(|fault| fault.split(" leads").next()).collect();
        let expected = [
            "docs/index.md:3: link to b.md",
            "docs/index.md:3: link to ../c.md",
            "docs/index.md:8: link to missing.md",
        ];
        assert_eq!(places, expected);
    }
}
