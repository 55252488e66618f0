//! The kind `mcp` against a scripted server that really runs: over HTTP and as a child process, in both eras.

mod client;
mod eras;
mod faults;
mod hostile;
mod in_name;
mod lists;
mod over_http;
mod over_stdio;
mod rogue;
mod script;
mod sessions;
