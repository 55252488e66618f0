//! Facts about the configuration.

use toolrail_registry::{Discovery, ListingMode};

use super::*;

#[test]
fn every_key_of_the_file_is_taken() {
    let text = "listen: 127.0.0.1:9000\ndata: d\ntools: [t]\nsecrets: [TOKEN]\nallowHosts: [gw]\n\
                allowOrigins: ['https://a.b']\npollMs: 100\npageSize: 50\nunixSocket: s\nallowCommands: true\n\
                store: 'mysql://u:hidden@h/t'\nstorePasswordFile: p\ntenant: acme\nrefreshWindowMs: 0\n\
                historyVersions: 9\nhistoryDays: 30\nlisting: search\ndiscovery: false\nsearch: {learn: false}\n\
                groups: {git: {tools: [a], pinned: [A]}}\n";
    let settings = ConfigFile::parse(Path::new("c.yaml"), text).unwrap().settle().unwrap();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:9000");
    assert_eq!((settings.data, settings.tools), ("d".into(), vec![PathBuf::from("t")]));
    let listed = ListedSecret { name: "TOKEN".into(), binding: None };
    assert_eq!((settings.secrets, settings.allow_hosts), (vec![listed], vec!["gw".into()]));
    assert_eq!(
        (settings.unix_socket, settings.permitted),
        (Some("s".into()), vec![Permission::StartPrograms])
    );
    assert_eq!(settings.allow_origins, ["https://a.b"]);
    assert_eq!((settings.limits.poll, settings.limits.page_tools), (Duration::from_millis(100), 50));
    assert_eq!((settings.limits.window, settings.tenant.tenant()), (Duration::ZERO, Some("acme")));
    assert_eq!(settings.history, Retention { versions: Some(9), days: Some(30) });
    let main = settings.endpoints.main();
    assert_eq!((main.mode, main.discovery, &main.group), (ListingMode::Search, Discovery::Off, &None));
    assert!(settings.endpoints.of(Some("git")).is_some_and(|git| git.pinned.has("a")));
    assert_eq!(settings.store_password_file, Some("p".into()));
    assert_eq!(format!("{:?}", settings.store), "Some(mysql://h/t)");
}

#[test]
fn a_port_alone_may_be_a_number() {
    let listen = |text: &str| ConfigFile::parse(Path::new("c.yaml"), text).unwrap().settle().unwrap().listen;
    assert_eq!(listen("listen: 18091\n").to_string(), "127.0.0.1:18091");
    assert_eq!(listen("listen:\n").to_string(), DEFAULT_LISTEN);
    for wrong in ["listen: 70000\n", "listen: [1]\n", "listen: 1.5\n"] {
        let error = ConfigFile::parse(Path::new("c.yaml"), wrong).unwrap_err().to_string();
        assert!(error.contains("/listen: "), "{error}");
    }
}

#[test]
fn a_place_leads_to_the_entry_and_the_words_are_plain() {
    let text = "vars: {A: [1], B: fine, C: {}}\nsecrets: {K: {host: [x]}}\ngroups: {g: {tags: weather}}\nlanguage: fr\n\
                allowCommands: 3\npageSize: many\n";
    let error = ConfigFile::parse(Path::new("c.yaml"), text).unwrap_err().to_string();
    for part in [
        "/vars/A: must be a text, a number or a boolean",
        "/vars/C: must be a text",
        "/secrets/K/host: unknown key; did you mean \"hosts\"?",
        "/groups/g/tags: must be a list, not the text \"weather\"",
        "/language: \"fr\" is not known; known are en, zh",
        "/allowCommands: must be true or false, not 3",
        "/pageSize: must be a whole number, 0 at least, not the text \"many\"",
    ] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    assert!(!error.contains("/vars/B"), "{error}");
}

