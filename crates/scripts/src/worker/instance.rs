//! An instance: a script loaded into an engine of its own, which carries out one call at a time. Nothing of one instance is
//! within reach of another.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

use rquickjs::{
    ArrayBuffer, CatchResultExt, CaughtError, Context, Ctx, Exception, Function, Module, Object, Persistent,
    Runtime,
};
use serde::Deserialize;

use super::meter::CpuMeter;
use super::modules::{Modules, Prepared};
use super::native::native;
use super::prelude;
use crate::limits::Limits;
use crate::program::Fault;
use crate::wire::{End, Excess, Missing, Report};

/// How much longer than its call an instance may go on until nothing is left to be done at once.
const JOBS_AFTER_END: usize = 1_000;

/// What an instance shares with the functions that its script calls.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) call: Cell<u32>,
    pub(super) started: Instant,
    pub(super) timers: RefCell<BTreeSet<(Instant, u32)>>,
    outbox: RefCell<Vec<(Report, Vec<u8>)>>,
    end: RefCell<Option<(End, Vec<u8>)>>,
    meter: CpuMeter,
    limits: Cell<Limits>,
    asks: Cell<u32>,
    /// Asks that have no answer yet.
    waiting: Cell<u32>,
    messages: Cell<u32>,
    /// Whether the promise of the call was settled.
    pub(super) is_settled: Cell<bool>,
    program: Rc<Prepared>,
}

impl Shared {
    fn new(program: Rc<Prepared>, limits: Limits) -> Self {
        let shared = Self {
            call: Cell::default(),
            started: Instant::now(),
            timers: RefCell::default(),
            outbox: RefCell::default(),
            end: RefCell::default(),
            meter: CpuMeter::default(),
            limits: Cell::new(limits),
            asks: Cell::default(),
            waiting: Cell::default(),
            messages: Cell::default(),
            is_settled: Cell::default(),
            program,
        };
        shared.begin(0, limits);
        shared
    }

    fn begin(&self, call: u32, limits: Limits) {
        self.call.set(call);
        self.limits.set(limits);
        self.meter.allow(limits.cpu_ms);
        self.asks.set(limits.asks);
        self.waiting.set(0);
        self.is_settled.set(false);
        self.messages.set(limits.messages);
        self.timers.borrow_mut().clear();
        self.end.borrow_mut().take();
    }

    /// One more request of the gateway, if the call may make one.
    pub(super) fn take_ask(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        if self.call.get() == 0 {
            return Err(Exception::throw_type(
                ctx,
                "this can be used in a call only, not while the script is loaded",
            ));
        }
        let Some(left) = self.asks.get().checked_sub(1) else {
            let most = self.limits.get().asks;
            return Err(Exception::throw_range(
                ctx,
                &format!("a call makes at most {most} requests (fetch, tools, secrets)"),
            ));
        };
        self.asks.set(left);
        self.waiting.set(self.waiting.get() + 1);
        Ok(())
    }

    /// One more message, if the call may write one.
    pub(super) fn take_message(&self) -> bool {
        let left = self.messages.get();
        self.messages.set(left.saturating_sub(1));
        left > 0
    }

    pub(super) fn post(&self, report: Report, body: Vec<u8>) {
        self.outbox.borrow_mut().push((report, body));
    }

    /// The call has ended; what comes first counts.
    pub(super) fn end(&self, end: End, body: Vec<u8>) {
        let (end, body) = if body.len() > self.limits.get().output {
            (End::Exceeded { what: Excess::Output }, Vec::new())
        } else {
            (end, body)
        };
        self.end.borrow_mut().get_or_insert((end, body));
    }

    /// The script has thrown; `told` is what the prelude says of it.
    pub(super) fn fail(&self, told: &str) {
        #[derive(Deserialize)]
        struct Told {
            message: String,
            stack: String,
        }
        let Told { message, stack } = serde_json::from_str(told).unwrap_or_else(|_| Told {
            message: "an error that cannot be shown".to_owned(),
            stack: String::new(),
        });
        self.end(self.thrown(message, &stack), Vec::new());
    }

    fn thrown(&self, mut message: String, stack: &str) -> End {
        if message.ends_with("out of memory") {
            return End::Exceeded { what: Excess::Memory };
        }
        if message.len() > 16 << 10 {
            message.truncate(message.floor_char_boundary(16 << 10));
            message.push('…');
        }
        End::Thrown { message, stack: self.program.stack_of(stack) }
    }

