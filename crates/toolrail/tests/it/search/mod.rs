//! Finding tools: over REST, on the command line, and with the tools that agents use for it.

mod call_tool;
mod discovery;
mod rest_and_cli;
