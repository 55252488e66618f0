//! A definition: what the user wrote about one tool, checked and in one form. `document` is what may be written,
//! `split_form` the other spellings that mean the same, `check` the search for faults, `published` the schema for editors.

mod approval;
mod check;
mod document;
mod parts;
mod published;
mod split_form;
mod unapplied;

use serde_json::Value;

pub use approval::Approval;
pub use check::DefinitionForm;
pub use document::{Annotations, ApiKeyPlace, Document, RegisteredBy};

use crate::{HostPattern, Problems};

use crate::ToolName;

/// One tool as its user described it, structurally sound; the kind's block is still to be compiled.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: ToolName,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, for the model that chooses.
    pub description: Option<String>,
    /// The kind that carries it out.
    pub kind: String,
    /// The schema of its arguments, if the user gave one; its root is an object schema.
    pub input_schema: Option<Value>,
    /// The schema of its result, if any.
    pub output_schema: Option<Value>,
    /// Hints about its behaviour.
    pub annotations: Option<Annotations>,
    /// A group for people and search.
    pub category: Option<String>,
    /// Words for people and search.
    pub tags: Vec<String>,
    /// Whether clients should find it by search instead of loading it up front.
    pub defer_loading: Option<bool>,
    /// The kind's block.
    pub settings: Value,
    /// How it proves itself to the upstream, if it says so.
    pub auth: Option<Auth>,
    /// What becomes of the upstream's answer.
    pub response_mapping: ResponseMapping,
    /// What wraps its executor.
    pub policy: Policy,
    /// That a person must approve of each call, if one must.
    pub approval: Option<Approval>,
    /// Whether it may be called.
    pub enabled: bool,
    /// Who registered it, if not an operator.
    pub registered_by: Option<RegisteredBy>,
}

impl Definition {
    /// Whether it says that it proves itself.
    pub fn wants_auth(&self) -> bool {
        self.auth.as_ref().is_some_and(|auth| *auth != Auth::None)
    }
}

/// How a tool proves itself to its upstream. The texts are templates.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Auth {
    /// Not at all.
    #[default]
    None,
    /// A key in a header, query parameter or cookie.
    ApiKey {
        /// Where the key goes.
        place: ApiKeyPlace,
        /// The name of the header, parameter or cookie.
        name: String,
        /// The key, a template.
        value: String,
    },
    /// HTTP basic authentication.
    Basic {
        /// A template.
        username: String,
        /// A template.
        password: String,
    },
    /// `Authorization: Bearer …`.
    Bearer {
        /// A template.
        token: String,
    },
    /// A token that an authorisation server gives (RFC 6749).
    OAuth2(Box<OAuth2>),
    /// The token with which the caller came.
    CallerToken {
        /// Where it may go, if the definition says more than its address.
        hosts: Vec<HostPattern>,
    },
    /// A token that an authorisation server gives for that of the caller (RFC 8693).
    TokenExchange(Box<TokenExchange>),
    /// A token that whoever calls has granted this gateway at the upstream's authorisation server.
    OAuthUser(Box<OAuthUser>),
}

/// How people grant this gateway tokens of their own.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OAuthUser {
    /// The authorisation server; the one that the upstream names if absent.
    pub issuer: Option<String>,
    /// What this gateway is called there; it registers itself if absent.
    pub client_id: Option<String>,
    /// The proof of that, a secret by its name in braces.
    pub client_secret: Option<String>,
    /// What the tokens shall be good for; what the upstream asks for if there are none.
    pub scopes: Vec<String>,
}

/// How to get a token.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OAuth2 {
    /// Where the token is given.
    pub token_url: Option<String>,
    /// Who asks for it.
    pub client_id: Option<String>,
    /// The proof of that.
    pub client_secret: Option<String>,
    /// What the token shall be good for.
    pub scopes: Vec<String>,
    /// Whom it shall be shown to.
    pub audience: Option<String>,
    /// The way of getting it; `client_credentials` if absent.
    pub grant: Option<String>,
}

/// How to get a token for that of the caller. The texts are templates.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TokenExchange {
    /// Where the token is given.
    pub token_url: String,
    /// Who asks for it.
    pub client_id: String,
    /// The proof of that, if there is one.
    pub client_secret: Option<String>,
    /// What the token shall be good for.
    pub scopes: Vec<String>,
    /// Whom it shall be shown to.
    pub audience: Option<String>,
    /// The address of the service that it shall be for.
    pub resource: Option<String>,
    /// Where it may go, if the definition says more than its address.
    pub hosts: Vec<HostPattern>,
}

impl Auth {
    /// Whether requests are made in the name of the caller.
    pub const fn is_on_behalf(&self) -> bool {
        matches!(self, Self::CallerToken { .. } | Self::TokenExchange(_) | Self::OAuthUser(_))
    }

    /// Reads what stands elsewhere than in a definition, at `place`, in the same form.
    pub fn read(value: &Value, place: &str, problems: &mut Problems) -> Option<Self> {
        parts::read_auth(value, place, problems)
    }
}

/// What becomes of the upstream's answer.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ResponseMapping {
    /// It is passed through.
    #[default]
    Passthrough,
    /// The part that a JSONPath (RFC 9535) selects.
    JsonPath {
        /// The expression.
        path: String,
    },
    /// A text made from it.
    Template {
        /// A template over `result`, `args` and `status`.
        template: String,
    },
}

/// What wraps the executor.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Policy {
    /// The most milliseconds one call may take in all.
    pub timeout_ms: Option<u64>,
}
