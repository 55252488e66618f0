//! What the operating system says about this process, as far as it says so for nothing (Linux).

use std::time::{SystemTime, UNIX_EPOCH};

use metrics::{counter, gauge};
use toolrail_core::Account;

/// When this process was asked to count, in seconds since 1970; that is when it starts.
pub(super) fn started_at() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Brings the numbers up to date.
pub(super) fn measure() {
    let account = Account::of_process().standings();
    #[expect(clippy::cast_precision_loss, reason = "no machine has so much memory")]
    for (name, bytes) in
        [("toolrail_inflight_bytes", account.held), ("toolrail_inflight_limit_bytes", account.most)]
    {
        gauge!(name).set(bytes as f64);
    }
    counter!("toolrail_inflight_refused_total").absolute(account.refused);
    if let Some(bytes) = resident_bytes() {
        gauge!("process_resident_memory_bytes").set(bytes);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        #[expect(clippy::cast_precision_loss, reason = "nobody has so many files open")]
        gauge!("process_open_fds").set(open.count() as f64);
    }
}

/// `VmRSS` of the status, which is in kibibytes.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}
