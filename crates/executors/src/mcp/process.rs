//! A server that runs as our child and speaks on its standard streams, one message a line. It has a process group of its
//! own, so that what it started ends with it.

mod command;
mod groups;
mod lines;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::failure::Failure;
use super::message::{self, Message};
use super::wire::Request;

pub(super) use command::Command;
pub use groups::end_programs;

/// Messages that wait to be written, or to be looked at, at most.
const QUEUE: usize = 256;
/// Reports of progress that wait for one call at most; more are dropped.
const NOTES: usize = 64;
const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// How long a child may take to end by itself once its input is closed.
const END_WITHIN: Duration = Duration::from_secs(2);

/// A running child.
pub(super) struct Process {
    name: Arc<str>,
    outbox: mpsc::Sender<Bytes>,
    waiting: Arc<Waiting>,
    group: Option<Group>,
    tasks: Vec<AbortOnDropHandle<()>>,
}

/// Requests that wait for their answers, by id; nothing once the child has ended.
struct Waiting(Mutex<Option<HashMap<u64, Waiter>>>);

struct Waiter {
    answer: oneshot::Sender<Result<Message, Failure>>,
    notes: mpsc::Sender<Message>,
}

/// A request to the child, until its answer is there.
pub(super) struct ProcessExchange {
    name: Arc<str>,
    id: u64,
    waiting: Arc<Waiting>,
    answer: oneshot::Receiver<Result<Message, Failure>>,
    notes: mpsc::Receiver<Message>,
}

/// What the child sends that belongs to no request.
pub(super) struct Unasked(mpsc::Receiver<Message>);

/// The child and everything it started.
struct Group {
    child: Child,
    /// Its group; kept, as the child forgets it once it has ended.
    id: Option<u32>,
    farewells: TaskTracker,
}

impl Process {
    /// Starts the child.
    pub(super) fn start(
        command: &Command,
        most: usize,
        farewells: TaskTracker,
    ) -> Result<(Self, Unasked), Failure> {
        let name: Arc<str> = command.name().into();
        let (mut child, sensitive) = command.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (outbox, outgoing) = mpsc::channel(QUEUE);
        let (unasked, unasked_here) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Waiting(Mutex::new(Some(HashMap::new()))));
        let reader = lines::Reader {
            name: Arc::clone(&name),
            most,
            sensitive: sensitive.clone(),
            waiting: Arc::clone(&waiting),
            outbox: outbox.clone(),
            unasked,
        };
        let tasks = vec![
            AbortOnDropHandle::new(tokio::spawn(write(stdin, outgoing))),
            AbortOnDropHandle::new(tokio::spawn(reader.run(stdout))),
            AbortOnDropHandle::new(tokio::spawn(lines::log(stderr, Arc::clone(&name), sensitive))),
        ];
        let group = Some(Group { id: child.id(), child, farewells });
        Ok((Self { name, outbox, waiting, group, tasks }, Unasked(unasked_here)))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn begin(&self, request: &Request) -> Result<ProcessExchange, Failure> {
        let (answer, answer_here) = oneshot::channel();
        let (notes, notes_here) = mpsc::channel(NOTES);
        match &mut *self.waiting.lock() {
            Some(waiting) => waiting.insert(request.id, Waiter { answer, notes }),
            None => return Err(ended(&self.name)),
        };
        let exchange = ProcessExchange {
            name: Arc::clone(&self.name),
            id: request.id,
            waiting: Arc::clone(&self.waiting),
            answer: answer_here,
            notes: notes_here,
        };
        self.send(request.message())?;
        Ok(exchange)
    }

    /// Puts a message into the queue.
    pub(super) fn send(&self, message: Bytes) -> Result<(), Failure> {
        self.outbox.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Failure::Call(toolrail_core::CallError::new(
                toolrail_core::ErrorCode::UpstreamUnreachable,
                format!("{} does not read what it is sent; look into its log", self.name),
            )),
            mpsc::error::TrySendError::Closed(_) => ended(&self.name),
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Aborting the writer closes the child's input, which asks it to end.
        self.tasks.clear();
        let Some(group) = self.group.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let farewells = group.farewells.clone();
            farewells.spawn_on(group.end(), &runtime);
        }
    }
}

impl Group {
    async fn end(mut self) {
        // What did not end in time is killed below.
        drop(tokio::time::timeout(END_WITHIN, self.child.wait()).await);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            groups::end(id);
        }
    }
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Waiter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, id: u64) -> Option<Waiter> {
        self.lock().as_mut()?.remove(&id)
    }

    fn answer(&self, id: u64, answer: Result<Message, Failure>) {
        if let Some(waiter) = self.remove(id) {
            // Whoever asked may be gone.
            drop(waiter.answer.send(answer));
        }
    }

    fn note(&self, token: u64, message: Message) {
        if let Some(waiter) = self.lock().as_ref().and_then(|waiting| waiting.get(&token)) {
            drop(waiter.notes.try_send(message));
        }
    }

    fn fail(&self, failure: &Failure) {
        let all: Vec<_> = self.lock().as_mut().into_iter().flat_map(HashMap::drain).collect();
        for (_, waiter) in all {
            drop(waiter.answer.send(Err(failure.clone())));
        }
    }

    /// The child has ended: nobody waits any more, and nobody begins to.
    fn close(&self, failure: &Failure) {
        self.fail(failure);
        // Answered while it was unlocked: whoever came in between finds the channel closed.
        *self.lock() = None;
    }
}

impl ProcessExchange {
    pub(super) async fn next(&mut self) -> Result<Message, Failure> {
        tokio::select! {
            biased;
            Some(note) = self.notes.recv() => Ok(note),
            answer = &mut self.answer => answer.unwrap_or_else(|_| Err(ended(&self.name))),
        }
    }
}

impl Drop for ProcessExchange {
    fn drop(&mut self) {
        drop(self.waiting.remove(self.id));
    }
}

impl Unasked {
    pub(super) async fn next(&mut self) -> Option<Message> {
        self.0.recv().await
    }
}

fn ended(name: &str) -> Failure {
    Failure::lost(format!("{name} has ended; look into its log"))
}

async fn write(stdin: Option<ChildStdin>, mut outgoing: mpsc::Receiver<Bytes>) {
    let Some(mut stdin) = stdin else { return };
    while let Some(message) = outgoing.recv().await {
        let writing = async {
            stdin.write_all(&message).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        if !matches!(tokio::time::timeout(WRITE_WITHIN, writing).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// The answer to `ping`, which every client owes.
fn pong(id: &Bytes) -> Bytes {
    message::answer(id, Ok(&serde_json::json!({})))
}
