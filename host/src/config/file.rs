//! The file as it is written, and what is made of it.

use std::{
    collections::{BTreeMap, HashSet},
    num::NonZeroU16,
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::{
    Audience, Config, Content, Fetch, Icon, Limits, Provider, Resource, Server, TlsFiles, Tools, check_name,
    grants::{ExposeValue, GrantsTable},
    otlp, report, units,
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
    /// How many instances there may be of it, if it exports neither `subscriptions` nor a handler; as many as there are processors if it is
    /// not set.
    instances: Option<NonZeroU16>,
}

impl LimitsTable {
    /// What it says, and else what the other does.
    fn or(self, other: Self) -> Limits {
        Limits {
            memory: self.memory.or(other.memory),
            deadline: self.deadline.or(other.deadline),
            instances: self.instances.or(other.instances),
        }
    }
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
        if let Some(tokens) = &mut server.tokens {
            tokens.file = tokens.file.take().map(|path| folder.join(path));
        }
        server.check_auth()?;
        otlp::below(&mut server.otlp_headers, folder);
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
            let limits = own.or(limits);
            let grants = grants.check(folder).map_err(|reason| report::at(text, &span, &reason))?;
            let expose_state = expose_state.map_or_else(Default::default, Into::into);
            providers.push(Provider { name, path, settings: flatten(settings), claims, public, required, limits, grants, expose_state });
        }
        let limits = limits.or(LimitsTable::default());
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
mod tests;
