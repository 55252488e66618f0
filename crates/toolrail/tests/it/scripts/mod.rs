//! Scripts as tools: files that go live, what they can do, and what they cannot.

mod calls;
mod files;
mod life;
mod support;
