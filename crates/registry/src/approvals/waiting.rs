//! A call waits for its decision. Of all that wait in this process one looks into the store, and wakes the others; when it
//! goes, another takes its turn.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use toolrail_core::{CallError, ErrorCode, Progress};

use super::board::Paper;
use super::desk::ApprovalDesk;
use super::needed::ToApprove;
use super::record::{ApprovalRecord, ApprovalState, asker_of, now, told};

/// How often the store is asked whether there is anything new.
const LOOK: Duration = Duration::from_millis(250);
/// How long a client is kept waiting that hears nothing meanwhile: most give up after a minute.
const PATIENCE: Duration = Duration::from_secs(55);
/// How often a client hears that its call waits.
const TELL: Duration = Duration::from_secs(15);
/// What each report of that counts as progress: next to nothing.
const STEP: f64 = 0.001;

/// How the waiting for one decision went.
enum Waited {
    /// Something has changed.
    Changed,
    /// It is time to give up.
    LongEnough,
}

impl ApprovalDesk {
    /// Waits until the call may be made; says what progress was told meanwhile.
    pub(super) async fn decision(&self, call: &ToApprove<'_>) -> Result<f64, CallError> {
        let place = self.place_for(asker_of(call.principal));
        let patience = match (&place, call.rule.wait) {
            (None, _) => Duration::ZERO,
            (Some(_), Some(wait)) => wait,
            (Some(_), None) if call.caller.is_patient() => call.rule.within,
            (Some(_), None) => PATIENCE,
        };
        let give_up = Instant::now() + patience;
        let mut changes = self.changed.subscribe();
        let mut waited = 0.0;
        loop {
            let paper = self.paper_of(call).await?;
            match paper.record.state {
                ApprovalState::Denied => return Err(denied(call, &paper.record)),
                ApprovalState::Approved => {
                    if self.consume(&paper, call).await? {
                        return Ok(waited);
                    }
                }
                ApprovalState::Pending => {
                    let ended = self.wait(call, &paper, (&mut changes, give_up), &mut waited).await?;
                    match ended {
                        Waited::Changed => {}
                        Waited::LongEnough if paper.record.is_over() => {
                            self.end(&paper).await?;
                            return Err(expired(call, &paper.record));
                        }
                        Waited::LongEnough => return Err(pending(call, &paper.record)),
                    }
                }
            }
        }
    }

    async fn wait(
        &self,
        call: &ToApprove<'_>,
        paper: &Paper,
        (changes, give_up): (&mut watch::Receiver<()>, Instant),
        waited: &mut f64,
    ) -> Result<Waited, CallError> {
        let left = Duration::from_secs(paper.record.until.saturating_sub(now()));
        let end = give_up.min(Instant::now() + left);
        loop {
            *waited += STEP;
            call.caller.progress(&Progress {
                progress: *waited,
                total: None,
                message: Some(waiting(&paper.record)),
            });
            tokio::select! {
                () = self.stirred(changes) => {
                    let board = self.board().await;
                    if board.named(&paper.record.id).is_none_or(|now| now.number != paper.number) {
                        return Ok(Waited::Changed);
                    }
                }
                () = tokio::time::sleep_until(end) => return Ok(Waited::LongEnough),
                () = call.principal.ended() => return Err(gone(call)),
                () = tokio::time::sleep(TELL) => {}
            }
        }
    }

    /// Waits until something on the board has changed.
    async fn stirred(&self, changes: &mut watch::Receiver<()>) {
        tokio::select! {
            _ = changes.changed() => {}
            () = self.lead() => {}
        }
    }

    /// Looks into the store for all who wait, until it is dropped.
    async fn lead(&self) {
        let _turn = self.leading.lock().await;
        loop {
            tokio::time::sleep(LOOK).await;
            if let Err(error) = self.refresh().await {
                tracing::debug!(%error, "approvals cannot be read; those that wait go on waiting");
            }
        }
    }
}

fn waiting(record: &ApprovalRecord) -> String {
    format!("waiting for approval {} until {}", record.id, told(record.until))
}

fn pending(call: &ToApprove<'_>, record: &ApprovalRecord) -> CallError {
    let message = format!(
        "{} needs the approval of a person, and nobody has decided yet: approval {}, open until {}. Nothing was sent. Have it approved (toolrail approvals approve {}), then call again with the same arguments",
        call.tool,
        record.id,
        told(record.until),
        record.id
    );
    CallError::new(ErrorCode::ApprovalPending, message)
}

fn expired(call: &ToApprove<'_>, record: &ApprovalRecord) -> CallError {
    let message = format!(
        "{} needs the approval of a person, and nobody decided within {} s (approval {}). Nothing was sent; call again to ask once more",
        call.tool, record.within, record.id
    );
    CallError::new(ErrorCode::Timeout, message)
}

fn denied(call: &ToApprove<'_>, record: &ApprovalRecord) -> CallError {
    refused(call, record.decided_by.as_deref(), record.reason.as_deref())
}

/// What whoever calls is told when somebody said no.
pub(super) fn refused(call: &ToApprove<'_>, by: Option<&str>, reason: Option<&str>) -> CallError {
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let message = format!("{} was not approved{by}{reason}. Nothing was sent", call.tool);
    CallError::new(ErrorCode::ApprovalDenied, message)
}

fn gone(call: &ToApprove<'_>) -> CallError {
    let message = format!("{} was not called: whoever called may do nothing any more", call.tool);
    CallError::new(ErrorCode::Unauthorized, message)
}
