//! The test tools themselves: enough to trust what they say about the product.

// The attribute tells clippy that helpers here may unwrap.
#[cfg(test)]
mod database;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod upstream;
#[cfg(test)]
mod websocket;
