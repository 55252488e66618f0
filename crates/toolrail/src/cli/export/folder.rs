//! A folder with one file a definition: only what changed is written, each file at once, and what belongs to definitions
//! that are gone is told or removed. What `export` did not write there is left alone, and no link is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use super::ledger::{self, Ledger};
use super::text::{Format, as_written, file_stem};

/// How many files are written at once.
const WRITERS: usize = 64;
/// A half-written file as old as this is nobody's any more.
const ABANDONED: Duration = Duration::from_mins(1);

/// What is wanted of the folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    pub(super) folder: &'a Path,
    pub(super) format: Format,
    pub(super) covers: Covers<'a>,
    pub(super) gone: Gone,
    pub(super) others: ForeignFiles,
}

/// Whose definitions are written; the files of others stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covers<'a> {
    Everybody,
    /// The shared ones, or those of a tenant.
    Only(Option<&'a str>),
}

/// Whether files of definitions that are gone go too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    Keep,
    Remove,
}

/// Whether files that somebody else wrote make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForeignFiles {
    Keep,
    Replace,
}

/// What was done to the folder.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) created: usize,
    pub(super) updated: usize,
    pub(super) unchanged: usize,
    /// Files of definitions that are gone.
    pub(super) gone: Vec<PathBuf>,
    /// Files that somebody else wrote where ours would be.
    pub(super) kept: Vec<PathBuf>,
}

/// A file as it should be.
struct Wanted {
    tenant: Option<String>,
    text: String,
}

/// What is where a file should be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    Nothing,
    /// That text.
    Same,
    Another,
    /// A link, a folder or a device.
    NoFile,
}

/// Makes the folder hold those definitions.
pub(super) fn write(order: Order<'_>, tools: &[Value]) -> anyhow::Result<Done> {
    let folder = order.folder;
    fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    let before = Ledger::read(folder)?;
    let wanted = wanted(order, tools)?;
    let mut done = Done::default();
    let mut ledger = before.clone();
    let mut changed = Vec::new();
    for (file, Wanted { tenant, text }) in &wanted {
        let path = folder.join(file);
        let there = there(&path, text);
        let is_ours = there != There::NoFile && before.files.contains_key(file);
        match there {
            There::Same => done.unchanged += 1,
            There::Another | There::NoFile if !is_ours && order.others == ForeignFiles::Keep => {
                ledger.files.remove(file);
                done.kept.push(path);
                continue;
            }
            There::Another | There::NoFile => done.updated += 1,
            There::Nothing => done.created += 1,
        }
        ledger.files.insert(file.clone(), tenant.clone());
        if there != There::Same {
            changed.push((path, text));
        }
    }
    // First, so that files are ours even if this is ended half-way.
    note(folder, &before, &ledger)?;
    replace_all(&changed)?;
    let listed = ledger.clone();
    clear(order, &wanted, &mut ledger, &mut done)?;
    note(folder, &listed, &ledger)?;
    sweep_all(folder, &listed);
    Ok(done)
}

/// The files that there should be. The folders of tenants are made on the way.
fn wanted(order: Order<'_>, tools: &[Value]) -> anyhow::Result<BTreeMap<String, Wanted>> {
    let mut wanted = BTreeMap::new();
    let mut folders = BTreeSet::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        let mut file = format!("{}.{}", file_stem(name), order.format.extension());
        let owner = tool["tenant"].as_str();
        if let Some(owner) = owner {
            let inside = file_stem(owner);
            file = format!("{inside}/{file}");
            if folders.insert(inside.clone()) {
                make_own(&order.folder.join(inside))?;
            }
        }
        let tenant = match order.covers {
            Covers::Everybody => owner,
            Covers::Only(tenant) => tenant,
        };
        let text = order.format.text(&as_written(tool))?;
        wanted.insert(file, Wanted { tenant: tenant.map(str::to_owned), text });
    }
    Ok(wanted)
}

/// Makes a folder unless it is there; a link could lead anywhere.
fn make_own(folder: &Path) -> anyhow::Result<()> {
    match folder.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => bail!("{} is not a folder, or a link to one; move it away", folder.display()),
        Err(_) => {
            fs::create_dir(folder).with_context(|| format!("the folder {} cannot be made", folder.display()))
        }
    }
}

