//! A real authorisation server, panva's oidc-provider, for the accounts that people have at an upstream server: the gateway registers
//! itself there, people sign in and agree on its pages, and the tokens it gives are its own.

use std::collections::BTreeMap;

use http::Request;
use http_body_util::Full;
use serde_json::json;
use toolrail_testkit::{HttpClient, Reply};
use url::Url;

use super::Stage;
use super::connect::{Browser, PUBLIC, path_in};
use super::recorder::{Recorder, Speaks};
use crate::broker::official::RealProvider;

/// Somebody at the pages of the provider: keeps cookies, fills in forms and agrees to everything.
#[derive(Default)]
struct Person {
    http: HttpClient,
    cookies: BTreeMap<String, String>,
}

impl Person {
    /// Goes on until he is sent to the gateway; gives the path there.
    async fn sign_in(&mut self, start: &str, who: &str) -> String {
        let (mut here, mut reply) = (Url::parse(start).unwrap(), self.send(start, None).await);
        for _ in 0..30 {
            if let Some(to) = reply.header("location") {
                let to = here.join(to).unwrap();
                if let Some(path) = to.as_str().strip_prefix(PUBLIC) {
                    return path.to_owned();
                }
                here = to;
                reply = self.send(here.as_str(), None).await;
                continue;
            }
            let page = reply.text();
            let between = |text: &str, from: &str, to: &str| {
                text.split_once(from).and_then(|(_, rest)| Some(rest.split_once(to)?.0.to_owned()))
            };
            let action = between(&page, "action=\"", "\"").unwrap_or_else(|| unreachable!("{page}"));
            let inputs = page.split("<input").skip(1).filter_map(|input| {
                let input = input.split('>').next()?;
                let value = between(input, "value=\"", "\"").unwrap_or_else(|| who.to_owned());
                Some((between(input, "name=\"", "\"")?, value))
            });
            let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(inputs).finish();
            here = here.join(&action).unwrap();
            reply = self.send(here.as_str(), Some(form)).await;
        }
        unreachable!("not signed in")
    }

    async fn send(&mut self, url: &str, form: Option<String>) -> Reply {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = match form {
            Some(_) => Request::post(url).header("content-type", "application/x-www-form-urlencoded"),
            None => Request::get(url),
        };
        let request = request.header("cookie", cookies.join("; "));
        let request = request.body(Full::new(form.unwrap_or_default().into())).unwrap();
        let reply = self.http.send(request).await.unwrap();
        for cookie in reply.headers.get_all("set-cookie") {
            let (pair, _) = cookie.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        reply
    }
}

#[tokio::test]
async fn people_connect_their_accounts_at_a_real_authorisation_server() {
    let (stage, provider) = (Stage::open().await, RealProvider::start(PUBLIC).await.unwrap());
    let server = Recorder::start(Speaks::Legacy).await;
    let scopes = ["openid", "offline_access", "tools.call"];
    let auth = json!({"type": "oauth_user", "issuer": provider.issuer, "scopes": scopes});
    stage.bring_in("up", &server, (auth, json!({}))).await;
    for who in ["ann", "bob"] {
        let token = stage.token(who);
        let path = path_in(&stage.call(&token, "up_whoami").await.text());
        let mut browser = Browser::default();
        let there = browser.agree(&stage.gateway, &path).await;
        let back = Person::default().sign_in(&there, &format!("{who}-there")).await;
        let done = browser.get(&stage.gateway, &back).await;
        assert!(done.status == 200 && done.text().contains("is connected"), "{}", done.text());
        let called = stage.call(&token, "up_whoami").await;
        assert!(called.status == 200 && called.text().contains(&format!("{who}-there")), "{}", called.text());
    }
    assert_eq!(server.faults(), Vec::<String>::new());
}
