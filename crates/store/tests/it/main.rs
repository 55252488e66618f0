//! Tests of the stores: one behaviour suite that every database passes, and what is particular to each.

// The attribute tells clippy that helpers here may unwrap.
#[cfg(test)]
mod behaviour;
#[cfg(test)]
mod behaviour_of_messages;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod json;
#[cfg(test)]
mod mysql;
#[cfg(test)]
mod mysql_adoption;
#[cfg(test)]
mod mysql_proxy;
#[cfg(test)]
mod mysql_reconcile;
#[cfg(test)]
mod mysql_server;
#[cfg(test)]
mod mysql_tables;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod postgres_adoption;
#[cfg(test)]
mod postgres_counter;
#[cfg(test)]
mod postgres_json;
#[cfg(test)]
mod postgres_reconcile;
#[cfg(test)]
mod postgres_server;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod sqlite;
