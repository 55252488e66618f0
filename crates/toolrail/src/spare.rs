//! What a gateway keeps in its data folder for a start without its store: the last good definitions, and the key that seals
//! what clients carry. Only its user may read them.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use toolrail_registry::Registry;

/// The files.
#[derive(Clone, Debug)]
pub(crate) struct Spare {
    pub(crate) definitions: PathBuf,
    key: PathBuf,
}

impl Spare {
    /// Those of a data folder for that store. Gateways on different stores may share a folder.
    pub(crate) fn in_folder(folder: &Path, store: &str) -> Self {
        let name = format!("last-good-{:08x}", digest(store));
        Self { definitions: folder.join(format!("{name}.jsonl")), key: folder.join(format!("{name}.key")) }
    }

    /// Whether an earlier run has left them.
    pub(crate) fn is_there(&self) -> bool {
        self.definitions.is_file() && self.key.is_file()
    }
}

/// A short number for a text (FNV-1a), the same in every build. Two stores that share one are told apart by what is in the
/// files.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The key that seals session ids: one for all gateways on the same store, so that each knows the sessions of the others.
pub(crate) async fn session_key(registry: &Registry, spare: Option<&Spare>) -> anyhow::Result<[u8; 32]> {
    let asked = registry.replicas().shared_key("mcp").await;
    let Some(file) = spare.map(|spare| &spare.key) else {
        return asked.context("the key of the sessions cannot be read");
    };
    match asked {
        Ok(key) => {
            if let Err(error) = keep(file, &key) {
                tracing::warn!(file = %file.display(), %error, "the key of the sessions cannot be kept for a start without the store");
            }
            Ok(key)
        }
        Err(error) => kept(file).with_context(|| format!("the key of the sessions cannot be read: {error}")),
    }
}

fn keep(file: &Path, key: &[u8; 32]) -> io::Result<()> {
    if kept(file).is_ok_and(|kept| kept == *key) {
        return Ok(());
    }
    let draft = file.with_extension(format!("key.{}", std::process::id()));
    let mut options = std::fs::File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&draft)?.write_all(key)?;
    std::fs::rename(&draft, file)
}

fn kept(file: &Path) -> anyhow::Result<[u8; 32]> {
    let bytes = std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    bytes.try_into().map_err(|_| anyhow::anyhow!("{} is not a key; remove it", file.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_kept_for_its_user_only_and_replaced_by_another() {
        let folder = tempfile::tempdir().unwrap();
        let spare = Spare::in_folder(folder.path(), "mysql://h/t");
        assert_ne!(Spare::in_folder(folder.path(), "mysql://h/u").definitions, spare.definitions);
        for key in [[7; 32], [7; 32], [8; 32]] {
            keep(&spare.key, &key).unwrap();
            assert_eq!(kept(&spare.key).unwrap(), key);
        }
        assert_eq!(std::fs::metadata(&spare.key).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        std::fs::write(&spare.key, "short").unwrap();
        assert!(kept(&spare.key).unwrap_err().to_string().contains("is not a key"));
        assert!(!spare.is_there());
    }
}
