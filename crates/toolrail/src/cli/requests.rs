//! `toolrail requests`: every request of the REST interface, to be tried out with Postman or curl.

use clap::{Args, ValueEnum};

use super::target::DEFAULT_URL;
use crate::print;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail requests > toolrail.postman_collection.json\n  toolrail requests --form curl > requests.sh && sh requests.sh"
)]
pub(super) struct RequestsArgs {
    /// As what
    #[arg(long, value_enum, default_value_t)]
    form: RequestsForm,
    /// The gateway that they are sent to
    #[arg(long, env = "TOOLRAIL_URL", default_value = DEFAULT_URL)]
    url: String,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum RequestsForm {
    /// A Postman collection
    #[default]
    Postman,
    /// A shell script
    Curl,
}

pub(super) fn run(args: &RequestsArgs) {
    let base = args.url.trim_end_matches('/');
    match args.form {
        RequestsForm::Postman => print::json(&toolrail_admin::postman_collection(base)),
        RequestsForm::Curl => print::line(toolrail_admin::curl_script(base)),
    }
}
