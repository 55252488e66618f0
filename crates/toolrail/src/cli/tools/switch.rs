//! `toolrail tools enable|disable|remove`.

use std::process::ExitCode;

use http::Method;

use super::OutputForm;
use crate::cli::target::{RestRequest, Target, path_step};
use crate::print;

pub(super) async fn enable(target: &Target, name: &str, form: OutputForm) -> anyhow::Result<ExitCode> {
    change(target, Method::POST, &format!("/admin/tools/{}/enable", path_step(name)), form).await
}

pub(super) async fn disable(target: &Target, name: &str, form: OutputForm) -> anyhow::Result<ExitCode> {
    change(target, Method::POST, &format!("/admin/tools/{}/disable", path_step(name)), form).await
}

pub(super) async fn remove(target: &Target, name: &str, form: OutputForm) -> anyhow::Result<ExitCode> {
    change(target, Method::DELETE, &format!("/admin/tools/{}", path_step(name)), form).await
}

pub(super) async fn purge(target: &Target, name: &str, form: OutputForm) -> anyhow::Result<ExitCode> {
    change(target, Method::DELETE, &format!("/admin/tools/{}?purge=true", path_step(name)), form).await
}

async fn change(target: &Target, method: Method, path: &str, form: OutputForm) -> anyhow::Result<ExitCode> {
    let body = target.expect(&RestRequest::plain(method, path, "state")).await?;
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People => {
            let text = |field: &str| body[field].as_str().unwrap_or("-");
            print::line(format!("{} is {}", text("name"), text("state")));
            if let Some(note) = body["note"].as_str() {
                print::line(note);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