fn there(path: &Path, text: &str) -> There {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => There::Nothing,
        Ok(metadata) if metadata.is_file() => match fs::read(path) {
            Ok(before) if before == text.as_bytes() => There::Same,
            _ => There::Another,
        },
        _ => There::NoFile,
    }
}

/// Finds the files of definitions that are gone, and removes them if that is wanted.
fn clear(
    order: Order<'_>,
    wanted: &BTreeMap<String, Wanted>,
    ledger: &mut Ledger,
    done: &mut Done,
) -> anyhow::Result<()> {
    let is_covered = |tenant: &Option<String>| match order.covers {
        Covers::Everybody => true,
        Covers::Only(only) => only == tenant.as_deref(),
    };
    let left = ledger.files.iter().filter(|(file, tenant)| is_covered(tenant) && !wanted.contains_key(*file));
    let left: Vec<String> = left.map(|(file, _)| file.clone()).collect();
    for file in left {
        let path = order.folder.join(&file);
        if !is_own_file(order.folder, &path) {
            ledger.files.remove(&file);
            continue;
        }
        if order.gone == Gone::Remove {
            fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
            ledger.files.remove(&file);
        }
        done.gone.push(path);
    }
    Ok(())
}

/// Whether it is a regular file of the folder, or of a folder in it, with no link on the way.
fn is_own_file(folder: &Path, path: &Path) -> bool {
    let is_real_folder = |inside: &Path| inside.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
        && path.parent().is_some_and(|inside| inside == folder || is_real_folder(inside))
}

/// Writes the list down if it is another than before.
fn note(folder: &Path, before: &Ledger, now: &Ledger) -> anyhow::Result<()> {
    if before == now {
        return Ok(());
    }
    let path = folder.join(ledger::NAME);
    replace(&path, &now.text()?).with_context(|| format!("{} cannot be written", path.display()))
}

