//! The command line: looking after tools, moving definitions in and out, and what it says about mistakes.

mod comforts;
mod errors;
mod export;
mod import;
mod sync;
mod tools;
