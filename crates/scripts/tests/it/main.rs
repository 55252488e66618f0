//! Scripts in real worker processes.

mod calls;
mod hostile;
mod inspecting;
mod support;
