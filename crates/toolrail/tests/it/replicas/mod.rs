//! Several gateways on one store: what they agree on, pass on to each other and survive.

mod behind_a_proxy;
mod every_store;
mod faults;
mod fleet;
mod learning;
mod relay;
