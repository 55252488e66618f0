//! The workers: started when they are needed, as many as are allowed, shared out so that no program takes all of them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Failure;
use super::worker::Worker;
use crate::limits::Limits;
use crate::program::Program;
use crate::wire::{End, Order, Report, Telling};

/// How often workers that have nothing to do are looked for.
const LOOKS: Duration = Duration::from_secs(5);
/// How long a script may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);
/// How many messages of a goodbye are heard.
const MOST_LAST_WORDS: usize = 20;
/// How many programs a worker keeps loaded.
const MOST_LOADED: usize = 32;

/// How many workers there are, and what they may do.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// The binary whose processes they are.
    pub binary: PathBuf,
    /// The most workers.
    pub workers: usize,
    /// The most calls that one carries out at once, all of one program.
    pub calls_per_worker: usize,
    /// The most calls that wait for a worker.
    pub queue: usize,
    /// How long one stays without anything to do.
    pub idle: Duration,
}

impl PoolSettings {
    /// Processes of that binary.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            workers: 8,
            calls_per_worker: 16,
            queue: 512,
            idle: Duration::from_mins(1),
        }
    }

    /// The most workers for one program: never all of them, unless there is only one.
    fn per_program(&self) -> usize {
        (self.workers / 2).max(1)
    }
}

/// The workers.
pub struct Pool {
    pub(super) settings: PoolSettings,
    state: Mutex<PoolState>,
    /// Rung when a worker has room again, has ended or was started.
    pub(super) freed: Arc<Notify>,
}

/// Hears what a program prints when it says goodbye.
type Said = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
struct PoolState {
    workers: Vec<Arc<Worker>>,
    /// Workers that are being started, by program.
    starting: HashMap<u64, usize>,
    waiting: usize,
    waiting_by_program: HashMap<u64, usize>,
    /// Programs that are in use, and who hears what they print at their end.
    programs: HashMap<u64, Said>,
    last_program: u64,
    /// Whether idle workers are looked for.
    is_watched: bool,
}

/// A program as long as somebody uses it; then it is asked to say goodbye.
#[derive(Debug)]
pub struct Adopted {
    pub(super) pool: Arc<Pool>,
    /// The program.
    pub program: Arc<Program>,
    pub(super) id: u64,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pool").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        let said = state.programs.remove(&self.id);
        let loaded = state.workers.iter().filter(|worker| worker.duty().loaded.contains(&self.id));
        let loaded: Vec<_> = loaded.cloned().collect();
        drop(state);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            for worker in loaded {
                runtime.spawn(retire(Arc::clone(&self.pool), worker, self.id, said.clone()));
            }
        }
    }
}

/// What to do for a call that wants a worker.
enum Choice {
    Take(Arc<Worker>),
    Start,
    Wait,
}

impl Pool {
    /// A pool without workers.
    pub fn new(settings: PoolSettings) -> Arc<Self> {
        Arc::new(Self { settings, state: Mutex::default(), freed: Arc::new(Notify::new()) })
    }

    /// Uses a program from now on.
    /// Nothing is shared with others, whatever their text is. `said` gets what it prints when it says goodbye.
    pub fn adopt(self: &Arc<Self>, program: Program, said: impl Fn(&str) + Send + Sync + 'static) -> Adopted {
        let mut state = self.state();
        state.last_program += 1;
        let id = state.last_program;
        state.programs.insert(id, Arc::new(said));
        drop(state);
        Adopted { pool: Arc::clone(self), program: Arc::new(program), id }
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.state().workers.iter().filter(|worker| !worker.is_dead()).count()
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place in a worker for a call of that program.
    pub(super) async fn place(self: &Arc<Self>, program: u64, is_nested: bool) -> Result<Place, Failure> {
        if let Some(place) = self.try_place(program, is_nested).await? {
            return Ok(place);
        }
        // Whoever called it holds a place: if all waited like that, nobody would ever go on.
        if is_nested {
            return Err(Failure::Busy(self.state().waiting));
        }
        let _waiting = Waiting::begin(self, program)?;
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            if let Some(place) = self.try_place(program, false).await? {
                return Ok(place);
            }
            freed.await;
        }
    }

