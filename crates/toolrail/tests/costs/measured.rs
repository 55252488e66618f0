//! What a piece of work takes of this process: memory at its highest, and time of the processors, which a busy machine does
//! not change.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The system's allocator with a count of what is taken, and of the most that was.
pub(crate) struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static TIMES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_APART: Cell<bool> = const { Cell::new(false) };
}

/// Lets what this thread takes not be counted from now on: it plays the client and the service.
pub(crate) fn set_apart() {
    IS_APART.set(true);
}

/// How often memory was taken or resized so far, on threads that are counted.
pub(crate) fn times_taken() -> u64 {
    TIMES.load(Ordering::Relaxed)
}

/// What something took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Bytes at the same time.
    pub(crate) memory: usize,
    pub(crate) processors: Duration,
}

/// Does something and says what it took. Only true where nothing else happens in the process.
pub(crate) async fn measured<T>(work: impl Future<Output = T>) -> (T, Cost) {
    let before = TAKEN.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let started = processor_time();
    let done = work.await;
    let processors = processor_time().saturating_sub(started);
    let memory = MOST.load(Ordering::Relaxed).saturating_sub(before);
    (done, Cost { memory, processors })
}

/// The time that all threads of the process had of the processors, in steps of ten milliseconds.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program may hold anything but ends with the last parenthesis.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(10 * ticks)
}

fn take(bytes: usize) {
    // A thread that ends has nothing of its own any more, but still allocates.
    if !IS_APART.try_with(Cell::get).unwrap_or(true) {
        TIMES.fetch_add(1, Ordering::Relaxed);
    }
    let taken = TAKEN.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(taken, Ordering::Relaxed);
}

fn give(bytes: usize) {
    TAKEN.fetch_sub(bytes, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "the trait of allocators is unsafe; every call is passed on as it came")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}
