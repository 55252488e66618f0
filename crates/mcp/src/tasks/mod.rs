//! Tasks (extension `io.modelcontextprotocol/tasks`): calls that run on while their clients ask for them now and then.
//! They live in this process only; it is sealed into their ids, so that other replicas know whom to ask.

mod caller;
pub(crate) mod elsewhere;
mod errand;
mod follow;
mod task;
mod write;

use std::any::Any;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::task::AbortOnDropHandle;
use toolrail_core::{Block, Outcome, Payload, Principal, ToolResult};
use toolrail_registry::Tool;

use crate::relay::{Held, Relay};
use crate::sign::Signer;
use crate::stamp::tag;

pub(crate) use caller::{Brought, TaskCaller};
use task::End;
pub(crate) use task::Task;
pub(crate) use write::created;

/// The most tasks that are kept at once.
const MOST_TASKS: usize = 10_000;
/// The longest a task may work.
const LONGEST: Duration = Duration::from_hours(1);
/// The largest result that is kept.
const LARGEST_RESULT: usize = 8 * 1024 * 1024;
/// The most bytes that all results together may hold.
const MOST_HELD: usize = 256 * 1024 * 1024;

/// A call under way; a panic inside comes out as an error.
pub(crate) type Work = Pin<Box<dyn Future<Output = Result<Outcome, Box<dyn Any + Send>>> + Send>>;

/// All tasks of this process. When it is dropped, their work ends.
pub(crate) struct Tasks {
    relay: Arc<Relay>,
    shelf: Arc<Shelf>,
}

#[derive(Default)]
struct Shelf {
    kept: Mutex<KeptTasks>,
}

#[derive(Default)]
struct KeptTasks {
    by_id: HashMap<String, Place>,
    /// The bytes of all results.
    held: usize,
}

struct Place {
    task: Arc<Task>,
    /// The bytes of its result.
    held: usize,
    running: Option<AbortOnDropHandle<()>>,
    /// Others may ask for it by way of other replicas.
    _held: Held,
}

const PURPOSE: &str = "task";

/// The replica at which the task of that id is or was; nothing if none of us made the id.
pub(crate) fn replica_of(signer: &Signer, id: &str) -> Option<u32> {
    signer.open(PURPOSE, id)?.try_into().ok().map(u32::from_be_bytes)
}

impl Tasks {
    pub(crate) fn new(relay: Arc<Relay>) -> Self {
        Self { relay, shelf: Arc::default() }
    }

    /// A place for a call of that tool, if there is one left.
    pub(crate) fn open(&self, signer: &Signer, principal: &Principal, tool: &Arc<Tool>) -> Option<Arc<Task>> {
        let mut kept = self.shelf.kept();
        if kept.by_id.len() >= MOST_TASKS {
            return None;
        }
        // Nobody can guess it. It has no `~`, which stands in the ids of tasks at upstreams.
        let id = signer.seal(PURPOSE, &self.relay.replica.to_be_bytes())?;
        let task = Arc::new(Task::new(id, principal.clone(), Arc::clone(tool)));
        let place = Place { task: Arc::clone(&task), held: 0, running: None, _held: self.relay.hold() };
        kept.by_id.insert(task.id.clone(), place);
        Some(task)
    }

    /// Lets the task work until it ends, and keeps it for a while after.
    pub(crate) fn run(&self, task: &Arc<Task>, work: Work) {
        let driven = drive(Arc::clone(task), work, Arc::downgrade(&self.shelf));
        let running = AbortOnDropHandle::new(tokio::spawn(driven));
        if let Some(place) = self.shelf.kept().by_id.get_mut(&task.id) {
            place.running = Some(running);
        }
    }

    /// Forgets a task that its client has not heard of.
    pub(crate) fn discard(&self, task: &Task) {
        self.shelf.forget(&task.id);
    }

    /// The task of that id, if it is that caller's.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Task>> {
        self.find_tagged(id, tag(principal))
    }

    /// The same, given the caller as we write it in what travels between replicas.
    pub(crate) fn find_tagged(&self, id: &str, principal: &str) -> Option<Arc<Task>> {
        let kept = self.shelf.kept();
        kept.by_id.get(id).map(|place| &place.task).filter(|task| tag(&task.principal) == principal).cloned()
    }
}

/// A task's own thread of work: the call, then the time for which its end is kept.
async fn drive(task: Arc<Task>, work: Work, shelf: Weak<Shelf>) {
    let outcome = tokio::select! {
        biased;
        () = task.stop.cancelled() => None,
        outcome = tokio::time::timeout(LONGEST, work) => Some(outcome),
    };
    let end = match outcome {
        None => End::Cancelled,
        Some(Ok(Ok(outcome))) => shelf.upgrade().map_or(End::Cancelled, |shelf| shelf.hold(&task, outcome)),
        Some(Ok(Err(_panic))) => End::internal("the tool failed unexpectedly"),
        Some(Err(_)) => End::internal("the task did not end within an hour"),
    };
    task.finish(end);
    if let Some(expires) = task.expires() {
        tokio::time::sleep_until(expires).await;
    }
    if let Some(shelf) = shelf.upgrade() {
        shelf.forget(&task.id);
    }
}

impl Shelf {
    fn kept(&self) -> MutexGuard<'_, KeptTasks> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for a result, or refuses it.
    fn hold(&self, task: &Task, outcome: Outcome) -> End {
        let size = size_of(&outcome);
        if size > LARGEST_RESULT {
            return End::internal("the result is larger than 8 MiB, the most that is kept of a task");
        }
        let mut kept = self.kept();
        if kept.held + size > MOST_HELD {
            return End::internal("the results of other tasks leave no room for this one; call again later");
        }
        if let Some(place) = kept.by_id.get_mut(&task.id) {
            place.held = size;
            kept.held += size;
        }
        End::of(outcome)
    }

    fn forget(&self, id: &str) {
        let mut kept = self.kept();
        let place = kept.by_id.remove(id);
        kept.held -= place.as_ref().map_or(0, |place| place.held);
        drop(kept);
    }
}

/// About how many bytes a result holds.
fn size_of(outcome: &Outcome) -> usize {
    let Ok(ToolResult { payload, notes, .. }) = outcome else {
        return 0;
    };
    let payload = match payload {
        Payload::Json(json) => json.bytes().len() + json.quoted().map_or(0, bytes::Bytes::len),
        Payload::Whole(json) => json.bytes().len(),
        Payload::Text(text) => text.len(),
        Payload::Blocks(blocks) => blocks.iter().map(size_of_block).sum(),
        Payload::Empty | Payload::InputRequired(_) => 0,
    };
    payload + notes.iter().map(String::len).sum::<usize>()
}

fn size_of_block(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::TextResource { text, .. } => text.len(),
        Block::Image { data, .. } | Block::Audio { data, .. } | Block::Resource { data, .. } => data.len(),
    }
}

/// A call as the work of a task.
pub(crate) fn work(call: impl Future<Output = Outcome> + Send + 'static) -> Work {
    std::panic::AssertUnwindSafe(call).catch_unwind().boxed()
}
