//! Every process group that this program has started and not ended yet. What holds a group kills it when it is dropped; but
//! when the program ends, calls under way may still hold theirs, and nobody drops those.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

static STARTED: Mutex<Started> = Mutex::new(Started { groups: BTreeSet::new(), closed: false });

struct Started {
    groups: BTreeSet<u32>,
    /// The program is about to end: nothing more is started.
    closed: bool,
}

/// Starts a child that leads a group of its own.
pub(super) fn start(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    // Locked meanwhile: no child may be there that is not known.
    let mut started = lock();
    if started.closed {
        return Err(io::Error::other("the gateway is about to end"));
    }
    let child = spawn()?;
    started.groups.extend(child.id());
    Ok(child)
}

/// Kills the group that a child leads.
pub(super) fn end(leader: u32) {
    let mut started = lock();
    // Only once: its number may belong to somebody else by then.
    if started.groups.remove(&leader) {
        kill(leader);
    }
}

/// Kills every program that `mcp` definitions have started, with what those started in turn, and lets none be started any
/// more. To be called when the process is about to end.
pub fn end_programs() {
    let mut started = lock();
    started.closed = true;
    for leader in std::mem::take(&mut started.groups) {
        kill(leader);
    }
}

fn kill(leader: u32) {
    if let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

fn lock() -> MutexGuard<'static, Started> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}
