//! The file as it is written, and what is made of it.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::{
    Audience, Config, Content, Fetch, Icon, Limits, Provider, Resource, Server, TlsFiles, Tools, check_name,
    grants::{ExposeValue, GrantsTable},
    report, units,
};

/// The settings of a Wharf host.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct File {
    /// Where the host listens, and to whom.
    #[serde(default)]
    server: Server,
    /// The resources as tools, for clients that know tools only.
    #[serde(default)]
    tools: Tools,
    /// How the host asks over HTTP for providers that have a grant for it.
    #[serde(default)]
    fetch: Fetch,
    /// What providers may use, unless their own limits say otherwise.
    #[serde(default)]
    limits: LimitsTable,
    /// Resources that the host itself has. They go before all providers.
    #[serde(default)]
    resource: Vec<ResourceTable>,
    /// Providers with settings, limits or a place in the order. They go before the other files of the plugins folder.
    #[serde(default)]
    provider: Vec<ProviderTable>,
}

/// A resource that the host itself has; with either `text` or `file`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ResourceTable {
    /// Its name, no two alike.
    #[schemars(with = "String")]
    name: Spanned<String>,
    /// Its URI; `wharf://resource/<name, percent-encoded>` if it is not set.
    #[schemars(with = "Option<String>")]
    uri: Option<Spanned<String>>,
    /// Name for people.
    title: Option<String>,
    /// What it is, for the model to decide whether to read it.
    description: Option<String>,
    /// Media type of its content; for a file without it, text/plain or application/octet-stream.
    mime_type: Option<String>,
    /// Bytes of its content.
    size: Option<u64>,
    /// Hints for the client.
    #[serde(default)]
    annotations: AnnotationsTable,
    /// Icons a client may show.
    #[serde(default)]
    icons: Vec<Icon>,
    /// What it says.
    text: Option<String>,
    /// The file that has what it says, read at each request.
    file: Option<PathBuf>,
}

/// Hints for the client.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct AnnotationsTable {
    /// For whom it is meant.
    audience: Option<Vec<Audience>>,
    /// From 0.0, entirely optional, to 1.0, effectively required.
    #[schemars(range(min = 0.0, max = 1.0))]
    priority: Option<f64>,
    /// When it last changed: `2026-11-30T12:00:00Z`.
    #[serde(default, deserialize_with = "units::timestamp")]
    #[schemars(with = "Option<String>")]
    last_modified: Option<u64>,
}

/// A provider with settings, limits or a place in the order.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ProviderTable {
    /// Its name, no two alike.
    #[schemars(with = "String")]
    name: Spanned<String>,
    /// The component; `<plugins folder>/<name>.wasm` if it is not set.
    path: Option<PathBuf>,
    /// What its `settings` import, and `wasi:config`, answer.
    #[serde(default)]
    #[schemars(with = "std::collections::HashMap<String, serde_json::Value>")]
    settings: Table,
    /// Beginnings of URIs that no other provider may have.
    #[serde(default)]
    claims: Vec<String>,
    /// Whether what it says is the same for everyone, so that caches may share it.
    #[serde(default)]
    public: bool,
    /// Whether `/readyz` says that the host is not ready as long as this one does not serve.
    #[serde(default)]
    required: bool,
    /// What it may use.
    #[serde(default)]
    limits: LimitsTable,
    /// What it may do besides answering. Holds only in a file that the user chose: by `--config`, or by `wharf trust`.
    #[serde(default)]
    grants: GrantsTable,
    /// Which keys of its shared state clients see: all if it is not set, none, or those that match a pattern with `*`.
    expose_state: Option<ExposeValue>,
}

/// What a provider may use.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LimitsTable {
    /// Of all its memories together, in bytes or as `128MiB`; 256MiB if it is not set.
    #[serde(default, deserialize_with = "units::bytes")]
    #[schemars(with = "Option<units::Size>")]
    memory: Option<u64>,
    /// For each call, as `2s` or `500ms`; 5s if it is not set.
    #[serde(default, deserialize_with = "units::duration")]
    #[schemars(with = "Option<String>")]
    deadline: Option<Duration>,
}

/// The JSON schema of wharf.toml, for editors.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(File).into()
}

