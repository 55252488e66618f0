//! Requests in the name of whoever calls: with the token he came with, or with one that is given for it.

use toolrail_core::{Auth, Call, CallError, Caller, CallerToken, ErrorCode, HostPattern, Secret};

use super::token_exchange::TokenExchanger;
use super::{Base, Proof};
use crate::runtime::Runtime;
use crate::template::Compiler;

/// That requests are made in the name of whoever calls.
#[derive(Debug)]
pub(crate) struct OnBehalf {
    /// Where another token is given for that of the caller, if it is not sent itself.
    exchanger: Option<TokenExchanger>,
}

impl OnBehalf {
    /// What the proof says, for requests that go there; nothing if it says nothing of the kind, or is wrong.
    pub(crate) fn compile(
        proof: Option<&Proof<'_>>,
        bases: &[Base],
        compiler: &mut Compiler<'_>,
    ) -> Option<Self> {
        let Proof { auth, pointer } = proof?;
        let (hosts, exchange) = match auth {
            Auth::CallerToken { hosts } => (hosts, None),
            Auth::TokenExchange(exchange) => (&exchange.hosts, Some(exchange)),
            Auth::OAuthUser(_) => {
                let message =
                    "is for upstream MCP servers only (type: mcp); use caller_token or token_exchange";
                compiler.problems.error(format!("{pointer}/type"), message);
                return None;
            }
            Auth::None | Auth::ApiKey { .. } | Auth::Basic { .. } | Auth::Bearer { .. } | Auth::OAuth2(_) => {
                return None;
            }
        };
        compiler.on_behalf.push(pointer.clone());
        check_hosts(hosts, pointer, bases, compiler);
        let exchanger = match exchange {
            Some(exchange) => Some(TokenExchanger::compile(exchange, pointer, compiler)?),
            None => None,
        };
        Some(Self { exchanger })
    }

    /// The token for a call.
    pub(crate) async fn token(
        this: Option<&Self>,
        call: &Call<'_>,
        runtime: &Runtime,
    ) -> Result<Option<Secret>, CallError> {
        match this {
            None => Ok(None),
            Some(this) => this.token_for(Self::token_of(call.caller, call.tool)?, runtime).await.map(Some),
        }
    }

    /// The token with which somebody came who calls that.
    pub(crate) fn token_of<'c>(caller: &'c dyn Caller, called: &str) -> Result<&'c CallerToken, CallError> {
        caller.token().ok_or_else(|| {
            let message = format!(
                "{called} is asked for in the name of whoever calls, and this caller came without a token that may be passed on; come with one of an identity provider (a key, or a token that the gateway gave itself, never is)"
            );
            CallError::new(ErrorCode::Forbidden, message)
        })
    }

    /// What is sent for that token of a caller.
    pub(crate) async fn token_for(
        &self,
        token: &CallerToken,
        runtime: &Runtime,
    ) -> Result<Secret, CallError> {
        match &self.exchanger {
            None => Ok(Secret::new(token.reveal())),
            Some(exchanger) => Box::pin(exchanger.token_for(token, runtime)).await,
        }
    }
}

/// Notes an address that may not get the token, and headers that lead it elsewhere.
pub(crate) fn check_hosts(hosts: &[HostPattern], pointer: &str, bases: &[Base], compiler: &mut Compiler<'_>) {
    let fits = |(host, port): (&str, u16)| hosts.iter().any(|pattern| pattern.matches(host, port));
    if !hosts.is_empty() && !bases.iter().filter_map(Base::destination).all(fits) {
        let message = "does not name the host of the address, so the token may not go there; add it";
        compiler.problems.error(format!("{pointer}/hosts"), message);
    }
    for named in &compiler.named_hosts {
        let message = "a Host header can lead the token of whoever calls to another host; remove it";
        compiler.problems.error(&named.pointer, message);
    }
}
