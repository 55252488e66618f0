//! What clients do differently when they look for a way to sign in, as far as it is known from their documentation and from
//! what people report of them.

/// A client, by what it needs.
pub(super) struct ClientHabits {
    pub(super) name: &'static str,
    /// Whether it reads where the description of the server is from the header of the refusal.
    pub(super) reads_challenge: bool,
    /// What the description must say that it describes.
    pub(super) resource: ResourceMatch,
    /// How it comes to an id, in the order of its liking.
    pub(super) registers: &'static [Registration],
}

/// How closely the described resource must be the address that was typed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceMatch {
    /// Letter by letter.
    Exact,
    /// The address, or the server that it is on.
    AddressOrOrigin,
    /// It does not look.
    Anything,
}

/// How a client comes to an id at the authorisation server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Registration {
    /// Its id is the address of a document about it; the server must take such, and clients without a secret.
    Document,
    /// It registers itself (RFC 7591).
    Dynamic,
    /// It asks its user for an id.
    ByHand,
}

/// Those that are played.
pub(super) const CLIENTS: &[ClientHabits] = &[
    ClientHabits {
        name: "Claude",
        reads_challenge: true,
        resource: ResourceMatch::Exact,
        registers: &[Registration::Document, Registration::Dynamic],
    },
    ClientHabits {
        name: "VS Code",
        reads_challenge: true,
        resource: ResourceMatch::AddressOrOrigin,
        registers: &[Registration::Document, Registration::Dynamic, Registration::ByHand],
    },
    ClientHabits {
        name: "Codex",
        reads_challenge: false,
        resource: ResourceMatch::Anything,
        registers: &[Registration::Dynamic],
    },
];
