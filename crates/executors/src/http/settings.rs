//! The block `http` of a definition. The doc comments are the user's documentation.

use crate::request::request_block;

request_block! {
    /// An HTTP request. Texts may hold templates: `{{args.name}}` for an argument, `{{secrets.KEY}}` or `${secrets.KEY}` for a
    /// secret, `{{vars.NAME}}` for a variable, with filters such as `{{args.name|default('x')}}`. What an absent argument would fill is left out.
    struct HttpSettings {
        first {}
        then {
            /// Where the request goes, such as `https://api.example.com/users/{{args.id}}`. Scheme, host and port may come from
            /// variables and secrets but not from arguments. A value in the path is one segment of it. With `service` only the path.
            #[serde(default)]
            pub(super) url: Option<String>,
            /// The service of the configuration (`services`) that the request goes to: its address, headers, credential and time
            /// limits hold unless they stand here.
            #[serde(default)]
            pub(super) service: Option<String>,
        }
    }
}