impl File {
    pub(super) fn parse(text: &str, folder: &Path) -> Result<Config, String> {
        let Self { mut server, tools, mut fetch, limits, resource, provider } =
            toml::from_str(text).map_err(|error| report::with_nearest_key(&error.to_string()))?;
        server.plugins = server.plugins.map(|path| folder.join(path));
        server.tls =
            server.tls.map(|TlsFiles { certificate, key }| TlsFiles { certificate: folder.join(certificate), key: folder.join(key) });
        fetch.ca_file = fetch.ca_file.map(|path| folder.join(path));
        let mut names = HashSet::new();
        let mut resources = Vec::with_capacity(resource.len());
        for table in resource {
            if !names.insert(table.name.get_ref().clone()) {
                return Err(report::at(text, &table.name.span(), &format!("there are two resources named {:?}", table.name.get_ref())));
            }
            resources.push(table.check(text, folder)?);
        }
        names.clear();
        let mut providers = Vec::with_capacity(provider.len());
        for ProviderTable { name, path, settings, claims, public, required, limits: own, grants, expose_state } in provider {
            let span = name.span();
            let name = name.into_inner();
            if let Err(reason) = check_name(&name) {
                return Err(report::at(text, &span, &reason));
            }
            if !names.insert(name.clone()) {
                return Err(report::at(text, &span, &format!("there are two providers named {name:?}")));
            }
            let path = path.map(|path| folder.join(path));
            let limits = Limits { memory: own.memory.or(limits.memory), deadline: own.deadline.or(limits.deadline) };
            let grants = grants.check(folder).map_err(|reason| report::at(text, &span, &reason))?;
            let expose_state = expose_state.map_or_else(Default::default, Into::into);
            providers.push(Provider { name, path, settings: flatten(settings), claims, public, required, limits, grants, expose_state });
        }
        let limits = Limits { memory: limits.memory, deadline: limits.deadline };
        Ok(Config { server, tools, fetch, resources, providers, limits, file: None, unchosen: false })
    }
}

impl ResourceTable {
    fn check(self, text: &str, folder: &Path) -> Result<Resource, String> {
        let span = self.name.span();
        let name = self.name.into_inner();
        let content = match (self.text, self.file) {
            (Some(text), None) => Content::Text(text),
            (None, Some(file)) => Content::File(folder.join(file)),
            _ => return Err(report::at(text, &span, &format!("the resource {name:?} needs either `text` or `file`"))),
        };
        if name.is_empty() {
            return Err(report::at(text, &span, "a resource needs a name"));
        }
        if let Some(priority) = self.annotations.priority.filter(|priority| !(0.0..=1.0).contains(priority)) {
            return Err(report::at(text, &span, &format!("the priority of {name:?} is {priority}, not from 0.0 to 1.0")));
        }
        if let Some(uri) = &self.uri
            && let Err(reason) = crate::uri::check(uri.get_ref())
        {
            return Err(report::at(text, &uri.span(), &format!("{:?} is no resource URI: {reason}", uri.get_ref())));
        }
        let AnnotationsTable { audience, priority, last_modified } = self.annotations;
        Ok(Resource {
            name,
            uri: self.uri.map(Spanned::into_inner),
            title: self.title,
            description: self.description,
            mime_type: self.mime_type,
            size: self.size,
            audience,
            priority,
            last_modified,
            icons: self.icons,
            content,
        })
    }
}

fn flatten(table: Table) -> BTreeMap<String, String> {
    fn add(flat: &mut BTreeMap<String, String>, name: String, value: Value) {
        match value {
            Value::Table(table) => table.into_iter().for_each(|(key, value)| add(flat, format!("{name}.{key}"), value)),
            Value::String(text) => drop(flat.insert(name, text)),
            other => drop(flat.insert(name, json(other).to_string())),
        }
    }
    let mut flat = BTreeMap::new();
    table.into_iter().for_each(|(key, value)| add(&mut flat, key, value));
    flat
}

/// TOML as JSON; a date becomes a string.
fn json(value: Value) -> serde_json::Value {
    match value {
        Value::String(text) => text.into(),
        Value::Integer(number) => number.into(),
        Value::Float(number) => number.into(),
        Value::Boolean(truth) => truth.into(),
        Value::Datetime(date) => date.to_string().into(),
        Value::Array(items) => items.into_iter().map(json).collect(),
        Value::Table(table) => table.into_iter().map(|(key, value)| (key, json(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::grants::{Folder, Secret, Signature, Signed, Variable, Webhook},
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
        assert_eq!(review.limits, Limits { memory: Some(128 << 20), deadline: Some(Duration::from_millis(1500)) });
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
        assert_eq!(handbook.limits, Limits { memory: Some(64 << 20), deadline: None }, "what it does not say, [limits] says");
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
}
