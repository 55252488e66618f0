//! Looks at programs: what they export, or what is wrong with them. It waits for the answer, since definitions are compiled
//! where nothing else can be done meanwhile; and it does so in a worker, since a module runs when it is loaded.

use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use super::process::command;
use crate::limits::Limits;
use crate::program::{Digest, Fault, Program};
use crate::wire::{End, Excess, Frames, Missing, Order, Report, send};

/// How long a program may take to load.
const PATIENCE: Duration = Duration::from_secs(5);
const CPU_MS: u64 = 2_000;
/// How long a worker is kept for the next program.
const KEPT: Duration = Duration::from_secs(2);
/// How many verdicts are remembered.
const REMEMBERED: usize = 2_000;
/// The largest schema that a script exports, and the most that is told of its faults.
const LARGEST_EXPORTS: usize = 256 << 10;
const MOST_FAULTS: usize = 20;
const LONGEST_FAULT: usize = 4 << 10;
/// The most files that an import may mean.
const MOST_CANDIDATES: usize = 10;
/// The most files of one program.
const MOST_FILES: usize = 200;

/// What a program exports.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// `schema`, as JSON has it.
    pub schema: Option<Value>,
    /// Whether there is a function to call.
    pub has_default: bool,
    /// Whether it wants to say goodbye.
    pub has_destroy: bool,
}

type Verdict = Result<Arc<Inspection>, Refusal>;

/// Looks at programs.
#[derive(Debug)]
pub struct Inspector {
    binary: PathBuf,
    worker: Arc<Mutex<Option<Attendant>>>,
    known: Mutex<HashMap<Digest, Verdict>>,
}

/// The worker that looks, and when it was last needed.
#[derive(Debug)]
struct Attendant {
    child: Child,
    channel: UnixStream,
    frames: Frames,
    used: Instant,
}

impl Drop for Attendant {
    fn drop(&mut self) {
        // It may be in the midst of something that never ends.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Inspector {
    /// An inspector whose workers are processes of that binary.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into(), worker: Arc::default(), known: Mutex::default() }
    }

    /// What the program exports. A program that was looked at before is not loaded again.
    pub fn inspect(&self, program: &Program) -> Result<Arc<Inspection>, Vec<Fault>> {
        self.verdict(program).map_err(|refusal| match refusal {
            Refusal::Faults(faults) => faults,
            Refusal::Missing(missing) => vec![missing_fault(&missing)],
        })
    }

    fn verdict(&self, program: &Program) -> Verdict {
        let digest = program.digest();
        if let Some(known) = self.known().get(&digest) {
            return known.clone();
        }
        let (verdict, is_final) = self.look_at(program);
        if !is_final {
            return verdict;
        }
        let mut known = self.known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(digest, verdict.clone());
        verdict
    }

    /// The program that begins with that file: `read` gives the files that it imports, by their names.
    pub fn gather(
        &self,
        entry: &str,
        source: String,
        read: &dyn Fn(&str) -> Option<Result<String, String>>,
    ) -> Result<(Program, Arc<Inspection>), Vec<Fault>> {
        let mut program = Program::single(entry, source);
        let deadline = Instant::now() + 2 * PATIENCE;
        loop {
            let missing = match self.verdict(&program) {
                Ok(inspection) => return Ok((program, inspection)),
                Err(Refusal::Faults(faults)) => return Err(faults),
                Err(Refusal::Missing(missing)) => missing,
            };
            // They come from a process that ran the script: nothing but files beside it.
            let beside = missing.candidates.iter().filter(|name| is_beside(name));
            let found = beside.take(MOST_CANDIDATES).find_map(|name| Some((name.clone(), read(name)?)));
            let Some((name, text)) =
                found.filter(|_| program.files.len() < MOST_FILES && Instant::now() < deadline)
            else {
                return Err(vec![missing_fault(&missing)]);
            };
            let text = text.map_err(|message| vec![Fault { file: name.clone(), place: None, message }])?;
            program.files.insert(name, text);
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Verdict>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is found, and whether it would be found again: that a worker ended says little about the script.
    fn look_at(&self, program: &Program) -> (Verdict, bool) {
        let mut place = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let looked = self.attendant(&mut place).and_then(|attendant| attendant.look_at(program));
        let is_final = looked.is_ok();
        let (end, body) = looked.unwrap_or_else(|error| {
            *place = None;
            let took_too_long = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
            let end = if took_too_long {
                End::Exceeded { what: Excess::Cpu }
            } else {
                let message = format!("its worker ended while it was loaded: {error}");
                End::Thrown { message, stack: String::new() }
            };
            (end, Vec::new())
        });
        drop(place);
        (verdict(program, end, &body), is_final)
    }

    fn attendant<'p>(&self, place: &'p mut Option<Attendant>) -> io::Result<&'p mut Attendant> {
        if place.is_none() {
            let (mut command, channel) = command(&self.binary)?;
            channel.set_write_timeout(Some(PATIENCE))?;
            let child = command.spawn()?;
            drop(command);
            *place = Some(Attendant { child, channel, frames: Frames::default(), used: Instant::now() });
            dismiss_later(&self.worker);
        }
        let attendant = place.as_mut().ok_or_else(|| io::Error::other("no worker"))?;
        attendant.used = Instant::now();
        Ok(attendant)
    }
}

