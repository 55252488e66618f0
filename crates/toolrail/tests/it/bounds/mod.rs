//! Input that means harm or makes no sense: it is bounded and answered, and the gateway goes on.

mod fuzz;
mod fuzz_inputs;
mod fuzz_upstream;
mod hardening;
mod memory;
