//! The connections of the transport of 2024-11-05, whose messages come in requests of their own.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;
use toolrail_core::Principal;

/// Where the messages of each connection go.
#[derive(Default)]
pub(crate) struct Mailboxes {
    by_id: Mutex<HashMap<String, Slot>>,
}

/// One message, and who sent it.
pub(crate) type MailboxMessage = (Bytes, Sender);

/// The way to one connection, and how many bytes are on it.
#[derive(Clone)]
pub(crate) struct Slot {
    /// Whose connection it is.
    pub(crate) principal: Principal,
    pub(crate) sender: mpsc::Sender<MailboxMessage>,
    pub(crate) waiting: Arc<AtomicUsize>,
}

impl Mailboxes {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// Whoever opened the connection.
    Opener,
    /// A web page from elsewhere, whoever opened it.
    ForeignPage,
}
