//! Layers: what flags say goes before what the environment says, and that before the file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use toolrail_broker::BrokerSettings;
use toolrail_discovery::Language;
use toolrail_registry::{Discovery, ListingMode, OnBroken, SearchMethod};
use toolrail_store::StoreUrl;

use super::semantic::SemanticFile;
use crate::memory::MemoryLimit;

/// Something that several layers may say.
pub(crate) trait Layer: Sized {
    /// What holds if a layer says this and one below it says that: this, unless it only says a part.
    fn over(self, _below: Self) -> Self {
        self
    }
}

impl<T: Layer> Layer for Option<T> {
    fn over(self, below: Self) -> Self {
        match (self, below) {
            (Some(said), Some(below)) => Some(said.over(below)),
            (said, below) => said.or(below),
        }
    }
}

impl<T> Layer for Vec<T> {}
impl<K, V> Layer for BTreeMap<K, V> {}

macro_rules! whole {
    ($($name:ty),*) => { $(impl Layer for $name {})* };
}
whole!(bool, u32, u64, usize, String, PathBuf, Value);
whole!(
    Box<BrokerSettings>,
    Discovery,
    Language,
    ListingMode,
    MemoryLimit,
    OnBroken,
    SearchMethod,
    SemanticFile,
    StoreUrl
);

/// A struct each of whose members is a layer of its own.
macro_rules! layered {
    ($(#[$about:meta])* pub(crate) struct $name:ident {
        $($(#[$said:meta])* pub(crate) $member:ident: $kind:ty,)*
    }) => {
        $(#[$about])*
        pub(crate) struct $name {
            $($(#[$said])* pub(crate) $member: $kind,)*
        }

        impl Layer for $name {
            fn over(self, below: Self) -> Self {
                Self { $($member: self.$member.over(below.$member),)* }
            }
        }
    };
}
pub(super) use layered;
