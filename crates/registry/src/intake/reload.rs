//! Reading everything anew, whatever the revisions of the sources say.

use super::Intake;

impl Intake {
    /// Looks at every source as if for the first time and publishes what changed. For what no revision counts, such as a
    /// table that was emptied behind its triggers.
    pub async fn reload(&self) {
        for tracked in &self.sources {
            tracked.forget().await;
        }
        self.refresh().await;
    }
}