    async fn try_place(self: &Arc<Self>, program: u64, is_nested: bool) -> Result<Option<Place>, Failure> {
        match self.choose(program, is_nested) {
            Choice::Take(worker) => Ok(Some(Place { pool: Arc::clone(self), worker })),
            Choice::Wait => Ok(None),
            Choice::Start => self.start(program).await.map(Some),
        }
    }

    fn choose(&self, program: u64, is_nested: bool) -> Choice {
        let mut state = self.state();
        state.workers.retain(|worker| !worker.is_dead());
        let mut shared: Option<(usize, &Arc<Worker>)> = None;
        let mut idle: Option<(bool, &Arc<Worker>)> = None;
        let mut own = state.starting.get(&program).copied().unwrap_or_default();
        for worker in &state.workers {
            let duty = worker.duty();
            if duty.calls == 0 {
                let is_warm = duty.loaded.contains(&program);
                if idle.is_none_or(|(was_warm, _)| is_warm && !was_warm) {
                    idle = Some((is_warm, worker));
                }
            } else if duty.program == Some(program) {
                own += 1;
                let has_room = duty.calls < self.settings.calls_per_worker;
                if has_room && shared.is_none_or(|(calls, _)| duty.calls < calls) {
                    shared = Some((duty.calls, worker));
                }
            }
        }
        let may_have_more = own < self.settings.per_program();
        if let Some((_, worker)) = idle.filter(|_| may_have_more) {
            return Choice::Take(take(worker, program));
        }
        let all = state.workers.len() + state.starting.values().sum::<usize>();
        let most = if is_nested { 2 * self.settings.workers } else { self.settings.workers };
        if may_have_more && all < most {
            *state.starting.entry(program).or_default() += 1;
            return Choice::Start;
        }
        shared.map_or(Choice::Wait, |(_, worker)| Choice::Take(take(worker, program)))
    }

    async fn start(self: &Arc<Self>, program: u64) -> Result<Place, Failure> {
        let starting = Starting { pool: Arc::clone(self), program };
        let worker = Worker::start(&self.settings.binary, Arc::clone(&self.freed)).await;
        let worker = worker.map_err(|error| Failure::NotStarted(error.to_string()))?;
        take(&worker, program);
        let mut state = self.state();
        state.workers.push(Arc::clone(&worker));
        let is_watched = std::mem::replace(&mut state.is_watched, true);
        drop(state);
        if !is_watched {
            tokio::spawn(dismiss_idle(Arc::downgrade(self)));
        }
        drop(starting);
        Ok(Place { pool: Arc::clone(self), worker })
    }
}

/// One more call of that program.
fn take(worker: &Arc<Worker>, program: u64) -> Arc<Worker> {
    let mut duty = worker.duty();
    duty.program = Some(program);
    duty.calls += 1;
    drop(duty);
    Arc::clone(worker)
}

/// A place in a worker, given back when it is dropped.
pub(super) struct Place {
    pool: Arc<Pool>,
    pub(super) worker: Arc<Worker>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut duty = self.worker.duty();
        duty.calls = duty.calls.saturating_sub(1);
        duty.idle_since = Instant::now();
        drop(duty);
        self.pool.freed.notify_waiters();
    }
}

/// Counts a worker that is being started.
struct Starting {
    pool: Arc<Pool>,
    program: u64,
}

impl Drop for Starting {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        if let Some(count) = state.starting.get_mut(&self.program) {
            *count -= 1;
            if *count == 0 {
                state.starting.remove(&self.program);
            }
        }
        drop(state);
        self.pool.freed.notify_waiters();
    }
}

/// Counts a call that waits for a worker.
struct Waiting<'p> {
    pool: &'p Pool,
    program: u64,
}