/// Replaces files, each in one step, many at once: what takes the time is waiting for the disk, which makes many changes
/// durable as fast as one.
fn replace_all(files: &[(PathBuf, &String)]) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((path, text)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = replace(path, text) {
                // The others need not go on either.
                next.store(files.len(), Ordering::Relaxed);
                return Err(error).with_context(|| format!("{} cannot be written", path.display()));
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS.min(files.len())).map(|_| scope.spawn(work)).collect();
        let mut joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.try_for_each(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
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

fn sweep_all(folder: &Path, ledger: &Ledger) {
    let inside: BTreeSet<&str> =
        ledger.files.keys().filter_map(|file| Some(file.split_once('/')?.0)).collect();
    sweep(folder, |name| name == ledger::NAME || ledger.files.contains_key(name));
    for tenant in inside {
        sweep(&folder.join(tenant), |name| ledger.files.contains_key(&format!("{tenant}/{name}")));
    }
}

/// Removes what an export that was killed left half-written of such files. Nothing depends on it.
pub(super) fn sweep(folder: &Path, is_ours: impl Fn(&str) -> bool) {
    if !folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let target = name.to_str().and_then(|name| name.strip_prefix('.')?.rsplit_once('.'));
        let is_leftover = target.is_some_and(|(target, process)| {
            !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit()) && is_ours(target)
        });
        if is_leftover && is_abandoned(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_abandoned(entry: &fs::DirEntry) -> bool {
    let metadata = entry.metadata().ok().filter(fs::Metadata::is_file);
    let age = metadata.and_then(|metadata| metadata.modified().ok()?.elapsed().ok());
    age.is_some_and(|age| age >= ABANDONED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, url: &str) -> Value {
        json!({"name": name, "enabled": true, "configJson": {"name": name, "http": {"url": url}}})
    }

    fn owned(tenant: &str, name: &str) -> Value {
        let mut owned = tool(name, "x");
        owned["tenant"] = tenant.into();
        owned
    }

    fn order(folder: &Path) -> Order<'_> {
        let (covers, gone, others) = (Covers::Everybody, Gone::Keep, ForeignFiles::Keep);
        Order { folder, format: Format::Yaml, covers, gone, others }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != ledger::NAME)
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_changed_is_written_and_what_is_gone_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let order = order(folder.path());
        let first = write(order, &[tool("a", "x"), tool("b", "x")]).unwrap();
        assert_eq!((first.created, first.updated, first.unchanged), (2, 0, 0));
        fs::write(folder.path().join("notes.yaml"), "name: notes\n").unwrap();
        fs::write(folder.path().join("README.md"), "text").unwrap();
        let again = write(order, &[tool("a", "y"), tool("c", "x")]).unwrap();
        assert_eq!((again.created, again.updated, again.unchanged), (1, 1, 0));
        assert_eq!(again.gone, [folder.path().join("b.yaml")]);
        assert!(folder.path().join("b.yaml").exists());
        let json = Order { format: Format::Json, gone: Gone::Remove, ..order };
        assert_eq!(write(json, &[tool("a", "y")]).unwrap().gone.len(), 3);
        assert_eq!(names(folder.path()), ["README.md", "a.json", "notes.yaml"]);
        let list = fs::read_to_string(folder.path().join(ledger::NAME)).unwrap();
        assert_eq!(list, "{\n  \"files\": {\n    \"a.json\": null\n  }\n}\n");
    }

    #[test]
    fn tenants_have_folders_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let order = order(folder.path());
        write(order, &[tool("a", "x"), tool("b", "x"), owned("acme", "a")]).unwrap();
        assert_eq!(names(folder.path()), ["a.yaml", "acme", "b.yaml"]);
        let shared = Order { covers: Covers::Only(None), gone: Gone::Remove, ..order };
        let gone = write(shared, &[tool("a", "x")]).unwrap();
        assert_eq!(gone.gone, [folder.path().join("b.yaml")], "those of tenants were not asked for");
        let all = Order { gone: Gone::Remove, ..order };
        let gone = write(all, &[tool("a", "x")]).unwrap();
        assert_eq!(gone.gone, [folder.path().join("acme/a.yaml")]);
    }

    #[test]
    fn what_somebody_else_wrote_is_neither_replaced_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let order = Order { gone: Gone::Remove, ..order(folder.path()) };
        fs::create_dir(folder.path().join("mine")).unwrap();
        for file in ["a.yaml", "old.yaml", "mine/old.yaml"] {
            fs::write(folder.path().join(file), "name: old\n").unwrap();
        }
        let done = write(order, &[tool("a", "x"), tool("b", "x")]).unwrap();
        assert_eq!((done.created, done.kept), (1, vec![folder.path().join("a.yaml")]));
        assert!(done.gone.is_empty());
        assert_eq!(names(folder.path()), ["a.yaml", "b.yaml", "mine", "old.yaml"]);
        assert_eq!(fs::read_to_string(folder.path().join("a.yaml")).unwrap(), "name: old\n");
        let done = write(Order { others: ForeignFiles::Replace, ..order }, &[tool("a", "x")]).unwrap();
        assert_eq!((done.updated, done.gone.len()), (1, 1));
        assert!(folder.path().join("mine/old.yaml").exists());
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed() {
        use std::os::unix::fs::symlink;
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let order = Order { gone: Gone::Remove, ..order(folder.path()) };
        write(order, &[owned("acme", "a")]).unwrap();
        fs::rename(folder.path().join("acme/a.yaml"), elsewhere.path().join("a.yaml")).unwrap();
        fs::remove_dir(folder.path().join("acme")).unwrap();
        symlink(elsewhere.path(), folder.path().join("acme")).unwrap();
        let refused = write(order, &[owned("acme", "b")]).unwrap_err();
        assert!(refused.to_string().contains("acme is not a folder"), "{refused}");
        assert!(write(order, &[]).unwrap().gone.is_empty());
        assert_eq!(names(elsewhere.path()), ["a.yaml"]);
    }

    #[test]
    fn what_a_killed_export_left_half_written_goes() {
        let folder = tempfile::tempdir().unwrap();
        let order = order(folder.path());
        for file in [".a.yaml.17", ".other.yaml.17", ".a.yaml.x"] {
            let file = fs::File::create(folder.path().join(file)).unwrap();
            file.set_modified(std::time::SystemTime::now() - 2 * ABANDONED).unwrap();
        }
        fs::write(folder.path().join(".a.yaml.18"), "being written").unwrap();
        write(order, &[tool("a", "x")]).unwrap();
        assert_eq!(names(folder.path()), [".a.yaml.18", ".a.yaml.x", ".other.yaml.17", "a.yaml"]);
    }
}