    /// What an error out of the engine means.
    fn failure(&self, error: &CaughtError<'_>) -> End {
        if self.meter.is_exhausted() {
            return End::Exceeded { what: Excess::Cpu };
        }
        match error {
            CaughtError::Exception(exception) => {
                let message = exception.message().unwrap_or_default();
                let name: String = exception.as_object().get("name").unwrap_or_default();
                let message =
                    if name.is_empty() || name == "Error" { message } else { format!("{name}: {message}") };
                self.thrown(message, &exception.stack().unwrap_or_default())
            }
            // Where nothing could be thrown for want of memory, nothing was.
            CaughtError::Value(value) if value.is_null() => End::Exceeded { what: Excess::Memory },
            CaughtError::Value(value) => {
                let text: Option<String> = value.get().ok();
                self.thrown(text.unwrap_or_else(|| "something that is no error was thrown".to_owned()), "")
            }
            CaughtError::Error(error) => self.thrown(error.to_string(), ""),
        }
    }
}

/// A script in an engine of its own.
pub(super) struct Instance {
    // Before the engine it belongs to.
    bridge: Option<Persistent<Object<'static>>>,
    context: Context,
    runtime: Runtime,
    shared: Rc<Shared>,
    /// What the script exports, as JSON.
    pub(super) exports: String,
}

impl Instance {
    /// Loads a program.
    pub(super) fn load(program: &Rc<Prepared>, limits: Limits) -> Result<Self, End> {
        let failed =
            |error: rquickjs::Error| End::Thrown { message: error.to_string(), stack: String::new() };
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(limits.memory);
        runtime.set_max_stack_size(limits.stack);
        let shared = Rc::new(Shared::new(Rc::clone(program), limits));
        let missing = Rc::default();
        let modules = || Modules { program: Rc::clone(program), missing: Rc::clone(&missing) };
        runtime.set_loader(modules(), modules());
        let meter = Rc::clone(&shared);
        runtime.set_interrupt_handler(Some(Box::new(move || meter.meter.is_over())));
        let context = Context::full(&runtime).map_err(failed)?;
        let mut instance = Self { bridge: None, context, runtime, shared, exports: String::new() };
        instance.evaluate(program, &missing)?;
        Ok(instance)
    }

