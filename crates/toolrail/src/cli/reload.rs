//! SIGHUP: a running gateway reads its configuration again. What changed is put together anew beside what runs, on the same
//! store, and takes over when it is whole; a configuration that cannot be used changes nothing.

mod difference;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use arc_swap::ArcSwap;
use tokio::signal::unix::Signal;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use toolrail_http::{Addresses, Guarded, Served};
use toolrail_registry::Snapshot;

use self::difference::Reloaded;
use super::gateway;
use super::serve::{ServeArgs, SpokenTls, guarded};
use crate::assemble::{self, Assembly, BuiltIn};
use crate::config::{ConfigFile, Settings};
use crate::telemetry::Metrics;

/// How long calls that began under the old configuration may go on.
const OLD_CALLS: Duration = Duration::from_secs(10);

/// What stays the same as long as the process runs.
pub(super) struct Fixed {
    pub(super) built_in: Option<BuiltIn>,
    pub(super) metrics: Option<Metrics>,
    pub(super) addresses: Addresses,
    pub(super) tls: SpokenTls,
}

/// A gateway that runs.
pub(super) struct Running {
    args: ServeArgs,
    fixed: Fixed,
    config: ConfigFile,
    served: Arc<Served>,
    current: Current,
    /// What ran before and is being wound up.
    leaving: TaskTracker,
}

/// What runs under one configuration.
struct Current {
    assembly: Assembly,
    following: AbortOnDropHandle<()>,
    relaying: AbortOnDropHandle<()>,
}

impl Current {
    fn new(assembly: Assembly, guarded: &Guarded) -> Self {
        let (following, relaying) = (gateway::follow(&assembly), gateway::relay(&guarded.mcp));
        Self { assembly, following, relaying }
    }
}

impl Running {
    pub(super) fn new(
        args: ServeArgs,
        config: ConfigFile,
        (assembly, guarded): (Assembly, Arc<Guarded>),
        fixed: Fixed,
    ) -> Self {
        let current = Current::new(assembly, &guarded);
        let served = Arc::new(ArcSwap::new(guarded));
        Self { args, fixed, config, served, current, leaving: TaskTracker::new() }
    }

    /// What is served, now and after every change.
    pub(super) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served)
    }

    /// Reads the configuration again whenever it is asked to. Ends only if the sources cannot be followed any more: then no
    /// change would be seen.
    pub(super) async fn supervise(
        &mut self,
        mut again: Signal,
        hung_up: &CancellationToken,
    ) -> anyhow::Error {
        let on_terminal = std::io::stderr().is_terminal();
        loop {
            tokio::select! {
                broken = &mut self.current.following => {
                    return anyhow!("the sources cannot be followed any more: {broken:?}");
                }
                _ = again.recv() => {}
            }
            // The same signal tells that the terminal is gone, and with it whoever started this.
            if on_terminal && !std::io::stderr().is_terminal() {
                hung_up.cancel();
            } else if let Err(error) = self.reload().await {
                tracing::error!(
                    error = format!("{error:#}"),
                    "the new configuration cannot be used; the old one stays in place"
                );
            }
        }
    }

    async fn reload(&mut self) -> anyhow::Result<()> {
        let mut config = self.args.config()?;
        let fixed = config.stay_with(&self.config);
        if !fixed.is_empty() {
            tracing::warn!(
                keys = fixed.join(", "),
                "changed in the configuration, but needs a restart to take effect"
            );
        }
        let settings = config.clone().settle()?;
        let tls = self.fixed.tls.read_again(&settings)?;
        let before = self.current.assembly.registry.snapshot();
        if config == self.config {
            tls.take_effect();
            self.current.assembly.registry.refresh().await;
            self.tell_changes(&before);
            tracing::info!(
                "the configuration was read again and has no other changes; so were the definitions"
            );
            return Ok(());
        }
        gateway::look_at(&settings)?;
        self.take_over(&settings).await?;
        tls.take_effect();
        self.config = config;
        self.tell_changes(&before);
        tracing::info!("the configuration was read again and is in effect");
        Ok(())
    }

    fn tell_changes(&self, before: &Snapshot) {
        Reloaded::between(before, &self.current.assembly.registry.snapshot()).log();
    }

    /// Puts everything together anew; requests that come from now on meet that.
    async fn take_over(&mut self, settings: &Settings) -> anyhow::Result<()> {
        let Fixed { built_in, metrics, addresses, tls: _ } = &self.fixed;
        let before = &self.current.assembly;
        before.registry.usage().record_uses().await;
        let assembly = assemble::assemble_again(settings, before, built_in.clone()).await?;
        let guarded = guarded(&assembly, settings, metrics.as_ref(), addresses).await?;
        let current = Current::new(assembly, &guarded);
        let old = (self.served.swap(guarded), std::mem::replace(&mut self.current, current));
        self.leaving.spawn(leave(old));
        Ok(())
    }

    /// Ends in order.
    pub(super) async fn close(self) {
        self.leaving.close();
        self.leaving.wait().await;
        let Current { assembly, following, .. } = self.current;
        // Nobody looks at a store that is closed.
        drop(following);
        assembly.close().await;
    }
}

/// Winds up what ran before: streams end, so that clients come back to what runs now; calls may finish.
async fn leave((guarded, old): (Arc<Guarded>, Current)) {
    let Current { assembly, following, relaying } = old;
    drop(following);
    guarded.mcp.close();
    let finished = async {
        guarded.mcp.closed().await;
        // Whoever still answers a request has a reference.
        while Arc::strong_count(&guarded) > 1 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    // Longer ones lose nothing but their answers to questions that other gateways pass on.
    let _ = tokio::time::timeout(OLD_CALLS, finished).await;
    assembly.registry.usage().record_uses().await;
    drop(relaying);
}