impl<'p> Waiting<'p> {
    fn begin(pool: &'p Pool, program: u64) -> Result<Self, Failure> {
        let mut state = pool.state();
        let own = state.waiting_by_program.get(&program).copied().unwrap_or_default();
        // Half of the queue for those who wait for other programs.
        if state.waiting >= pool.settings.queue || own >= pool.settings.queue.div_ceil(2) {
            return Err(Failure::Busy(state.waiting));
        }
        state.waiting += 1;
        state.waiting_by_program.insert(program, own + 1);
        Ok(Self { pool, program })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.waiting -= 1;
        if let Some(own) = state.waiting_by_program.get_mut(&self.program) {
            *own -= 1;
            if *own == 0 {
                state.waiting_by_program.remove(&self.program);
            }
        }
    }
}

/// Lets a worker forget a program that nobody uses any more, once its calls have ended.
async fn retire(pool: Arc<Pool>, worker: Arc<Worker>, program: u64, said: Option<Said>) {
    loop {
        let mut freed = std::pin::pin!(pool.freed.notified());
        freed.as_mut().enable();
        let is_free = {
            let mut duty = worker.duty();
            let is_free = duty.calls == 0;
            if is_free {
                // Nobody else shares it meanwhile.
                duty.program = None;
                duty.calls = 1;
            }
            is_free
        };
        if worker.is_dead() {
            return;
        }
        if is_free {
            let place = Place { pool: Arc::clone(&pool), worker };
            say_goodbye(&place.worker, program, said.as_ref()).await;
            return;
        }
        freed.await;
    }
}

/// Lets every instance of a program in a worker run `destroy`.
async fn say_goodbye(worker: &Worker, program: u64, said: Option<&Said>) {
    let limits = Limits { cpu_ms: 500, asks: 20, ..Limits::default() };
    let mut messages = MOST_LAST_WORDS;
    let goodbyes = async {
        for _ in 0..64 {
            let (call, mut reports) = worker.open();
            if !worker.order(&Order::Forget { call, program, limits }, b"").await {
                return true;
            }
            let mut is_forgotten = false;
            while let Some((report, body)) = reports.recv().await {
                match report {
                    Report::Done { end, .. } => {
                        is_forgotten = end == End::Returned && body == b"\"forgotten\"";
                        break;
                    }
                    // Nobody answers for a program that is gone.
                    Report::Ask { ask, .. } => {
                        let value = serde_json::json!({"message": "the tool is being removed"});
                        let order = Order::Answer { call, ask, is_good: false, has_body: false, value };
                        worker.order(&order, b"").await;
                    }
                    Report::Tell { what: Telling::Console { text, .. }, .. } if messages > 0 => {
                        messages -= 1;
                        if let Some(said) = said {
                            said(&text[..text.floor_char_boundary(2_000)]);
                        }
                    }
                    Report::Tell { .. } | Report::Ready => {}
                }
            }
            worker.close(call);
            if is_forgotten || worker.is_dead() {
                return true;
            }
        }
        false
    };
    if !tokio::time::timeout(GOODBYE, goodbyes).await.unwrap_or(false) {
        worker.kill();
    }
    worker.duty().loaded.retain(|loaded| *loaded != program);
}

/// Ends workers that had nothing to do for a while, as long as there is a pool.
async fn dismiss_idle(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(LOOKS).await;
        let Some(pool) = pool.upgrade() else { return };
        let idle: Vec<_> = {
            let mut state = pool.state();
            let mut idle = Vec::new();
            state.workers.retain(|worker| {
                let duty = worker.duty();
                let has_too_many = duty.loaded.len() > MOST_LOADED;
                let is_over =
                    duty.calls == 0 && (has_too_many || duty.idle_since.elapsed() > pool.settings.idle);
                if is_over {
                    idle.push(Arc::clone(worker));
                }
                !is_over && !worker.is_dead()
            });
            idle
        };
        for worker in idle {
            let loaded = worker.duty().loaded.clone();
            for program in loaded {
                let said = pool.state().programs.get(&program).cloned();
                say_goodbye(&worker, program, said.as_ref()).await;
            }
            worker.kill();
        }
    }
}
