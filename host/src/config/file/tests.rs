//! The file as it is written: what can be set, and what is refused with which words.

use std::num::NonZero;

use super::{
    super::{
        Endpoint, OtlpHeader,
        grants::{Folder, Secret, Signature, Signed, Variable, Webhook},
    },
    *,
};

fn parse(text: &str) -> Result<Config, String> {
    File::parse(text, Path::new("/srv"))
}

fn granting(grants: &str) -> String {
    format!("[[provider]]\nname = \"a\"\ngrants = {{ {grants} }}")
}

#[test]
fn everything_that_can_be_set() {
    let config = parse(
        r#"
        [server]
        http = "0.0.0.0:9000"
        admin = "127.0.0.1:9090"
        plugins = "providers"
        allowed-origins = ["https://app.example.com"]
        allowed-hosts = ["wharf.example.com"]
        loading-time = "10s"
        watch = "poll"
        tls = { certificate = "cert.pem", key = "/etc/key.pem" }
        shutdown-time = "20s"
        otlp = "http://127.0.0.1:4318"
        otlp-headers = { x-key = "k", authorization = { env = "OTLP_AUTHORIZATION" }, x-file = { file = "key" } }
        otlp-ratio = 0.5

        [tools]
        enabled = true

        [fetch]
        ca-file = "ca.pem"
        min-period = "5s"

        [limits]
        memory = "64MiB"

        [[resource]]
        name = "notes"
        uri = "notes://today"
        title = "Notes"
        description = "of today"
        mime-type = "text/markdown"
        size = 5
        annotations = { audience = ["user"], priority = 0.5, last-modified = "2026-11-30T00:00:00Z" }
        icons = [{ src = "https://example.com/i.png", mime-type = "image/png", sizes = ["48x48"], theme = "dark" }]
        text = "hello"

        [[resource]]
        name = "log"
        annotations.last-modified = 2026-11-30T00:00:00Z
        file = "log.txt"

        [[provider]]
        name = "review-status"
        path = "elsewhere/review.wasm"
        claims = ["test://"]
        public = true
        required = true
        expose-state = ["build/*"]
        [provider.settings]
        delay-seconds = 5
        updated-status = "reviewed"
        list = ["a", 1, { b = true }]
        db = { host = "localhost", pool.size = 1.5 }
        [provider.limits]
        memory = "128MiB"
        deadline = "1500ms"
        instances = 3
        [provider.grants]
        folders = [{ host = "repo", guest = "/repo/" }, { host = "/tmp", guest = "/", write = true }]
        hosts = ["api.github.com", "*.example.org:8443"]
        env = ["TOKEN", { KEY = { file = "key.txt" }, OTHER = { env = "NAME" } }]
        webhooks = [
            { name = "open" },
            { name = "github", signature = "github", secret = { env = "HOOK" }, queue = true },
            { name = "own", signature = "header", header = "X-Sig", secret = { file = "hook.txt" } },
        ]
        state = "4MiB"

        [[provider]]
        name = "handbook"
        "#,
    )
    .unwrap();
    assert_eq!(config.server.http, Some("0.0.0.0:9000".parse().unwrap()));
    assert_eq!(config.server.admin, Some("127.0.0.1:9090".parse().unwrap()));
    assert_eq!(config.server.plugins.as_deref(), Some(Path::new("/srv/providers")));
    assert_eq!(config.server.loading_time, Some(Duration::from_secs(10)));
    assert_eq!(config.server.tls, Some(TlsFiles { certificate: "/srv/cert.pem".into(), key: "/etc/key.pem".into() }));
    assert_eq!(config.server.shutdown_time, Some(Duration::from_secs(20)));
    let header = |name: &str| config.server.otlp_headers[name].clone();
    assert_eq!(config.server.otlp, Some(Endpoint::parse("http://127.0.0.1:4318").unwrap()));
    assert_eq!(header("x-key"), OtlpHeader::Text("k".into()));
    assert_eq!(header("authorization"), OtlpHeader::Secret(Secret::Env("OTLP_AUTHORIZATION".into())));
    assert_eq!(header("x-file"), OtlpHeader::Secret(Secret::File("/srv/key".into())));
    assert_eq!(config.server.otlp_ratio, Some(0.5));
    assert!(config.tools.enabled && !parse("").unwrap().tools.enabled);
    let fetch = Fetch { ca_file: Some("/srv/ca.pem".into()), min_period: Some(Duration::from_secs(5)) };
    assert_eq!((config.fetch, parse("").unwrap().fetch), (fetch, Fetch::default()));
    assert_eq!(config.server.watch, Some(crate::config::Watch::Poll));
    let [notes, log] = config.resources.as_slice() else { panic!("two resources") };
    assert_eq!((notes.uri.as_deref(), &notes.content), (Some("notes://today"), &Content::Text("hello".into())));
    assert_eq!((notes.size, notes.priority, notes.last_modified), (Some(5), Some(0.5), Some(1_795_996_800_000)));
    assert_eq!(notes.icons[0].theme, Some(super::super::Theme::Dark));
    assert_eq!((&log.content, log.last_modified), (&Content::File("/srv/log.txt".into()), notes.last_modified));
    let [review, handbook] = config.providers.as_slice() else { panic!("two providers") };
    assert!(review.required && !handbook.required);
    assert_eq!(review.path.as_deref(), Some(Path::new("/srv/elsewhere/review.wasm")));
    assert_eq!((review.claims.as_slice(), review.public), (["test://".to_owned()].as_slice(), true));
    let settings: Vec<_> = review.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        settings,
        [
            ("db.host", "localhost"),
            ("db.pool.size", "1.5"),
            ("delay-seconds", "5"),
            ("list", r#"["a",1,{"b":true}]"#),
            ("updated-status", "reviewed")
        ]
    );
    assert_eq!(review.limits, Limits { memory: Some(128 << 20), deadline: Some(Duration::from_millis(1500)), instances: NonZero::new(3) });
    let folder = |host: &str, guest: &str, write| Folder { host: host.into(), guest: guest.into(), write };
    assert_eq!(review.grants.folders, [folder("/srv/repo", "/repo", false), folder("/tmp", "/", true)]);
    assert_eq!(review.grants.hosts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["api.github.com", "*.example.org:8443"]);
    let variable = |name: &str, value| Variable { name: name.into(), value };
    let env = [
        variable("TOKEN", Secret::Env("TOKEN".into())),
        variable("KEY", Secret::File("/srv/key.txt".into())),
        variable("OTHER", Secret::Env("NAME".into())),
    ];
    assert_eq!(review.grants.env, env);
    let hooks = [
        Webhook { name: "open".into(), signed: None, queue: false },
        Webhook {
            name: "github".into(),
            signed: Some(Signed { signature: Signature::Github, secret: Secret::Env("HOOK".into()) }),
            queue: true,
        },
        Webhook {
            name: "own".into(),
            signed: Some(Signed { signature: Signature::Header("x-sig".into()), secret: Secret::File("/srv/hook.txt".into()) }),
            queue: false,
        },
    ];
    assert_eq!((&*review.grants.webhooks, review.grants.state), (&hooks[..], Some(4 << 20)));
    assert!(review.expose_state.shows("build/main") && !review.expose_state.shows("token"));
    assert!(handbook.grants.is_empty() && handbook.expose_state.shows("anything"));
    assert_eq!(handbook.limits, Limits { memory: Some(64 << 20), ..Limits::default() }, "what it does not say, [limits] says");
}

