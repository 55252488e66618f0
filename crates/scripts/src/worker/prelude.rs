//! What scripts have beside the language, written in JavaScript: a function of the native ones that returns the bridge.

/// The code.
pub(super) const CODE: &str = concat!(
    "(function (native) {'use strict';\n",
    include_str!("prelude/errors.js"),
    include_str!("prelude/timers.js"),
    include_str!("prelude/text.js"),
    include_str!("prelude/url.js"),
    include_str!("prelude/fetch.js"),
    include_str!("prelude/crypto.js"),
    include_str!("prelude/bridge.js"),
    include_str!("prelude/shared.js"),
    "return bridge;\n})"
);
