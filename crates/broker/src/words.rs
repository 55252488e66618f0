//! What people read, in English and Chinese.

use http::header::{ACCEPT_LANGUAGE, HeaderMap};

/// The words of one language. Where one has `{}`, something is put in.
pub(crate) struct Words {
    pub(crate) language: &'static str,
    pub(crate) title: &'static str,
    pub(crate) ask_title: &'static str,
    pub(crate) ask: &'static str,
    pub(crate) nameless: &'static str,
    pub(crate) vouched: &'static str,
    pub(crate) unchecked: &'static str,
    pub(crate) goes_to: &'static str,
    pub(crate) this_machine: &'static str,
    pub(crate) program: &'static str,
    pub(crate) scopes: &'static str,
    pub(crate) sign_in_at: &'static str,
    pub(crate) warning: &'static str,
    pub(crate) yes: &'static str,
    pub(crate) no: &'static str,
    pub(crate) trouble_title: &'static str,
    pub(crate) stale: &'static str,
    pub(crate) other_browser: &'static str,
    pub(crate) provider: &'static str,
    pub(crate) not_signed_in: &'static str,
    pub(crate) no_rights: &'static str,
    pub(crate) refused: &'static str,
    pub(crate) unavailable: &'static str,
    pub(crate) back: &'static str,
}

impl Words {
    /// Those of the language that a browser likes best.
    pub(crate) fn of(headers: &HeaderMap) -> &'static Self {
        let liked = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut tags = liked.split(',').map(|tag| tag.trim().to_ascii_lowercase());
        let known = tags.find(|tag| tag.starts_with("zh") || tag.starts_with("en"));
        if known.is_some_and(|tag| tag.starts_with("zh")) { &CHINESE } else { &ENGLISH }
    }
}

const ENGLISH: Words = Words {
    language: "en",
    title: "Sign in",
    ask_title: "Let {} in?",
    ask: "This application wants to use the tools of {} in your name.",
    nameless: "an application",
    vouched: "It is described at {}.",
    unchecked: "It gave itself that name; nobody has checked it.",
    goes_to: "You will be sent on to",
    this_machine: "a program on this computer. Go on only if you have just started it yourself.",
    program: "a program on this computer that opens such addresses.",
    scopes: "It asks for",
    sign_in_at: "You will sign in at",
    warning: "If you did not just ask an application to connect, refuse.",
    yes: "Go on and sign in",
    no: "Refuse",
    trouble_title: "You are not signed in",
    stale: "This page is too old, or its address is not complete. Begin again in your application.",
    other_browser: "This sign-in was begun in another browser, or the browser keeps no cookies. Begin again in your application.",
    provider: "The identity provider answered something that cannot be used. Tell whoever runs this gateway:",
    not_signed_in: "The identity provider did not sign you in:",
    no_rights: "You have signed in, but may not use this gateway. Ask whoever runs it:",
    refused: "The request of the application cannot be granted:",
    unavailable: "Nobody can sign in at the moment:",
    back: "Back to {}",
};

const CHINESE: Words = Words {
    language: "zh",
    title: "登录",
    ask_title: "允许 {} 访问吗？",
    ask: "该应用希望以您的名义使用 {} 的工具。",
    nameless: "某个应用",
    vouched: "它的说明位于 {}。",
    unchecked: "名称由该应用自行填写，未经任何人核实。",
    goes_to: "之后您将被转到",
    this_machine: "这台计算机上的一个程序。仅当您刚刚亲自启动了它时才继续。",
    program: "这台计算机上能打开此类地址的程序。",
    scopes: "它请求",
    sign_in_at: "您将在此登录",
    warning: "如果您刚才并没有让任何应用进行连接，请拒绝。",
    yes: "继续并登录",
    no: "拒绝",
    trouble_title: "未能登录",
    stale: "此页面已过期，或地址不完整。请在您的应用中重新开始。",
    other_browser: "此次登录是在另一个浏览器中开始的，或者浏览器不保存 Cookie。请在您的应用中重新开始。",
    provider: "身份提供方的答复无法使用。请告知此网关的管理员：",
    not_signed_in: "身份提供方未让您登录：",
    no_rights: "您已登录，但无权使用此网关。请咨询其管理员：",
    refused: "无法满足该应用的请求：",
    unavailable: "目前无法登录：",
    back: "返回 {}",
};

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn people_read_the_language_that_they_like_best_of_those_there_are() {
        for (liked, expected) in [
            ("", "en"),
            ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
            ("en-GB,zh;q=0.5", "en"),
            ("de-DE,de;q=0.9,zh-TW;q=0.8", "zh"),
            ("fr", "en"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(liked));
            assert_eq!(Words::of(&headers).language, expected, "{liked}");
        }
    }
}