#[test]
fn what_is_wrong_is_shown_with_its_line() {
    for (text, line, word) in [
        ("[server]\nhtp = \"a\"", "2 | htp", "did you mean `http`?"),
        ("[server]\nhttp = \"nowhere\"", "2 | http", "invalid socket address"),
        ("[server]\ntls = { certificate = \"a\" }", "2 | tls", "missing field `key`"),
        ("[server]\nshutdown-time = \"0s\"", "2 | shutdown-time", "more than nothing"),
        ("[tools]\nenable = true", "2 | enable", "did you mean `enabled`?"),
        ("[servers]", "1 | [servers]", "did you mean `server`?"),
        ("[[provider]]\nname = \"a\"\nsetings = {}", "3 | setings", "did you mean `settings`?"),
        ("[[provider]]\nname = \"a\"\nzzzz = []", "3 | zzzz", "unknown field `zzzz`, expected one of"),
        ("[[provider]]\nname = 1", "2 | name", "invalid type"),
        ("[[provider]]\npath = \"a\"", "1 | [[provider]]", "missing field `name`"),
        ("[[provider]]\nname = \"a\"\n[[provider]]\nname = \"a\"", "4 | name", "there are two providers named \"a\""),
        ("[[provider]]\nname = \"a/b\"", "2 | name", "is no name for a provider"),
        ("[[provider]]\nname = \"a\"\nlimits = { memory = \"many\" }", "3 | limits", "\"many\" is no size"),
        ("[[provider]]\nname = \"a\"\nlimits = { deadline = \"soon\" }", "3 | limits", "\"soon\" is no duration"),
        ("[[provider]]\nname = \"a\"\nlimits = { deadline = \"0s\" }", "3 | limits", "more than nothing"),
        ("[[provider]\n", "1 | [[provider]", ""),
        ("[[resource]]\nname = \"a\"", "2 | name", "either `text` or `file`"),
        ("[[resource]]\nname = \"a\"\ntext = \"\"\nfile = \"\"", "2 | name", "either `text` or `file`"),
        ("[[resource]]\nname = \"a\"\ntext = \"\"\nuri = \"no uri\"", "4 | uri", "\"no uri\" is no resource URI"),
        ("[[resource]]\nname = \"a\"\ntext = \"\"\n[[resource]]\nname = \"a\"\ntext = \"\"", "5 | name", "two resources named \"a\""),
        ("[[resource]]\nname = \"\"\ntext = \"\"", "2 | name", "needs a name"),
        ("[[resource]]\nname = \"a\"\ntext = \"\"\nannotations = { priority = 2.0 }", "2 | name", "not from 0.0 to 1.0"),
        (
            "[[resource]]\nname = \"a\"\ntext = \"\"\nannotations = { last-modified = \"now\" }",
            "4 | annotations",
            "\"now\" is no point in time",
        ),
        (&granting("folder = []"), "3 | grants", "did you mean `folders`?"),
        (&granting("hosts = [\"https://a.example\"]"), "3 | grants", "it has a scheme"),
        (&granting("folders = [{ host = \"a\", guest = \"b\" }]"), "2 | name", "an absolute path"),
        (&granting("folders = [{ host = \"a\", guest = \"/b/../c\" }]"), "2 | name", "an absolute path"),
        (&granting("folders = [{ host = \"a\", guest = \"/b\" }, { host = \"c\", guest = \"/b/\" }]"), "2 | name", "two folders"),
        (&granting("folders = [{ host = \"a\", guest = \"/b\", rite = true }]"), "3 | grants", "did you mean `write`?"),
        (&granting("env = [\"A=B\"]"), "2 | name", "no name for a variable"),
        (&granting("env = [\"A\", { A = { env = \"B\" } }]"), "2 | name", "two variables A"),
        (&granting("webhooks = [{ name = \"a\", signature = \"github\" }]"), "2 | name", "needs a secret"),
        (&granting("webhooks = [{ name = \"a\", secret = { env = \"A\" } }]"), "2 | name", "needs a signature"),
        (&granting("webhooks = [{ name = \"a/b\" }]"), "2 | name", "no name for a webhook"),
        (&granting("webhooks = [{ name = \"a\" }, { name = \"a\" }]"), "2 | name", "two webhooks"),
        (&granting("webhooks = [{ name = \"a\", header = \"X\" }]"), "2 | name", "has a use for"),
        (
            &granting("webhooks = [{ name = \"a\", signature = \"header\", secret = { env = \"A\" } }]"),
            "2 | name",
            "needs the name of the header",
        ),
        (&granting("state = 0"), "3 | grants", "more than nothing"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(line) && error.contains(word), "{text}\n{error}");
    }
}

#[test]
fn ten_thousand_resources_are_read() {
    let text: String = (0..10_000).map(|n| format!("[[resource]]\nname = \"r{n}\"\ntext = \"{n}\"\n")).collect();
    assert_eq!(parse(&text).unwrap().resources.len(), 10_000);
}

#[test]
fn the_schema_knows_every_key_the_parser_knows() {
    let schema = schema().to_string();
    for key in
        ["loading-time", "watch", "allowed-origins", "mime-type", "last-modified", "claims", "public", "deadline", "settings", "file"]
    {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
    assert!(schema.contains("\"additionalProperties\":false"), "and that there are no others");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Config::read(Path::new("/nowhere/wharf.toml")).unwrap_err().to_string();
    assert!(error.contains("/nowhere/wharf.toml"), "{error}");
}
