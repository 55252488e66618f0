//! The list of the files that `export` wrote into a folder, kept there beside them: nothing else is ever removed, or
//! replaced unasked. It is meant to be committed with them, so its order is stable.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use toolrail_registry::read_bounded;

use super::text::Format;

/// Hidden, so that nobody who reads definitions in the folder reads it.
pub(super) const NAME: &str = ".toolrail-export";
const LARGEST: u64 = 64 * 1024 * 1024;

/// Which files are ours, and whose definition each holds: nobody's where it is shared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ledger {
    pub(super) files: BTreeMap<String, Option<String>>,
}

impl Ledger {
    /// The list in that folder; an empty one where nothing was exported to.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(NAME);
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Ok(metadata) if metadata.is_symlink() => bail!("{} is a link; remove it", path.display()),
            _ => {}
        }
        let text =
            read_bounded(&path, LARGEST).map_err(|fault| anyhow::anyhow!("{} {fault}", path.display()))?;
        let mut ledger: Self = serde_json::from_str(&text).with_context(|| {
            format!("{} is no list of exported files; remove it and pass --overwrite", path.display())
        })?;
        ledger.files.retain(|file, _| is_plain(file));
        Ok(ledger)
    }

    /// The list as the text of a file.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Whether it names a definition file in the folder or in a tenant's, whatever somebody wrote into the list.
fn is_plain(file: &str) -> bool {
    let path = Path::new(file);
    let is_visible = |part: Component<'_>| matches!(part, Component::Normal(part) if !part.as_encoded_bytes().starts_with(b"."));
    path.components().count() <= 2 && path.components().all(is_visible) && Format::of(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_list_leads_nowhere_else() {
        assert!(is_plain("a.yaml") && is_plain("acme/a.json"));
        for file in
            ["../a.yaml", "/a.yaml", "a/b/c.yaml", "a/../b.yaml", ".a.yaml", ".git/a.yaml", "README.md", ""]
        {
            assert!(!is_plain(file), "{file}");
        }
    }
}