#[test]
fn a_wrong_credential_of_a_service_does_not_hide_its_wrong_address() {
    let text = "services:\n  up: {baseUrl: '127.0.0.1:9', auth: {type: bearr, token: x}}\n";
    let error = ConfigFile::parse(Path::new("c.yaml"), text).unwrap_err().to_string();
    for part in ["/services/up/auth", "/services/up/baseUrl: \"127.0.0.1:9\" has no scheme"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

#[test]
fn every_fault_of_services_and_secrets_is_told_at_once_with_the_index_of_items() {
    let text = "services:
  a: {baseUrl: 5, headers: [x], timeoutMs: -1, foo: 1}
  b: {baseUrl: nope, auth: 3, headers: {'X Y': z}}
  c: [1]
  d: {baseUrl: 'http://x', auth: {type: bearer}}
  e: {baseUrl: 'http://y', auth: {type: basic, username: 3, password: 12345, in: 7, tokn: x}, headers: {H: '{{args.q}}'}}
  f: {auth: {type: bearr}}
  'g h': {baseUrl: 'http://z/{{vars.LATER}}', auth: {type: bearer, token: '{{secrets.LATER}}'}}
secrets:
  A: {hosts: ['http://x', 3, ok.example], programs: 3, foo: 1}
  B: 3
  C: {hosts: []}
  D: {programs: false}
tools: [a, 1]
allowHosts: [gw, 'a b', 3]
groups: {g: {tags: [1, t], patterns: [a, '']}}
";
    let error = ConfigFile::parse(Path::new("c.yaml"), text).unwrap_err().to_string();
    let expected = "\
/services/a/baseUrl: must be a text, not 5
/services/a/headers: must be a mapping, not a list
/services/a/timeoutMs: must be a whole number, 0 at least, not -1
/services/a/foo: unknown key; known are baseUrl, headers, auth, timeoutMs, connectTimeoutMs
/services/b/baseUrl: \"nope\" has no scheme; start it with
/services/b/auth: must be a mapping with type
/services/b/headers/X Y: \"X Y\" is not a header name
/services/c: must be a mapping with baseUrl
/services/d/auth: auth of type \"bearer\" needs \"token\"
/services/e/auth/username: must be a text
/services/e/auth/password: must be a text
/services/e/auth/in: must be a text
/services/e/auth/tokn: unknown key; did you mean \"token\"?
/services/e/headers/H: a service is the same for every call
/services/f: the field \"baseUrl\" is missing
/services/f/auth/type: \"bearr\" is not one of
/services/g h: the name of a service has letters
/secrets/A/hosts/0: \"http://x\" is not a host
/secrets/A/hosts/1: must be the name of a host
/secrets/A/programs: must be true or false, not 3
/secrets/A/foo: unknown key; known are hosts, programs
/secrets/B: must be a mapping such as
/secrets/C: may go nowhere
/secrets/D: may go nowhere
/tools/1: must be a text, not 1
/allowHosts/1: \"a b\" is not the name of a host
/allowHosts/2: must be a text, not 3
/groups/g/tags/0: must be a text, not 1
/groups/g/patterns/1: \"\" is empty";
    for part in expected.lines() {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    assert_eq!(error.lines().count(), 1 + expected.lines().count(), "nothing else: {error}");
    assert!(!error.contains("12345") && !error.contains("struct"), "{error}");
}

#[test]
fn a_fault_repeats_little_of_a_value_and_nothing_that_steers_a_terminal() {
    let long = "w".repeat(20_000);
    let file = serde_json::json!({
        "services": {"a": {"baseUrl": "http://h", "timeoutMs": long, "headers": {"X\u{1b}[31mY": "{{vars.\u{1b}[2J}}"}}},
        "secrets": ["TOKEN", format!("A@{long}/"), 1],
        "allowHosts": [format!("a {long}"), "\u{1b}[31mred x"],
        "memory": long, "listing": long, "listen": long, "vars": {&long: [1]}, "\u{1b}[2J": 1,
        "groups": {&long: {"tools": ["a"]}},
    });
    let error = ConfigFile::parse(Path::new("c.json"), &file.to_string()).unwrap_err().to_string();
    assert!(error.lines().count() >= 12 && error.contains("/secrets/2: must be the name"), "{error}");
    assert!(error.lines().all(|line| line.chars().count() <= 620), "{error}");
    assert!(!error.contains('\u{1b}') && !error.contains(&"w".repeat(101)), "{error}");
}

#[test]
fn every_problem_of_the_file_is_told_with_its_place() {
    let text = "listenn: 1\npollMs: 5\ntools: yes\nlisten: nowhere\nstore: 'oracle://u:hidden@h'\n\
                tenant: a b\nrefreshWindowMs: 5001\nhistoryDays: 0\nhistoryVersions: 0\n";
    let error = ConfigFile::parse(Path::new("c.yaml"), text).unwrap_err().to_string();
    for part in [
        "/listenn: unknown key; did you mean \"listen\"?",
        "/pollMs: 5 is not",
        "/tools: ",
        "/listen: \"nowhere\"",
        "/store: there is no kind of store \"oracle\"",
        "/tenant: \"a b\" is not the name",
        "/refreshWindowMs: 5001 is not",
        "/historyDays: 0 is not",
        "/historyVersions: 0 is not",
    ] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    assert!(!error.contains("hidden"), "{error}");
}

#[test]
fn a_file_with_nothing_but_tools_is_a_configuration_too() {
    let file = ConfigFile::parse(Path::new("c.yaml"), "tools: [a, b]\n").unwrap();
    assert_eq!(file.tools, Some(vec!["a".into(), "b".into()]));
    assert_eq!(ConfigFile::parse(Path::new("c.yaml"), "").unwrap(), ConfigFile::default());
}

#[test]
fn flags_go_before_the_file() {
    let flags =
        ConfigFile { listen: Some("9001".into()), allow_commands: Some(false), ..ConfigFile::default() };
    let file = ConfigFile {
        listen: Some("9000".into()),
        poll_ms: Some(100),
        allow_commands: Some(true),
        ..ConfigFile::default()
    };
    let settings = flags.over(file).settle().unwrap();
    assert_eq!((settings.listen.to_string(), settings.permitted), ("127.0.0.1:9001".into(), vec![]));
    assert_eq!(settings.limits.poll, Duration::from_millis(100));
}

#[test]
fn a_group_lists_as_everything_is_listed_unless_it_says_otherwise() {
    let text = "listing: {mode: auto, threshold: 7, pinned: [p]}\n\
                groups:\n  same: {tags: [t]}\n  own: {tags: [t], listing: full, discovery: true}\n  \
                more: {tags: [t], listing: {threshold: 1, pinned: [q]}, pinned: [r]}\n";
    let flags = ConfigFile {
        listing: Some(ListingFile { mode: Some(ListingMode::Search), ..ListingFile::default() }),
        ..ConfigFile::default()
    };
    let file = ConfigFile::parse(Path::new("c.yaml"), text).unwrap();
    let endpoints = flags.over(file).settle().unwrap().endpoints;
    let told = |name: Option<&str>| {
        let endpoint = endpoints.of(name).unwrap();
        let pinned: Vec<&str> = endpoint.pinned.iter().collect();
        (endpoint.mode.word(), endpoint.threshold, pinned.join(" "), endpoint.discovery)
    };
    assert_eq!(told(None), ("search", 7, "p".into(), Discovery::ReadOnly), "a flag changes the mode alone");
    assert_eq!(told(Some("same")), told(None));
    assert_eq!(told(Some("own")), ("full", 7, "p".into(), Discovery::On));
    assert_eq!(told(Some("more")), ("search", 1, "q r".into(), Discovery::ReadOnly));
}

#[test]
fn a_group_may_not_be_called_what_means_something_else() {
    for name in ["tools", "search", "ws", "sse", "messages", "", "A", "a.b", "a/b", "天气", &"x".repeat(65)]
    {
        let text = serde_json::json!({"groups": {name: {"tools": ["a"]}}}).to_string();
        let error = ConfigFile::parse(Path::new("c.json"), &text).unwrap_err().to_string();
        assert!(error.contains("/groups/"), "{name}: {error}");
    }
    let text = "groups: {a-1: {tools: [a]}}\n";
    assert!(ConfigFile::parse(Path::new("c.yaml"), text).is_ok());
}

/// B1: whoever reaches the gateway finds and calls tools; registering them needs the operator's word.
#[test]
fn discovery_only_reads_unless_something_is_said() {
    let settings = ConfigFile::default().settle().unwrap();
    assert_eq!(settings.endpoints.of(None).unwrap().discovery, Discovery::ReadOnly);
}

#[test]
fn secrets_are_listed_or_bound_and_flags_never_unbind_them() {
    let parse = |text: &str| ConfigFile::parse(Path::new("c.yaml"), text).unwrap();
    let bound = parse("secrets: {A: {hosts: [a.example, '*.b.example:8443']}, B: {}, C: {programs: true}}");
    let flags = ConfigFile {
        secrets: Some(SecretsFile(vec![
            ListedSecret::parse("A").unwrap(),
            ListedSecret::parse("D@h+i.example").unwrap(),
        ])),
        ..ConfigFile::default()
    };
    let settings = flags.over(bound).settle().unwrap();
    let told: Vec<String> = settings
        .secrets
        .iter()
        .map(|secret| {
            let places = secret.binding.as_ref().map(toolrail_core::Binding::places);
            format!("{} {}", secret.name, places.unwrap_or_else(|| "anywhere".into()))
        })
        .collect();
    let expected = [
        "A a.example and *.b.example:8443",
        "B anywhere",
        "C programs that mcp definitions start",
        "D h and i.example",
    ];
    assert_eq!(told, expected);
    assert!(ListedSecret::parse("A@http://h").is_err());
}

#[test]
fn hosts_and_origins_that_nobody_can_send_are_refused() {
    let fault = |text: &str| ConfigFile::parse(Path::new("c.yaml"), text).unwrap_err().to_string();
    for host in ["http://x", "a b", "", "x/y", "u@h"] {
        let fault = fault(&format!("allowHosts: ['{host}']"));
        assert!(fault.contains("/allowHosts/0: ") && fault.contains("is not the name of a host"), "{fault}");
    }
    for origin in ["foo", "https://", "https://a/b", "://a"] {
        let fault = fault(&format!("allowOrigins: ['{origin}']"));
        assert!(fault.contains("/allowOrigins/0: ") && fault.contains("is not an origin"), "{fault}");
    }
    let good = "allowHosts: [gw, gw.example.com, 'gw:8080', '[::1]:8080', 10.0.0.7]\n\
                allowOrigins: ['https://a.b', 'http://localhost:3000', 'chrome-extension://abcdef']";
    assert!(ConfigFile::parse(Path::new("c.yaml"), good).is_ok());
}

#[test]
fn a_file_that_is_no_mapping_is_refused_and_an_empty_one_is_not() {
    let parse = |text: &str| ConfigFile::parse(Path::new("c.yaml"), text);
    for text in ["hello", "42", "true", "- a\n- b\n"] {
        let fault = parse(text).unwrap_err().to_string();
        assert!(fault.contains("must be one mapping"), "{text}: {fault}");
    }
    for text in ["", "# nothing yet\n", "{}"] {
        assert_eq!(parse(text).unwrap(), ConfigFile::default(), "{text:?}");
    }
    let deep = parse(&("a: ".to_owned() + &"[".repeat(5_000))).unwrap_err().to_string();
    assert!(!deep.contains("is is"), "{deep}");
}
