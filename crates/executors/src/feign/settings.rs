//! The block `feign` of a definition. The doc comments are the user's documentation.

use crate::request::request_block;
use crate::service::Shared;
use crate::template::Compiler;

request_block! {
    /// A request to a service, in the manner of a Feign client: a base URL or a list of instances, and a path. Texts may hold
    /// templates: `{{args.name}}` for an argument, `{{secrets.KEY}}` or `${secrets.KEY}` for a secret, `{{vars.NAME}}` for a
    /// variable, with filters such as `{{args.name|default('x')}}`. What an absent argument would fill is left out.
    struct FeignSettings {
        first {
            /// Where the service is, such as `http://users:8080/api`. May come from variables and secrets but not from arguments.
            #[serde(default)]
            pub(super) base_url: Option<String>,
            /// The name of the service, for people and messages; without `baseUrl` and `instances` that of one in the configuration
            /// (`services`), whose address, headers, credential and time limits hold unless they stand here.
            #[serde(default)]
            pub(super) service: Option<String>,
            /// The base URLs of the service's instances. Calls go to them in turn; one that cannot be reached is avoided for a
            /// while, and its call goes to the next.
            #[serde(default)]
            #[schemars(length(min = 1, max = 256))]
            pub(super) instances: Option<Vec<String>>,
            /// The path after the base URL, such as `/users/{id}` or `/users/{{args.id}}`. A value is one segment of it.
            #[serde(default)]
            pub(super) path: Option<String>,
        }
        then {}
    }
}

impl FeignSettings {
    /// The service of the configuration that it uses: one that it names without saying itself where that is.
    pub(super) fn shared<'c>(&self, compiler: &Compiler<'c>) -> Option<&'c Shared> {
        let name = self.service.as_deref().filter(|_| self.base_url.is_none() && self.instances.is_none())?;
        compiler.services.find(name).ok()
    }
}
