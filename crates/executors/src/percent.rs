//! Percent-encoding: what stands in a URL as it is.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// Everything but RFC 3986's unreserved characters.
pub(crate) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
