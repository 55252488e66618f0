//! Servers and programs behind the gateway: what they offer, and how their answers come through.

mod behind;
mod children;
mod commands;
mod foreign;
mod raw;
mod session;
