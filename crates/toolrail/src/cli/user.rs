//! Who uses the command line, as the system calls him: recorded with the changes he makes.

use http::HeaderValue;

/// His name, as the value of a header.
pub(super) fn name() -> Option<HeaderValue> {
    let said = ["USER", "LOGNAME", "USERNAME"].iter().find_map(std::env::var_os);
    let said = said.map(|name| name.to_string_lossy().into_owned()).filter(|name| !name.trim().is_empty());
    HeaderValue::from_bytes(said.or_else(listed)?.as_bytes()).ok()
}

/// What the list of users says, where the environment does not, as in containers.
#[cfg(unix)]
fn listed() -> Option<String> {
    let user = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    Some(name_of(&user, &users).unwrap_or_else(|| format!("user {user}")))
}

#[cfg(not(unix))]
fn listed() -> Option<String> {
    None
}

#[cfg(unix)]
fn name_of(user: &str, users: &str) -> Option<String> {
    let named = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == user).then(|| name.to_owned())
    };
    users.lines().find_map(named)
}

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn a_user_is_found_by_his_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nnonsense\nanna:x:1000:1000::/home/anna:/bin/sh\n";
        assert_eq!(super::name_of("1000", users).as_deref(), Some("anna"));
        assert_eq!(super::name_of("7", users), None);
    }
}
