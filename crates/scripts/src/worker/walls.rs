//! The walls around a worker: what it cannot do however it was led astray. They stand before the first script is read.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter_all_threads};
use serde::{Deserialize, Serialize};

/// The most memory that a worker can ask for.
const ADDRESS_SPACE: u64 = 3 << 30;
/// The word with which a worker tries its walls instead of working.
pub(super) const TRY: &str = "--try";

/// One thing that a worker must not be able to do, tried behind the walls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    /// What was tried.
    pub keeps_from: String,
    /// How it was refused; nothing if it was possible.
    pub refused: Option<String>,
}

/// Raises the walls and returns the channel to the gateway.
pub(super) fn raise() -> io::Result<UnixStream> {
    close_inherited();
    let channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    super::follow_the_gateway(&channel)?;
    stand()?;
    Ok(channel)
}

/// Closes whatever was left open by those who started the gateway.
#[expect(unsafe_code, reason = "there is no safe way to close what nobody here has opened")]
fn close_inherited() {
    // SAFETY: this process has only just begun: nothing has opened anything beyond the three standard streams.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
}

/// Tries what the walls are for, behind them.
pub(super) fn try_them() -> io::Result<Vec<Wall>> {
    let parent = rustix::process::getppid().unwrap_or(rustix::process::Pid::INIT);
    stand()?;
    let refused = |keeps_from: &str, tried: io::Result<()>| Wall {
        keeps_from: keeps_from.to_owned(),
        refused: tried.err().map(|error| error.to_string()),
    };
    let me = std::process::id();
    Ok(vec![
        refused("reading files", File::open("/etc/passwd").map(drop)),
        refused("writing files", File::create(format!("/tmp/toolrail-wall-{me}")).map(drop)),
        refused("listing folders", std::fs::read_dir("/").map(drop)),
        refused("looking at processes", File::open("/proc/self/maps").map(drop)),
        refused("opening sockets", TcpListener::bind("127.0.0.1:0").map(drop)),
        refused("starting programs", Command::new("/bin/true").status().map(drop)),
        refused("sending signals", rustix::process::test_kill_process(parent).map_err(Into::into)),
        refused("making threads", std::thread::Builder::new().spawn(|| ()).map(drop)),
        refused("raising its limits", limit(Resource::Nofile, 4_096)),
    ])
}

/// Limits hold everywhere; what the kernel does not know is left out, and `toolrail doctor` says so.
fn stand() -> io::Result<()> {
    for (resource, most) in
        [(Resource::As, ADDRESS_SPACE), (Resource::Core, 0), (Resource::Fsize, 0), (Resource::Nofile, 16)]
    {
        limit(resource, most)?;
    }
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = close_files();
    let _ = close_system();
    Ok(())
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// No file and no port from now on.
fn close_files() -> Result<RulesetStatus, landlock::RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V5))?;
    Ok(rules.create()?.restrict_self()?.ruleset)
}

/// Only what a worker needs of the system from now on: its channel, memory, time, and its end.
fn close_system() -> Result<(), Box<dyn std::error::Error>> {
    let allowed = ALLOWED.iter().map(|number| (*number, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(allowed, refused, SeccompAction::Allow, architecture)?;
    let program: BpfProgram = filter.try_into()?;
    apply_filter_all_threads(&program)?;
    Ok(())
}

const ALLOWED: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_close,
    libc::SYS_futex,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_sched_yield,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
