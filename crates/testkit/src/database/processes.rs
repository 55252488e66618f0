//! A server and the processes it has started, as the kernel lists them: PostgreSQL has one for every connection.

use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal to a server and all its children. The server comes first, so that it starts no more meanwhile.
pub(super) fn signal(server: Pid, signal: Signal) {
    send(server, signal);
    for child in children(server) {
        send(child, signal);
    }
}

/// Sends a signal to one process. One that has ended by itself needs none.
pub(super) fn send(process: Pid, signal: Signal) {
    let _ended = kill_process(process, signal);
}

/// The processes that `server` has started and that still run.
pub(super) fn children(server: Pid) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    processes.filter(|process| parent(*process) == Some(server)).filter_map(Pid::from_raw).collect()
}

/// Whether a process has not ended; one that nobody has asked how it ended counts as ended.
pub(super) fn is_alive(process: Pid) -> bool {
    stat(process.as_raw_nonzero().get()).is_some_and(|(state, _)| state != "Z" && state != "X")
}

fn parent(process: i32) -> Option<Pid> {
    stat(process).and_then(|(_, parent)| Pid::from_raw(parent))
}

/// The state and the parent of a process: what follows its name, which may hold anything.
fn stat(process: i32) -> Option<(String, i32)> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}
