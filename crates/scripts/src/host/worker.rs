//! One worker of the pool: its process, what it has loaded, and the calls it carries out. At any moment it carries out calls of
//! one program only, so that what one does to the processor is felt by no other.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;
use tokio::sync::{Notify, mpsc};

use super::process::command;
use crate::wire::{Frames, Report, frame};

/// How much is read from a worker for one call before that call takes it.
const UNREAD: usize = 64;
/// How long the start of a process may take.
const STARTS_WITHIN: Duration = Duration::from_secs(5);

/// What comes from a worker for one call.
pub(super) type Reports = mpsc::Receiver<(Report, Vec<u8>)>;

/// Where what comes for each call goes.
type Calls = HashMap<u32, mpsc::Sender<(Report, Vec<u8>)>>;

/// One worker.
#[derive(Debug)]
pub(super) struct Worker {
    orders: mpsc::Sender<Vec<u8>>,
    calls: Mutex<Calls>,
    last_call: AtomicU32,
    pub(super) duty: Mutex<Duty>,
    is_dead: AtomicBool,
    ends: Notify,
}

/// What a worker is busy with.
#[derive(Debug)]
pub(super) struct Duty {
    /// The program of its calls, or of its last one.
    pub(super) program: Option<u64>,
    pub(super) calls: usize,
    /// What it has loaded, the least recently used first.
    pub(super) loaded: Vec<u64>,
    /// Since when it has had nothing to do.
    pub(super) idle_since: Instant,
}

impl Worker {
    /// Starts a process of the binary; `gone` is told when it has ended.
    pub(super) async fn start(binary: &Path, gone: Arc<Notify>) -> io::Result<Arc<Self>> {
        let (command, channel) = command(binary)?;
        channel.set_nonblocking(true)?;
        let mut command = tokio::process::Command::from(command);
        let child = command.kill_on_drop(true).spawn()?;
        // Holds their end of the channel.
        drop(command);
        let (mut from, to) = UnixStream::from_std(channel)?.into_split();
        let mut frames = Frames::default();
        let ready = tokio::time::timeout(STARTS_WITHIN, next(&mut from, &mut frames)).await;
        if !matches!(ready, Ok(Ok(Some((Report::Ready, _))))) {
            return Err(io::Error::other("the worker did not begin to work"));
        }
        let (orders, queue) = mpsc::channel(256);
        let worker = Arc::new(Self {
            orders,
            calls: Mutex::default(),
            last_call: AtomicU32::default(),
            duty: Mutex::new(Duty {
                program: None,
                calls: 0,
                loaded: Vec::new(),
                idle_since: Instant::now(),
            }),
            is_dead: AtomicBool::default(),
            ends: Notify::new(),
        });
        tokio::spawn(write(to, queue));
        tokio::spawn(attend(Arc::clone(&worker), child, from, frames, gone));
        Ok(worker)
    }

    /// A new call: its number, and what will come for it.
    pub(super) fn open(&self) -> (u32, Reports) {
        let call = self.last_call.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
        let (sender, reports) = mpsc::channel(UNREAD);
        self.calls().insert(call, sender);
        if self.is_dead() {
            self.calls().clear();
        }
        (call, reports)
    }

    /// Nothing comes for that call any more.
    pub(super) fn close(&self, call: u32) {
        self.calls().remove(&call);
    }

    /// Says something to the worker; false if it is gone.
    pub(super) async fn order(&self, order: &crate::wire::Order, body: &[u8]) -> bool {
        match frame(order, body) {
            Ok(frame) => self.orders.send(frame).await.is_ok(),
            Err(_) => false,
        }
    }

    /// The same where nobody can wait.
    pub(super) fn order_now(&self, order: &crate::wire::Order) -> bool {
        frame(order, b"").is_ok_and(|frame| self.orders.try_send(frame).is_ok())
    }

    pub(super) fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Acquire)
    }

    /// Ends the process, whatever it does.
    pub(super) fn kill(&self) {
        self.is_dead.store(true, Ordering::Release);
        self.ends.notify_one();
    }

    pub(super) fn duty(&self) -> MutexGuard<'_, Duty> {
        self.duty.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn deliver(&self, report: Report, body: Vec<u8>) {
        let call = match &report {
            Report::Ready => return,
            Report::Ask { call, .. } | Report::Tell { call, .. } | Report::Done { call, .. } => *call,
        };
        let to = self.calls().get(&call).cloned();
        if let Some(to) = to {
            let _ = to.send((report, body)).await;
        }
    }
}

/// Reads what the worker says until it ends or is ended.
async fn attend(
    worker: Arc<Worker>,
    mut child: Child,
    mut from: OwnedReadHalf,
    mut frames: Frames,
    gone: Arc<Notify>,
) {
    let reading = async {
        while let Ok(Some((report, body))) = next(&mut from, &mut frames).await {
            worker.deliver(report, body).await;
        }
    };
    tokio::select! {
        () = reading => {}
        () = worker.ends.notified() => {}
    }
    worker.is_dead.store(true, Ordering::Release);
    let _ = child.kill().await;
    // Whoever waits for something from it hears that nothing comes.
    worker.calls().clear();
    gone.notify_waiters();
}

async fn write(mut to: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>) {
    use tokio::io::AsyncWriteExt;
    while let Some(frame) = queue.recv().await {
        if to.write_all(&frame).await.is_err() {
            return;
        }
    }
}

async fn next(from: &mut OwnedReadHalf, frames: &mut Frames) -> io::Result<Option<(Report, Vec<u8>)>> {
    let mut chunk = Vec::with_capacity(16 << 10);
    loop {
        if let Some(read) = frames.next()? {
            return Ok(Some(read));
        }
        chunk.clear();
        if from.read_buf(&mut chunk).await? == 0 {
            return Ok(None);
        }
        frames.push(&chunk);
    }
}
