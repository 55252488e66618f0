//! A bar for what takes long, on terminals only: the first load of a store with many definitions.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use toolrail_registry::{LoadProgress, OnProgress};

const FORM: &str = "loading {msg} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}";

/// The bar of a first load; gone when dropped.
pub(crate) struct LoadingBar {
    /// Nothing where nobody would see it, and once the load is over.
    shown: Arc<Mutex<Option<ProgressBar>>>,
}

impl LoadingBar {
    /// A bar that shows itself when the first progress is told.
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(FORM).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style)
        });
        Self { shown: Arc::new(Mutex::new(bar)) }
    }

    /// What is to be told of progress. It does nothing any more when the bar is gone.
    pub(crate) fn listener(&self) -> OnProgress {
        let shown = Arc::clone(&self.shown);
        Arc::new(move |progress: LoadProgress| {
            if let Some(bar) = &*shown.lock().unwrap_or_else(PoisonError::into_inner) {
                bar.set_message(progress.source.word());
                bar.set_length(progress.total);
                bar.set_position(progress.done);
            }
        })
    }
}

impl Drop for LoadingBar {
    fn drop(&mut self) {
        if let Some(bar) = self.shown.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}