    fn evaluate(&mut self, program: &Prepared, missing: &RefCell<Option<Missing>>) -> Result<(), End> {
        let shared = Rc::clone(&self.shared);
        let code = program.code(&program.entry).unwrap_or_default();
        let begun = self.within(|ctx| {
            let install: Function<'_> = ctx.eval(prelude::CODE)?;
            let bridge: Object<'_> = install.call((native(ctx, &shared)?,))?;
            let (module, promise) = Module::declare(ctx.clone(), program.entry.as_str(), code)?.eval()?;
            let namespace = module.namespace()?;
            // An error of the module is looked at below.
            Ok((
                Persistent::save(ctx, bridge),
                Persistent::save(ctx, promise),
                Persistent::save(ctx, namespace),
            ))
        });
        let (bridge, promise, namespace) = begun.map_err(|end| as_refusal(end, program, missing))?;
        self.drive();
        if self.shared.meter.is_exhausted() {
            return Err(End::Exceeded { what: Excess::Cpu });
        }
        let exports = self.within(|ctx| {
            let promise = promise.restore(ctx)?;
            match promise.result::<rquickjs::Value<'_>>() {
                Some(result) => drop(result?),
                None => {
                    return Err(Exception::throw_message(
                        ctx,
                        "the script waits for something while it is loaded that never comes",
                    ));
                }
            }
            let ready: Function<'_> = bridge.clone().restore(ctx)?.get("ready")?;
            ready.call::<_, String>((namespace.restore(ctx)?,))
        });
        self.exports = exports.map_err(|end| as_refusal(end, program, missing))?;
        self.bridge = Some(bridge);
        Ok(())
    }

    /// Runs code in the engine, counted; what goes wrong in it becomes the end of a call.
    fn within<T>(&self, run: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<T>) -> Result<T, End> {
        let shared = &self.shared;
        shared.meter.measure(|| {
            self.context.with(|ctx| run(&ctx).catch(&ctx).map_err(|error| shared.failure(&error)))
        })
    }

    /// Calls a function of the bridge and goes on until nothing is left to be done at once.
    fn tell<A>(&mut self, name: &str, arguments: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<A>)
    where
        A: for<'js> rquickjs::function::IntoArgs<'js>,
    {
        let Some(bridge) = self.bridge.clone() else { return };
        let told = self.within(|ctx| {
            let function: Function<'_> = bridge.restore(ctx)?.get(name)?;
            function.call::<_, ()>(arguments(ctx)?)
        });
        if let Err(end) = told {
            self.shared.end(end, Vec::new());
        }
        self.drive();
    }

    /// Begins a call.
    pub(super) fn begin(&mut self, call: u32, limits: Limits, request: &str) {
        self.runtime.set_memory_limit(limits.memory);
        self.shared.begin(call, limits);
        self.tell("begin", |_| Ok((request,)));
    }

    /// Lets the script say goodbye.
    pub(super) fn begin_destroy(&mut self, call: u32, limits: Limits) {
        self.shared.begin(call, limits);
        self.tell("destroy", |_| Ok(()));
    }

    /// Hands over what was asked for.
    pub(super) fn settle(&mut self, ask: u32, is_good: bool, value: &str, body: Option<Vec<u8>>) {
        let Some(left) = self.shared.waiting.get().checked_sub(1) else { return };
        self.shared.waiting.set(left);
        let Some(bridge) = self.bridge.clone() else { return };
        let told = self.within(|ctx| {
            let function: Function<'_> = bridge.restore(ctx)?.get("settle")?;
            let body = body.map(|body| ArrayBuffer::new(ctx.clone(), body)).transpose()?;
            function.call::<_, ()>((ask, is_good, value, body))
        });
        if let Err(end) = told {
            self.shared.end(end, Vec::new());
        }
        self.drive();
    }

    /// Tells the script that nobody waits for it, and leaves it at that.
    pub(super) fn cancel(&mut self) {
        self.tell("abort", |_| Ok(()));
        self.shared.end(End::Cancelled, Vec::new());
    }

    /// When its next timer is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.shared.timers.borrow().first().map(|(at, _)| *at)
    }

    /// Runs the timers that are due.
    pub(super) fn run_timers(&mut self, now: Instant) {
        loop {
            let due = self.shared.timers.borrow().first().copied().filter(|(at, _)| *at <= now);
            let Some(timer) = due.filter(|_| !self.has_ended()) else { return };
            self.shared.timers.borrow_mut().remove(&timer);
            self.tell("fire", |_| Ok((timer.1,)));
        }
    }

    /// What it wants to say.
    pub(super) fn take_reports(&self) -> Vec<(Report, Vec<u8>)> {
        std::mem::take(&mut *self.shared.outbox.borrow_mut())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.shared.end.borrow().is_some()
    }

    /// How its call ended, if it has.
    pub(super) fn take_end(&self) -> Option<(End, Vec<u8>)> {
        let nothing_comes = self.shared.waiting.get() == 0 && self.shared.timers.borrow().is_empty();
        if nothing_comes {
            self.shared.end(End::Stuck, Vec::new());
        }
        self.shared.end.borrow_mut().take()
    }

    /// Whether it can carry out another call: nothing of the last one is left, and it kept within its bounds.
    pub(super) fn is_reusable(&mut self, end: &End) -> bool {
        if !matches!(end, End::Returned | End::Thrown { .. }) || !self.shared.is_settled.get() {
            return false;
        }
        let cleared = self.within(|ctx| {
            let Some(bridge) = self.bridge.clone() else { return Ok(()) };
            let over: Function<'_> = bridge.restore(ctx)?.get("over")?;
            over.call(())
        });
        self.shared.timers.borrow_mut().clear();
        let most = i64::try_from(self.shared.limits.get().memory / 2).unwrap_or(i64::MAX);
        cleared.is_ok() && !self.runtime.is_job_pending() && self.runtime.memory_usage().malloc_size < most
    }

    /// Runs what is to be done at once.
    fn drive(&mut self) {
        let shared = Rc::clone(&self.shared);
        let mut after_end = 0;
        while self.runtime.is_job_pending() {
            if self.has_ended() {
                after_end += 1;
            }
            if shared.meter.is_over() || after_end > JOBS_AFTER_END {
                shared.end(End::Exceeded { what: Excess::Cpu }, Vec::new());
                return;
            }
            if shared.meter.measure(|| self.runtime.execute_pending_job()).is_err() {
                let end = self.within(|ctx| Err::<(), _>(ctx.throw(ctx.catch())));
                if let Err(end) = end {
                    shared.end(end, Vec::new());
                }
            }
        }
    }
}

/// Why a program cannot be loaded.
fn as_refusal(end: End, program: &Prepared, missing: &RefCell<Option<Missing>>) -> End {
    if let Some(missing) = missing.borrow_mut().take() {
        return End::Missing(missing);
    }
    let End::Thrown { message, stack } = end else { return end };
    let first = stack.lines().next().and_then(|frame| frame.rsplit_once('('));
    let place = first.and_then(|(_, place)| {
        let (rest, column) = place.trim_end_matches(')').rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        Some((file.to_owned(), (line.parse().ok()?, column.parse().ok()?)))
    });
    let (file, place) = place.map_or((program.entry.clone(), None), |(file, place)| (file, Some(place)));
    End::Refused { faults: vec![Fault { file, place, message }] }
}
