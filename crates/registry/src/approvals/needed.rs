//! What a tool has of it that its calls need approval.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolrail_core::{
    Approval, CallError, Caller, ErrorCode, InputRequired, Principal, Questions, Unanswered,
};

use super::approved::{self, ApprovedCaller};
use super::desk::ApprovalDesk;
use super::digest::{digest_of, sorted};
use super::form;
use super::waiting::refused;

/// That the calls of a tool need approval.
pub(crate) struct NeededApproval {
    rule: Approval,
    /// The digest of the definition: what was approved for one is not for the next.
    pub(crate) version: String,
    desk: Arc<ApprovalDesk>,
}

/// A call that is to be approved.
pub(crate) struct ToApprove<'a> {
    pub(super) tool: &'a str,
    pub(super) rule: &'a Approval,
    pub(super) version: &'a str,
    /// The digest of the arguments, and that of the whole call.
    pub(super) arguments: String,
    pub(super) digest: String,
    /// What people see of it.
    pub(super) shown: Value,
    pub(super) principal: &'a Principal,
    pub(super) caller: &'a dyn Caller,
}

/// What is kept of a call, and shown.
pub(crate) struct DescribedCall<'t> {
    tool: &'t str,
    /// The digest of the arguments, and that of the whole call.
    arguments: String,
    digest: String,
    shown: Value,
}

/// What becomes of a call.
pub(crate) enum Go<'c> {
    /// It is made, for that client.
    On(ApprovedCaller<'c>),
    /// The client is asked, and calls again.
    Back(InputRequired),
}

impl NeededApproval {
    /// That of the definition with that text, where calls wait at that desk. `offered` is the entry of a tool that a server
    /// offers.
    pub(crate) fn new(
        rule: Approval,
        (definition, offered): (&str, Option<&str>),
        desk: Arc<ApprovalDesk>,
    ) -> Self {
        Self { rule, version: digest_of(&[definition, offered.unwrap_or_default()]), desk }
    }

    /// What makes digests of arguments ours.
    pub(crate) async fn salt(&self) -> Result<String, CallError> {
        self.desk.salt().await
    }

    /// What is kept of somebody's call, and shown. Takes as long as the arguments are large.
    pub(crate) fn describe<'t>(
        &self,
        (tool, principal): (&'t str, &Principal),
        (arguments, salt): (&Map<String, Value>, &str),
        shown: Value,
    ) -> DescribedCall<'t> {
        let arguments = sorted(arguments);
        let tenant = principal.tenant().unwrap_or_default();
        DescribedCall {
            tool,
            digest: digest_of(&[tool, &self.version, &arguments, tenant]),
            arguments: digest_of(&[salt, &arguments]),
            shown,
        }
    }

    /// Lets a call pass that a person approves of.
    pub(crate) async fn pass<'c>(
        &self,
        DescribedCall { tool, digest, arguments, shown }: DescribedCall<'_>,
        (principal, caller): (&Principal, &'c dyn Caller),
    ) -> Result<Go<'c>, CallError> {
        let (rule, version) = (&self.rule, &*self.version);
        let call = ToApprove { tool, rule, version, arguments, digest, shown, principal, caller };
        // What was approved is known by its key, so that no answer is taken for another call.
        let key = format!("approval-{}", &call.digest[..16]);
        let remembered = caller.remembered()?;
        let on = |remembered, waited| {
            let within = self.rule.within.as_secs();
            Ok(Go::On(ApprovedCaller::new(caller, (&call.digest, &key, within), remembered, waited)))
        };
        // The client comes back with answers to questions that came after the approval: once, and in time.
        if let Some(round) = approved::given(remembered.as_ref(), &call.digest)
            && self.desk.use_round(&round).await?
        {
            return on(remembered, 0.0);
        }
        if self.rule.by.is_empty() && form::can_be_shown(caller.capabilities()) {
            match self.ask(&call, &key).await? {
                Asked::Approved => return on(remembered, 0.0),
                Asked::Later(input) => return Ok(Go::Back(input)),
                Asked::CannotBe => {}
            }
        }
        let waited = self.desk.decision(&call).await?;
        on(remembered, waited)
    }

    /// Asks the client's own user.
    async fn ask(&self, call: &ToApprove<'_>, key: &str) -> Result<Asked, CallError> {
        let question = form::question(call.tool, self.rule.message.as_deref(), &call.shown);
        let questions = Questions {
            by_key: vec![(key.to_owned(), question)],
            remember: Some(approved::asked(&call.digest)),
        };
        let within = self.rule.within;
        let Ok(answered) = tokio::time::timeout(within, call.caller.ask(&questions)).await else {
            let message = format!(
                "{} needs the approval of the client's user, who did not answer within {} s. Nothing was sent",
                call.tool,
                within.as_secs()
            );
            return Err(CallError::new(ErrorCode::Timeout, message));
        };
        let answers = match answered {
            Ok(answers) => answers,
            Err(Unanswered::Later(input)) => return Ok(Asked::Later(input)),
            // It says that it can show forms, but cannot now: somebody else may decide.
            Err(Unanswered::Never(_) | Unanswered::Refused(_)) => return Ok(Asked::CannotBe),
        };
        let answer = form::read(answers.get(key));
        self.desk.note_answer(call, &answer).await?;
        if answer.approves {
            return Ok(Asked::Approved);
        }
        Err(refused(call, Some("the client's user"), answer.reason.as_deref()))
    }
}

/// How asking the client's own user went.
enum Asked {
    Approved,
    /// The client answers by calling again.
    Later(InputRequired),
    CannotBe,
}
