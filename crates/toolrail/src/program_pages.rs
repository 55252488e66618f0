//! The pages of the program itself. Starting goes through most of them and serving through few; those that only the start
//! needed do not have to stay mapped.

use std::time::Duration;

/// When the first clients have come and everything has been gone through once.
const SETTLED: Duration = Duration::from_secs(10);

/// Lets go of them now, and again when the gateway has settled.
pub(crate) fn release_soon() {
    release();
    tokio::spawn(async {
        tokio::time::sleep(SETTLED).await;
        release();
    });
}

/// Lets go of the pages of code and constants that are mapped. They stay in the cache of files, from which those that are
/// needed again come back by themselves.
#[cfg(target_os = "linux")]
fn release() {
    use rustix::mm::{Advice, madvise};
    let (Ok(pages), Ok(program)) =
        (std::fs::read_to_string("/proc/self/smaps"), std::fs::read_link("/proc/self/exe"))
    else {
        return;
    };
    for (start, length) in unchanged(&pages, &program.to_string_lossy()) {
        #[expect(unsafe_code, reason = "advice about memory needs it")]
        // SAFETY: the range holds nothing but what stands in the file, and nobody can write to it: whatever is touched
        // next is read from the file again, with the same content.
        let advised =
            unsafe { madvise(std::ptr::with_exposed_provenance_mut(start), length, Advice::LinuxDontNeed) };
        if let Err(error) = advised {
            tracing::debug!(%error, "pages of the program stay mapped");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn release() {}

/// Where parts of the program are mapped that cannot be written and hold no page that differs from the file.
#[cfg(target_os = "linux")]
fn unchanged(pages: &str, program: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut current = None;
    for line in pages.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((start, end)) = first.split_once('-') {
            let is_constant = matches!(words.next(), Some("r-xp" | "r--p"));
            let range = usize::from_str_radix(start, 16).ok().zip(usize::from_str_radix(end, 16).ok());
            current = range.filter(|_| is_constant && line.ends_with(&format!(" {program}")));
        } else if first == "Anonymous:"
            && words.next() == Some("0")
            && let Some((start, end)) = current.take()
        {
            found.push((start, end - start));
        }
    }
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_equals_the_file_and_cannot_be_written_is_let_go() {
        let pages = "\
1000-3000 r--p 00000000 fe:00 7     /bin/toolrail
Rss:                   8 kB
Anonymous:             0 kB
3000-9000 r-xp 00002000 fe:00 7     /bin/toolrail
Anonymous:             0 kB
9000-a000 r--p 00008000 fe:00 7     /bin/toolrail
Anonymous:             4 kB
a000-b000 rw-p 00009000 fe:00 7     /bin/toolrail
Anonymous:             0 kB
c000-d000 r-xp 00000000 fe:00 8     /lib/other
Anonymous:             0 kB
d000-e000 rw-p 00000000 00:00 0
Anonymous:             0 kB
";
        assert_eq!(unchanged(pages, "/bin/toolrail"), [(0x1000, 0x2000), (0x3000, 0x6000)]);
    }

    #[test]
    fn the_program_goes_on_without_its_pages() {
        release();
        let sum: u64 = (1..=100).sum();
        assert_eq!(format!("{sum}"), "5050");
    }
}
