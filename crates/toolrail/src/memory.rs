//! How many bytes may be in flight: what is configured, or a part of the memory that this process may use.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

const MIB: u64 = 1024 * 1024;
/// More is never taken unless it is asked for: a gateway that needs it serves answers that somebody should know of.
const MOST: u64 = 512 * MIB;
/// Less makes no sense, as single messages may be larger.
const LEAST: u64 = 8 * MIB;

/// A number of bytes, such as `256MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryLimit(pub(crate) usize);

impl MemoryLimit {
    /// A quarter of what this process may use, but no more than 512 MB.
    pub(crate) fn usual() -> Self {
        let quarter = usable().map_or(MOST, |bytes| bytes / 4);
        Self(usize::try_from(quarter.clamp(LEAST, MOST)).unwrap_or(usize::MAX))
    }
}

impl FromStr for MemoryLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not an amount of memory of 8 MB or more; write it like 256MB or 2GB");
        let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic() || last == ' ');
        let unit: u64 = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1024,
            "m" | "mb" | "mib" => MIB,
            "g" | "gb" | "gib" => 1024 * MIB,
            _ => return Err(wrong()),
        };
        let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
        let bytes = bytes.filter(|bytes| *bytes >= LEAST).and_then(|bytes| usize::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes", self.0)
    }
}

impl<'de> Deserialize<'de> for MemoryLimit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(from)? {
            Value::String(text) => text,
            Value::Number(bytes) => bytes.to_string(),
            _ => return Err(serde::de::Error::custom("must be an amount of memory such as \"256MB\"")),
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// How much memory this process may use: that of the machine, or what its control group is limited to.
fn usable() -> Option<u64> {
    let total = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(total_of);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    limits_of(&groups, Path::new("/sys/fs/cgroup")).chain(total).min()
}

/// `MemTotal`, which is in kibibytes.
fn total_of(info: &str) -> Option<u64> {
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

/// The limits of the control groups of a process and of those around them, of both versions.
fn limits_of<'a>(groups: &'a str, root: &'a Path) -> impl Iterator<Item = u64> + 'a {
    let folders = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        match controllers {
            "" => Some((root.to_owned(), path, "memory.max")),
            "memory" => Some((root.join("memory"), path, "memory.limit_in_bytes")),
            _ => None,
        }
    });
    folders.flat_map(|(base, path, file)| {
        let own = base.join(path);
        let around = own.ancestors().filter(|folder| folder.starts_with(&base));
        let read = |folder: &Path| std::fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok();
        around.filter_map(read).collect::<Vec<u64>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_their_units_and_others_are_refused() {
        for (text, bytes) in
            [("256MB", 256 * MIB), ("2 GiB", 2048 * MIB), ("16777216", 16 * MIB), ("9000k", 9000 * 1024)]
        {
            assert_eq!(text.parse::<MemoryLimit>().map(|memory| memory.0 as u64), Ok(bytes), "{text}");
        }
        for text in ["", "MB", "1MB", "-5GB", "1.5GB", "256 apples", "99999999999GB"] {
            assert!(text.parse::<MemoryLimit>().unwrap_err().contains("256MB"), "{text}");
        }
    }

    #[test]
    fn the_tightest_control_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("pods/one");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(root.path().join("pods/memory.max"), "1000\n").unwrap();
        std::fs::write(inner.join("memory.max"), "max\n").unwrap();
        assert_eq!(limits_of("0::/pods/one\n", root.path()).min(), Some(1000));
        std::fs::create_dir_all(root.path().join("memory/x")).unwrap();
        std::fs::write(root.path().join("memory/x/memory.limit_in_bytes"), "77").unwrap();
        assert_eq!(limits_of("4:cpu:/x\n5:memory:/x\n", root.path()).min(), Some(77));
        assert_eq!(total_of("MemTotal:       24681816 kB\nMemFree: 1 kB\n"), Some(24_681_816 * 1024));
        assert!((LEAST..=MOST).contains(&(MemoryLimit::usual().0 as u64)));
    }
}
