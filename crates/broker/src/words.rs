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
    pub(crate) connect_title: &'static str,
    pub(crate) connect_ask: &'static str,
    pub(crate) connect_to: &'static str,
    pub(crate) connect_at: &'static str,
    pub(crate) connect_warning: &'static str,
    pub(crate) connect_yes: &'static str,
    pub(crate) connect_refused: &'static str,
    pub(crate) connected_title: &'static str,
    pub(crate) connected: &'static str,
    pub(crate) not_connected: &'static str,
    pub(crate) connect_stale: &'static str,
    pub(crate) connect_other_browser: &'static str,
    pub(crate) connect_other_person: &'static str,
    pub(crate) connect_upstream: &'static str,
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
    connect_title: "Connect your account at {}?",
    connect_ask: "The tools of {} will then be used with your account there whenever {} calls them.",
    connect_to: "It is connected to",
    connect_at: "The server is at",
    connect_warning: "If you are not {}, or were sent this address by somebody else, refuse: he would get at your account.",
    connect_yes: "Go on and connect",
    connect_refused: "Nothing was connected. You can close this page.",
    connected_title: "Your account is connected",
    connected: "{} is now used with your account when {} calls its tools. You can close this page and go on in your application.",
    not_connected: "No account was connected",
    connect_stale: "This address is too old, was used before, or is not complete. Call the tool again to get a new one.",
    connect_other_browser: "This was begun in another browser, or the browser keeps no cookies. Open the address again.",
    connect_other_person: "You have signed in as somebody else than the one for whom this address was made:",
    connect_upstream: "The server at which the account is did not connect it:",
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
    connect_title: "连接您在 {} 的账户吗？",
    connect_ask: "此后，{} 的工具在由 {} 调用时将使用您在那里的账户。",
    connect_to: "连接到",
    connect_at: "服务器位于",
    connect_warning: "如果您不是 {}，或者此地址是别人发给您的，请拒绝：否则对方将能使用您的账户。",
    connect_yes: "继续并连接",
    connect_refused: "未连接任何账户。您可以关闭此页面。",
    connected_title: "您的账户已连接",
    connected: "{} 现在会在 {} 调用其工具时使用您的账户。您可以关闭此页面，回到您的应用继续。",
    not_connected: "未连接任何账户",
    connect_stale: "此地址已过期、已被使用或不完整。请再次调用该工具以获取新的地址。",
    connect_other_browser: "此操作是在另一个浏览器中开始的，或者浏览器不保存 Cookie。请重新打开该地址。",
    connect_other_person: "您登录的身份与此地址所属的人不同：",
    connect_upstream: "账户所在的服务器未能完成连接：",
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
