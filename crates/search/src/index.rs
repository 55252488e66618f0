//! The live index. A copy costs nothing and shares with the original whatever neither changes, so a snapshot keeps its own.

use std::sync::Arc;

use rpds::HashTrieMapSync;

use crate::document::Document;

/// Documents that can be found, each with a value, under unique keys.
#[derive(Clone)]
pub struct Index<T: Clone> {
    pub(crate) documents: HashTrieMapSync<Arc<str>, Kept<T>>,
}

#[derive(Clone)]
pub(crate) struct Kept<T> {
    pub(crate) value: T,
    pub(crate) text: Arc<str>,
}

impl<T: Clone> Default for Index<T> {
    fn default() -> Self {
        Self { documents: HashTrieMapSync::new_sync() }
    }
}

impl<T: Clone> Index<T> {
    /// Adds or replaces the document of each key that comes with one, and removes the others. Many at once are much
    /// cheaper than one by one.
    pub fn apply<'d>(&mut self, changes: impl IntoIterator<Item = (Arc<str>, Option<(Document<'d>, T)>)>) {
        for (key, change) in changes {
            match change {
                Some((document, value)) => {
                    let text = format!("{} {}", document.name, document.description).to_lowercase();
                    self.documents.insert_mut(key, Kept { value, text: text.into() });
                }
                None => {
                    self.documents.remove_mut(&key);
                }
            }
        }
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.documents.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }
}
