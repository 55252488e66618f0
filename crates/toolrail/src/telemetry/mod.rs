//! Logs, to standard error only, as text or as JSON lines; and the counters that `/metrics` shows.

mod metrics;
mod process;
mod revised;

use std::io::IsTerminal;

use anyhow::{Context, bail};
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{Format, JsonFields};

pub(crate) use self::metrics::Metrics;
use revised::Revised;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging; `filter` is a level or directives such as `info,toolrail_registry=debug`.
pub(crate) fn start(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = parse(filter)?;
    let colours = std::io::stderr().is_terminal();
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    match format {
        LogFormat::Text => {
            let text = Format::default().with_ansi(colours).with_target(false);
            subscriber.event_format(Revised::text(text)).init();
        }
        LogFormat::Json => subscriber
            .fmt_fields(JsonFields::new())
            .event_format(Revised::json(Format::default().json().flatten_event(true)))
            .init(),
    }
    Ok(())
}

/// What may be given to [`start`], for the command line.
pub(crate) fn level(filter: &str) -> Result<String, String> {
    parse(filter).map(|_| filter.to_owned()).map_err(|error| format!("{error:#}"))
}

fn parse(filter: &str) -> anyhow::Result<EnvFilter> {
    let wrong = |word: &str| {
        format!(
            "{word:?} is not a log level; use off, error, warn, info, debug or trace, or levels by module such as info,toolrail_registry=debug"
        )
    };
    // The library takes a lone word for the name of a module, so that a wrong level would silence everything.
    let is_level = |word: &str| word.contains(['=', '[']) || word.parse::<LevelFilter>().is_ok();
    let words: Vec<&str> = filter.split(',').map(str::trim).collect();
    if let Some(unknown) = words.iter().find(|word| !is_level(word)) {
        bail!("{}", wrong(unknown));
    }
    EnvFilter::try_new(words.join(",")).with_context(|| wrong(filter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused_with_the_levels() {
        for good in ["info", "WARN", "off", "info,toolrail_registry=debug", "warn, toolrail=trace", ""] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in ["loud", "==", "info,loud", "toolrail=loud"] {
            let told = format!("{:#}", parse(bad).unwrap_err());
            assert!(told.contains("off, error, warn, info, debug or trace"), "{told}");
        }
    }
}
