//! One session with a server: its connection, and who hears what the server says there beside the answers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::connection::{Connection, answer_unasked};
use super::following::{ServerEvent, heard_in};
use super::message::ServerMessage;
use super::notes::{Notes, is_progress};
use super::wire::{Unsolicited, Wire};

/// Messages that wait for one call at most, beside the newest report of progress.
const MOST_WAITING: usize = 256;
/// Questions that wait until a call is there whose client can be asked.
const MOST_QUESTIONS: usize = 16;
/// The most bytes of them, beside one.
const MOST_QUESTION_BYTES: usize = 1024 * 1024;

/// One session.
pub(super) struct Session {
    pub(super) connection: Arc<Connection>,
    board: Arc<Board>,
    /// Reads the session's own stream, if it has one.
    _reader: Option<AbortOnDropHandle<()>>,
}

/// What the server tells in a session that concerns no call.
pub(super) type News = Box<dyn Fn(ServerEvent) + Send + Sync>;

/// Hands what the server says to the calls that are under way.
struct Board {
    wire: Weak<Wire>,
    news: News,
    state: Mutex<SessionState>,
    /// Cancelled when the server has ended the session.
    gone: CancellationToken,
}

#[derive(Default)]
struct SessionState {
    /// By number; the newest is last.
    calls: Vec<(u64, Arc<Notes>)>,
    next: u64,
    questions: VecDeque<ServerMessage>,
    has_own_lists: bool,
    /// How many watch each resource.
    watched: HashMap<String, usize>,
}

/// What one call hears.
pub(super) struct Inbox {
    session: Arc<Session>,
    number: u64,
    messages: Arc<Notes>,
    /// Whether something was asked while there was no call.
    pub(super) has_questions: bool,
}

impl Session {
    pub(super) fn new((connection, unsolicited): (Connection, Unsolicited), news: News) -> Arc<Self> {
        let connection = Arc::new(connection);
        let wire = Arc::downgrade(&connection.wire);
        let board = Arc::new(Board { wire, news, state: Mutex::default(), gone: CancellationToken::new() });
        let hearing = Arc::clone(&board);
        let reader = unsolicited.hand_to(Arc::new(move |message| match message {
            Some(message) => hearing.put(message),
            None => hearing.gone.cancel(),
        }));
        Arc::new(Self { connection, board, _reader: reader })
    }

    /// Whether the server said that what it offers here has changed, which it need not have changed elsewhere.
    pub(super) fn has_own_lists(&self) -> bool {
        self.board.lock().has_own_lists
    }

    /// Whether the server has ended it.
    pub(super) fn is_gone(&self) -> bool {
        self.board.gone.is_cancelled()
    }

    /// Waits until the server has ended it.
    pub(super) async fn gone(&self) {
        self.board.gone.cancelled().await;
    }

    /// Hears something that was said on a stream of the session.
    pub(super) fn hear(&self, message: ServerMessage) {
        self.board.put(message);
    }

    /// Counts one more who watches a resource; whether it is the first.
    pub(super) fn begin_watch(&self, uri: &str) -> bool {
        let mut state = self.board.lock();
        let count = state.watched.entry(uri.to_owned()).or_default();
        *count += 1;
        *count == 1
    }

    /// Counts one less; whether it was the last.
    pub(super) fn end_watch(&self, uri: &str) -> bool {
        let mut state = self.board.lock();
        let Some(count) = state.watched.get_mut(uri) else { return false };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            state.watched.remove(uri);
        }
        is_last
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.has_own_lists() {
            // What it alone offered is gone.
            (self.board.news)(ServerEvent::ListsChanged);
        }
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every call of a session is of the same client, so any of them can pass a question or a log message on.
    fn put(&self, message: ServerMessage) {
        match message {
            ServerMessage::Answer { .. } => {}
            ServerMessage::Request { .. } => self.put_question(message),
            ServerMessage::Notice { .. } if is_progress(&message) => {
                // Only the call that it names takes it.
                for (_, call) in &self.lock().calls {
                    drop(call.push(message.clone()));
                }
            }
            ServerMessage::Notice { ref method, .. } if method == "notifications/message" => {
                let unheard = match self.lock().calls.last() {
                    Some((_, call)) => call.push(message).err(),
                    None => Some(message),
                };
                // The client hears it beside its calls.
                if let Some(log) = unheard {
                    self.put_news(log);
                }
            }
            notice @ ServerMessage::Notice { .. } => self.put_news(notice),
        }
    }

    fn put_news(&self, notice: ServerMessage) {
        if let Some(heard) = heard_in(notice) {
            self.lock().has_own_lists |= matches!(heard, ServerEvent::ListsChanged);
            (self.news)(heard);
        }
    }

    fn put_question(&self, question: ServerMessage) {
        let mut state = self.lock();
        let question = match state.calls.last() {
            Some((_, call)) => match call.push(question) {
                Ok(()) => return,
                Err(question) => question,
            },
            None => question,
        };
        let bytes: usize = state.questions.iter().map(ServerMessage::size).sum();
        if state.questions.len() < MOST_QUESTIONS && bytes < MOST_QUESTION_BYTES {
            state.questions.push_back(question);
            return;
        }
        drop(state);
        if let (ServerMessage::Request { id, method, .. }, Some(wire)) = (question, self.wire.upgrade()) {
            wire.send_soon(answer_unasked(&id, &method));
        }
    }
}

impl Inbox {
    /// From now on the call hears what is said; what was asked while there was none is asked of it.
    pub(super) fn new(session: &Arc<Session>) -> Self {
        let messages = Notes::new(MOST_WAITING);
        let mut state = session.board.lock();
        let has_questions = !state.questions.is_empty();
        for question in state.questions.drain(..) {
            // There is room for all of them.
            drop(messages.push(question));
        }
        state.next += 1;
        let number = state.next;
        state.calls.push((number, Arc::clone(&messages)));
        drop(state);
        Self { session: Arc::clone(session), number, messages, has_questions }
    }

    /// What is heard next.
    pub(super) async fn next(&mut self) -> ServerMessage {
        self.messages.next().await
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.session.board.lock().calls.retain(|(number, _)| *number != self.number);
        self.messages.close();
        while let Some(message) = self.messages.take() {
            // Reports of progress were meant for this call alone.
            if !is_progress(&message) {
                self.session.board.put(message);
            }
        }
    }
}
