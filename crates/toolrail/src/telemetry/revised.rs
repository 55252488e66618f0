//! Every log line ends with the revision that is served when it is written, unless it names one itself, as the line of a
//! call does: that one is of the snapshot which the call used.

use std::fmt;

use toolrail_core::published_revision;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// A form of log lines, with the revision at their end.
pub(super) struct Revised<F> {
    form: F,
    /// What comes before the revision, and what after it.
    around: (&'static str, &'static str),
    /// How lines end without it.
    end: &'static str,
}

impl<F> Revised<F> {
    /// Lines of text.
    pub(super) fn text(form: F) -> Self {
        Self { form, around: (" revision=", "\n"), end: "\n" }
    }

    /// Lines of JSON.
    pub(super) fn json(form: F) -> Self {
        Self { form, around: (",\"revision\":", "}\n"), end: "}\n" }
    }
}

impl<S, N, F> FormatEvent<S, N> for Revised<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let said = event.metadata().fields().field("revision").is_some();
        let Some(revision) = published_revision().filter(|_| !said) else {
            return self.form.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.form.format_event(context, Writer::new(&mut line), event)?;
        match line.strip_suffix(self.end) {
            Some(start) => write!(writer, "{start}{}{revision}{}", self.around.0, self.around.1),
            None => writer.write_str(&line),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};

    use tracing_subscriber::fmt::format::JsonFields;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn log() {
        tracing::info!(name = "t", "served");
        tracing::info!(revision = 7, "called");
    }

    #[test]
    fn a_line_names_the_revision_that_is_served_unless_it_names_its_own() {
        toolrail_core::publish_revision(41);
        let (text, json) = (Lines::default(), Lines::default());
        let (to_text, to_json) = (text.clone(), json.clone());
        let plain = tracing_subscriber::fmt::format().with_ansi(false).without_time();
        let as_text = tracing_subscriber::fmt()
            .with_writer(move || to_text.clone())
            .event_format(Revised::text(plain))
            .finish();
        tracing::subscriber::with_default(as_text, log);
        let told = text.text();
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[0].ends_with("served name=\"t\" revision=41"), "{told}");
        assert!(lines[1].ends_with("called revision=7"), "{told}");
        let as_json = tracing_subscriber::fmt()
            .with_writer(move || to_json.clone())
            .fmt_fields(JsonFields::new())
            .event_format(Revised::json(tracing_subscriber::fmt::format().json().flatten_event(true)))
            .finish();
        tracing::subscriber::with_default(as_json, log);
        let told = json.text();
        let revisions: Vec<serde_json::Value> = told
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["revision"].clone())
            .collect();
        assert_eq!(revisions, [41, 7], "{told}");
    }
}
