//! The worker: a process of the same binary that carries scripts out and does nothing else. It has one channel, to the
//! gateway, and ends when that ends.

mod instance;
mod meter;
mod modules;
mod native;
mod prelude;
mod walls;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::limits::Limits;
use crate::program::{Fault, Program};
use crate::wire::{End, Frames, Order, Report, send};
use instance::Instance;
use modules::Prepared;
pub use walls::Wall;

/// The argument with which the binary becomes a worker.
pub const WORKER_COMMAND: &str = "script-worker";

/// How many instances of a program wait for calls.
const MOST_IDLE: usize = 8;

/// Carries out what comes over standard input, which is a socket, until that ends.
pub fn run() -> ExitCode {
    if std::env::args_os().nth(2).is_some_and(|word| word == walls::TRY) {
        return tell_walls();
    }
    match walls::raise().and_then(|channel| WorkerLoop::new(channel).run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Says on standard output which walls stand.
fn tell_walls() -> ExitCode {
    let told = walls::try_them().and_then(|walls| {
        let told = serde_json::to_vec(&walls)?;
        io::Write::write_all(&mut io::stdout(), &told)
    });
    if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What scripts in processes of that binary are kept from on this machine.
pub fn walls(binary: &Path) -> io::Result<Vec<Wall>> {
    let ran =
        Command::new(binary).args([WORKER_COMMAND, walls::TRY]).env_clear().stdin(Stdio::null()).output()?;
    Ok(serde_json::from_slice(&ran.stdout)?)
}

struct WorkerLoop {
    channel: UnixStream,
    frames: Frames,
    programs: HashMap<u64, Result<Rc<Prepared>, Vec<Fault>>>,
    /// Instances without a call, by program.
    idle: HashMap<u64, Vec<Instance>>,
    /// By call, with the program.
    running: BTreeMap<u32, (u64, Instance)>,
}

impl WorkerLoop {
    fn new(channel: UnixStream) -> Self {
        Self {
            channel,
            frames: Frames::default(),
            programs: HashMap::new(),
            idle: HashMap::new(),
            running: BTreeMap::new(),
        }
    }

    fn run(mut self) -> io::Result<()> {
        send(&self.channel, &Report::Ready, b"")?;
        loop {
            self.wait()?;
            if !self.frames.read_from(&self.channel)? {
                return Ok(());
            }
            while let Some((order, body)) = self.frames.next()? {
                self.follow(order, body)?;
            }
        }
    }

    /// Waits for orders, and runs timers meanwhile.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            let due = self.running.values().filter_map(|(_, instance)| instance.due()).min();
            let timeout = due.map(|due| {
                let left = due.saturating_duration_since(Instant::now());
                Timespec {
                    tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                    tv_nsec: left.subsec_nanos().into(),
                }
            });
            let mut fds = [PollFd::new(&self.channel, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            let now = Instant::now();
            let calls: Vec<u32> = self.running.keys().copied().collect();
            for call in calls {
                if let Some((_, instance)) = self.running.get_mut(&call) {
                    instance.run_timers(now);
                    self.look_at(call)?;
                }
            }
        }
    }

    fn follow(&mut self, order: Order, body: Vec<u8>) -> io::Result<()> {
        match order {
            Order::Load { program } => {
                let read: Program = serde_json::from_slice(&body)?;
                self.programs.insert(program, Prepared::of(&read).map(Rc::new));
                Ok(())
            }
            Order::Inspect { call, program, limits } => match self.instance(program, limits) {
                Ok(instance) => {
                    let exports = instance.exports.clone().into_bytes();
                    self.done(call, End::Returned, &exports)
                }
                Err(end) => self.done(call, end, b""),
            },
            Order::Call { call, program, limits } => {
                let request = String::from_utf8_lossy(&body);
                match self.instance(program, limits) {
                    Ok(mut instance) => {
                        instance.begin(call, limits, &request);
                        self.running.insert(call, (program, instance));
                        self.look_at(call)
                    }
                    Err(end) => self.done(call, end, b""),
                }
            }
            Order::Answer { call, ask, is_good, has_body, value } => {
                if let Some((_, instance)) = self.running.get_mut(&call) {
                    instance.settle(ask, is_good, &value.to_string(), has_body.then_some(body));
                }
                self.look_at(call)
            }
            Order::Cancel { call } => {
                if let Some((_, instance)) = self.running.get_mut(&call) {
                    instance.cancel();
                }
                self.look_at(call)
            }
            Order::Forget { call, program, limits } => self.forget(call, program, limits),
        }
    }

    fn instance(&mut self, program: u64, limits: Limits) -> Result<Instance, End> {
        if let Some(instance) = self.idle.get_mut(&program).and_then(Vec::pop) {
            return Ok(instance);
        }
        let unknown = || End::Thrown { message: "the program is not here".to_owned(), stack: String::new() };
        match self.programs.get(&program).ok_or_else(unknown)? {
            Ok(prepared) => Instance::load(prepared, limits),
            Err(faults) => Err(End::Refused { faults: faults.clone() }),
        }
    }

    /// Lets one instance of the program say goodbye; when none is left, forgets it and says so.
    fn forget(&mut self, call: u32, program: u64, limits: Limits) -> io::Result<()> {
        while let Some(mut instance) = self.idle.get_mut(&program).and_then(Vec::pop) {
            if instance.exports.contains(r#""hasDestroy":true"#) {
                instance.begin_destroy(call, limits);
                // Of no program any more, so that it is not used again.
                self.running.insert(call, (0, instance));
                return self.look_at(call);
            }
        }
        self.idle.remove(&program);
        self.programs.remove(&program);
        self.done(call, End::Returned, b"\"forgotten\"")
    }

    /// Sends what an instance has to say, and ends its call if that is over.
    fn look_at(&mut self, call: u32) -> io::Result<()> {
        let Some((program, instance)) = self.running.get_mut(&call) else { return Ok(()) };
        for (report, body) in instance.take_reports() {
            send(&self.channel, &report, &body)?;
        }
        let Some((end, body)) = instance.take_end() else { return Ok(()) };
        let (program, is_reusable) = (*program, instance.is_reusable(&end));
        let instance = self.running.remove(&call).map(|(_, instance)| instance);
        let idle = self.idle.entry(program).or_default();
        if let Some(instance) = instance.filter(|_| is_reusable && program != 0 && idle.len() < MOST_IDLE) {
            idle.push(instance);
        }
        self.done(call, end, &body)
    }

    fn done(&self, call: u32, end: End, body: &[u8]) -> io::Result<()> {
        send(&self.channel, &Report::Done { call, end }, body)
    }
}

/// Ends the process when the gateway is gone, whatever the worker does just then.
fn follow_the_gateway(channel: &UnixStream) -> io::Result<()> {
    let watched = channel.try_clone()?;
    let (begun, begins) = std::sync::mpsc::channel();
    std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        let _ = begun.send(());
        loop {
            let mut fds = [PollFd::from_borrowed_fd(watched.as_fd(), PollFlags::RDHUP)];
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                _ => std::process::exit(0),
            }
        }
    })?;
    // The walls would fall upon a thread that has not begun.
    begins.recv().map_err(io::Error::other)
}
