//! The documents stay true: what they show is run or checked as it stands.

mod examples;
mod readme;