/// Ends the worker when it is not needed any more.
fn dismiss_later(worker: &Arc<Mutex<Option<Attendant>>>) {
    let worker = Arc::downgrade(worker);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(KEPT / 2);
            let Some(worker) = worker.upgrade() else { return };
            let mut place = worker.lock().unwrap_or_else(PoisonError::into_inner);
            if place.as_ref().is_none_or(|attendant| attendant.used.elapsed() > KEPT) {
                *place = None;
                return;
            }
        }
    });
}

impl Attendant {
    fn look_at(&mut self, program: &Program) -> io::Result<(End, Vec<u8>)> {
        let limits = Limits { cpu_ms: CPU_MS, ..Limits::default() };
        send(&self.channel, &Order::Load { program: 1 }, &serde_json::to_vec(program)?)?;
        send(&self.channel, &Order::Inspect { call: 1, program: 1, limits }, b"")?;
        let deadline = Instant::now() + PATIENCE;
        let ended = self.end_of(1, deadline)?;
        send(&self.channel, &Order::Forget { call: 2, program: 1, limits }, b"")?;
        self.end_of(2, deadline)?;
        Ok(ended)
    }

    fn end_of(&mut self, wanted: u32, deadline: Instant) -> io::Result<(End, Vec<u8>)> {
        loop {
            while let Some((report, body)) = self.frames.next::<Report>()? {
                if let Report::Done { call, end } = report
                    && call == wanted
                {
                    return Ok((end, body));
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.channel.set_read_timeout(Some(left))?;
            if !self.frames.read_from(&self.channel)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Refusal {
    Faults(Vec<Fault>),
    Missing(Missing),
}

fn verdict(program: &Program, end: End, body: &[u8]) -> Result<Arc<Inspection>, Refusal> {
    let fault =
        |message: String| Refusal::Faults(vec![Fault { file: program.entry.clone(), place: None, message }]);
    match end {
        End::Returned if body.len() > LARGEST_EXPORTS => {
            Err(fault(format!("its schema is larger than {} KB", LARGEST_EXPORTS >> 10)))
        }
        End::Returned => serde_json::from_slice(body).map(Arc::new).map_err(|error| fault(error.to_string())),
        End::Refused { faults } => {
            let shortened = faults
                .into_iter()
                .take(MOST_FAULTS)
                .map(|fault| Fault { message: cut(fault.message), ..fault });
            Err(Refusal::Faults(shortened.collect()))
        }
        End::Missing(missing) => Err(Refusal::Missing(missing)),
        End::Thrown { message, .. } => Err(fault(cut(message))),
        End::Exceeded { what: Excess::Cpu } => {
            Err(fault("loading it takes too long; a script does its work when it is called".to_owned()))
        }
        End::Exceeded { .. } => Err(fault("loading it takes too much memory".to_owned())),
        End::Cancelled | End::Stuck => Err(fault("it could not be loaded".to_owned())),
    }
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_FAULT));
    text
}

/// Whether that is a file of the folder or below it, of a sort that scripts import.
fn is_beside(name: &str) -> bool {
    let path = Path::new(name);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let known = ["ts", "mts", "js", "mjs", "json"];
    let is_known = path.extension().is_some_and(|extension| known.iter().any(|known| extension == *known));
    is_inside && is_known && name.len() <= 1_000
}

fn missing_fault(missing: &Missing) -> Fault {
    let Missing { from, import, candidates } = missing;
    let message = if candidates.is_empty() {
        format!(
            "{import:?} cannot be imported: a script imports files of its own folder (\"./name\"); bundle a library into one file first, for example with esbuild"
        )
    } else {
        format!("{import:?} cannot be imported: there is no such file beside it")
    };
    Fault { file: from.clone(), place: None, message }
}
