//! What a model is told about using the server: the words of whoever runs it, what the group is for, and how to find tools
//! that are not listed.

use toolrail_registry::{Listing, Snapshot};

/// The instructions of an endpoint, if there is anything to say.
pub(crate) fn of(own: Option<&str>, snapshot: &Snapshot) -> Option<String> {
    let endpoint = snapshot.endpoint();
    let description = endpoint.and_then(|endpoint| endpoint.description.clone());
    let finds = endpoint.is_some_and(|endpoint| endpoint.discovery.finds());
    let parts = [own.map(str::to_owned), description, about(&snapshot.listing(), finds)];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn about(listing: &Listing, finds: bool) -> Option<String> {
    let count = listing.hidden();
    if count == 0 {
        return None;
    }
    let are = if count == 1 { "1 tool is".to_owned() } else { format!("{count} tools are") };
    Some(if finds {
        format!(
            "{are} behind search_tools: call it with what you want to do, in words, to get the best few by name. \
             get_tool_definition shows the arguments of one; call it by its name, or with call_tool if you can only call \
             listed tools."
        )
    } else {
        format!("{are} not listed; call them by their names.")
    })
}

#[cfg(test)]
mod tests {
    use toolrail_registry::ListingMode;

    use super::*;

    #[test]
    fn how_to_find_tools_is_told_where_some_are_hidden() {
        let mode = ListingMode::Search;
        let listing = |total, listed| Listing { total, listed, described: 0, mode, effective: mode };
        assert_eq!(about(&listing(3, 3), true), None);
        assert!(about(&listing(3, 1), true).unwrap().starts_with("2 tools are behind search_tools: "));
        assert!(about(&listing(3, 2), true).unwrap().starts_with("1 tool is behind search_tools: "));
        assert_eq!(
            about(&listing(3, 1), false).unwrap(),
            "2 tools are not listed; call them by their names."
        );
    }
}
