//! A folder with one file a definition: only what changed is written, each file at once, and what belongs to definitions
//! that are gone is told or removed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use super::text::{Format, as_written, file_stem, only_definition};

/// What was done to the folder.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) created: usize,
    pub(super) updated: usize,
    pub(super) unchanged: usize,
    /// Files of definitions that are gone.
    pub(super) gone: Vec<PathBuf>,
}

/// Whether files of definitions that are gone go too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    Keep,
    Remove,
}

/// Makes the folder hold those definitions.
pub(super) fn write(folder: &Path, tools: &[Value], format: Format, gone: Gone) -> anyhow::Result<Done> {
    let mut done = Done::default();
    let mut written = BTreeSet::new();
    fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    let mut folders = BTreeSet::from([folder.to_owned()]);
    for tool in tools {
        let inside = match tool["tenant"].as_str() {
            Some(tenant) => folder.join(file_stem(tenant)),
            None => folder.to_owned(),
        };
        let name = tool["name"].as_str().unwrap_or_default();
        let path = inside.join(format!("{}.{}", file_stem(name), format.extension()));
        if folders.insert(inside.clone()) {
            fs::create_dir_all(&inside)
                .with_context(|| format!("the folder {} cannot be made", inside.display()))?;
        }
        put(&path, &format.text(&as_written(tool))?, &mut done)?;
        written.insert(path);
    }
    for folder in subfolders(folder)?.into_iter().chain([folder.to_owned()]) {
        done.gone.extend(exported_in(&folder)?.into_iter().filter(|path| !written.contains(path)));
    }
    done.gone.sort();
    if gone == Gone::Remove {
        for path in &done.gone {
            fs::remove_file(path).with_context(|| format!("{} cannot be removed", path.display()))?;
        }
    }
    Ok(done)
}

/// Writes a file whole, beside the old one until it is complete; leaves it alone if it says the same.
fn put(path: &Path, text: &str, done: &mut Done) -> anyhow::Result<()> {
    let before = fs::read(path);
    match &before {
        Ok(before) if before == text.as_bytes() => {
            done.unchanged += 1;
            return Ok(());
        }
        Ok(_) => done.updated += 1,
        Err(_) => done.created += 1,
    }
    replace(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Replaces a file in one step.
pub(super) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Hidden, so that nobody who watches the folder reads it half-written.
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = fs::File::create(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// The folders of tenants.
fn subfolders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let inside = entries(folder)?.into_iter();
    Ok(inside.filter(|path| path.is_dir() && !is_hidden(path)).collect())
}

/// The files there that `export` wrote: named after the one definition in them. Whatever else somebody keeps there is his.
fn exported_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_exported = |path: &PathBuf| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let named = || {
            let text = fs::read_to_string(path).ok()?;
            let definition = only_definition(path, &text)?;
            definition["name"].as_str().map(file_stem)
        };
        path.is_file() && Format::of(path).is_some() && stem.is_some() && named().as_deref() == stem
    };
    Ok(entries(folder)?.into_iter().filter(is_exported).collect())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || format!("the folder {} cannot be read", folder.display());
    let entries = fs::read_dir(folder).with_context(unreadable)?;
    entries.map(|entry| Ok(entry.with_context(unreadable)?.path())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, url: &str) -> Value {
        json!({"name": name, "enabled": true, "configJson": {"name": name, "http": {"url": url}}})
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_changed_is_written_and_what_is_gone_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let first =
            write(folder.path(), &[tool("a", "x"), tool("b", "x")], Format::Yaml, Gone::Keep).unwrap();
        assert_eq!((first.created, first.updated, first.unchanged), (2, 0, 0));
        fs::write(folder.path().join("notes.yaml"), "name: mine\n").unwrap();
        fs::write(folder.path().join("README.md"), "text").unwrap();
        let again =
            write(folder.path(), &[tool("a", "y"), tool("c", "x")], Format::Yaml, Gone::Keep).unwrap();
        assert_eq!((again.created, again.updated, again.unchanged), (1, 1, 0));
        assert_eq!(again.gone, [folder.path().join("b.yaml")]);
        assert!(folder.path().join("b.yaml").exists());
        let json = write(folder.path(), &[tool("a", "y")], Format::Json, Gone::Remove).unwrap();
        assert_eq!(json.gone.len(), 3);
        assert_eq!(names(folder.path()), ["README.md", "a.json", "notes.yaml"]);
    }

    #[test]
    fn tenants_have_folders_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut owned = tool("a", "x");
        owned["tenant"] = "acme".into();
        write(folder.path(), &[tool("a", "x"), owned], Format::Yaml, Gone::Keep).unwrap();
        assert_eq!(names(folder.path()), ["a.yaml", "acme"]);
        let gone = write(folder.path(), &[tool("a", "x")], Format::Yaml, Gone::Remove).unwrap();
        assert_eq!(gone.gone, [folder.path().join("acme/a.yaml")]);
    }
}
