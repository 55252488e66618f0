//! Counts what a thread takes from the allocator, so that a benchmark can say how many allocations a query costs.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

use mimalloc::MiMalloc;

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// The gateway's allocator with a counter for each thread.
pub(crate) struct Counting(pub(crate) MiMalloc);

/// How often this thread took or resized memory so far.
pub(crate) fn taken() -> u64 {
    TAKEN.with(Cell::get)
}

fn count() {
    // A thread that ends has no counter any more, but still allocates.
    let _ = TAKEN.try_with(|taken| taken.set(taken.get() + 1));
}

#[expect(unsafe_code, reason = "the trait of allocators is unsafe; every call is passed on as it came")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { self.0.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { self.0.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_counted() {
        let before = taken();
        let text = std::hint::black_box("three words here".to_owned());
        assert_eq!(taken(), before + 1);
        drop(text);
        assert_eq!(taken(), before + 1);
    }
}
