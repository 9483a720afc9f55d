//! `[provider.grants]` as it is written, and what is made of it, or why it cannot be meant so.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};

use super::{
    super::{check_name, units},
    Expose, Folder, Grants, HostGrant, Secret, Signature, Signed, Variable, Webhook,
};

/// `[provider.grants]`, as it is written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::config) struct GrantsTable {
    /// Folders of this machine that it may read.
    #[serde(default)]
    folders: Vec<FolderTable>,
    /// Whom it may ask over HTTP: `api.example.com`, `*.example.com:8443`, `10.0.0.0/8`. Addresses that are not public must be named.
    #[serde(default, deserialize_with = "hosts")]
    #[schemars(with = "Vec<String>")]
    hosts: Vec<HostGrant>,
    /// Variables of its environment.
    #[serde(default)]
    env: Vec<VariableTable>,
    /// HTTP paths of the host that reach it: `/hooks/<provider>/<name>`, and all below it.
    #[serde(default)]
    webhooks: Vec<WebhookTable>,
    /// Bytes that its store may have, as `4MiB`.
    #[serde(default, deserialize_with = "units::bytes")]
    #[schemars(with = "Option<units::Size>")]
    state: Option<u64>,
}

/// A folder of this machine.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FolderTable {
    /// Where it is; relative to the file's own folder.
    host: PathBuf,
    /// Where the provider finds it: an absolute path.
    guest: String,
    /// Whether the provider may change what is in it.
    #[serde(default)]
    write: bool,
}

/// A variable that the provider finds as the host has it, or one that holds what is in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum VariableTable {
    Same(String),
    Other(std::collections::BTreeMap<String, SecretTable>),
}

/// Where a value is: in a variable of the host's environment, or in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum SecretTable {
    Env(String),
    File(PathBuf),
}

/// An HTTP path of the host that reaches the provider.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct WebhookTable {
    /// Its name: letters, digits, `-`, `_` and `.`.
    name: String,
    /// How its requests are signed; needs a `secret`.
    signature: Option<SignatureName>,
    /// The header with the signature, for `signature = "header"`.
    header: Option<String>,
    /// The secret that they are signed with. The provider does not see it.
    secret: Option<SecretTable>,
    /// Answer 202 at once, and ask the provider later.
    #[serde(default)]
    queue: bool,
}

/// Whose manner of signing.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum SignatureName {
    Github,
    Stripe,
    Gitlab,
    Header,
}

/// `expose-state`, as it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::config) enum ExposeValue {
    All(bool),
    Matching(Vec<String>),
}

impl From<ExposeValue> for Expose {
    fn from(value: ExposeValue) -> Self {
        match value {
            ExposeValue::All(true) => Self::All,
            ExposeValue::All(false) => Self::None,
            ExposeValue::Matching(patterns) => Self::Matching(patterns),
        }
    }
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<HostGrant>, D::Error> {
    let written = Vec::<String>::deserialize(deserializer)?;
    written.iter().map(|text| HostGrant::parse(text).map_err(D::Error::custom)).collect()
}

impl SecretTable {
    fn below(self, folder: &Path) -> Secret {
        match self {
            Self::Env(name) => Secret::Env(name),
            Self::File(path) => Secret::File(folder.join(path)),
        }
    }
}

impl GrantsTable {
    /// With paths from this folder on, or why it cannot be meant so.
    pub(in crate::config) fn check(self, folder: &Path) -> Result<Grants, String> {
        let mut grants = Grants { hosts: self.hosts, state: self.state, ..Grants::default() };
        for FolderTable { host, guest, write } in self.folders {
            let guest = guest_path(&guest)?;
            if grants.folders.iter().any(|other| other.guest == guest) {
                return Err(format!("there are two folders at {guest:?}"));
            }
            grants.folders.push(Folder { host: folder.join(host), guest, write });
        }
        for variable in self.env {
            match variable {
                VariableTable::Same(name) => grants.env.push(Variable { value: Secret::Env(name.clone()), name }),
                VariableTable::Other(table) => {
                    grants.env.extend(table.into_iter().map(|(name, secret)| Variable { name, value: secret.below(folder) }))
                }
            }
        }
        for (at, Variable { name, .. }) in grants.env.iter().enumerate() {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!("{name:?} is no name for a variable"));
            }
            if grants.env[..at].iter().any(|other| other.name == *name) {
                return Err(format!("there are two variables {name}"));
            }
        }
        for webhook in self.webhooks {
            let webhook = webhook.check(folder)?;
            if grants.webhooks.iter().any(|other| other.name == webhook.name) {
                return Err(format!("there are two webhooks named {:?}", webhook.name));
            }
            grants.webhooks.push(webhook);
        }
        Ok(grants)
    }
}

/// An absolute path in the manner of WASI, without what leads elsewhere.
fn guest_path(path: &str) -> Result<String, String> {
    let normal = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    match path.strip_prefix('/') {
        Some("") => Ok("/".into()),
        Some(rest) if rest.trim_end_matches('/').split('/').all(normal) => Ok(path.trim_end_matches('/').to_owned()),
        _ => Err(format!("{path:?} is no place for a folder: write an absolute path such as \"/repo\"")),
    }
}

impl WebhookTable {
    fn check(self, folder: &Path) -> Result<Webhook, String> {
        let Self { name, signature, header, secret, queue } = self;
        check_name(&name)
            .map_err(|_| format!("{name:?} is no name for a webhook: 1 to 64 letters, digits, `-`, `_` and `.`, not `.` first"))?;
        let signed = match (signature, secret) {
            (None, None) => None,
            (Some(signature), Some(secret)) => {
                let signature = match (signature, &header) {
                    (SignatureName::Github, _) => Signature::Github,
                    (SignatureName::Stripe, _) => Signature::Stripe,
                    (SignatureName::Gitlab, _) => Signature::Gitlab,
                    (SignatureName::Header, Some(header)) => Signature::Header(header.to_ascii_lowercase()),
                    (SignatureName::Header, None) => {
                        return Err(format!(
                            "the webhook {name:?} needs the name of the header with its signature: header = \"X-Signature\""
                        ));
                    }
                };
                Some(Signed { signature, secret: secret.below(folder) })
            }
            (Some(_), None) => return Err(format!("the webhook {name:?} needs a secret to check signatures: secret = {{ env = \"…\" }}")),
            (None, Some(_)) => return Err(format!("the webhook {name:?} has a secret, and needs a signature: signature = \"github\"")),
        };
        if let Some(header) = header.filter(|_| !matches!(signed, Some(Signed { signature: Signature::Header(_), .. }))) {
            return Err(format!("the webhook {name:?} names the header {header:?}, which only signature = \"header\" has a use for"));
        }
        Ok(Webhook { name, signed, queue })
    }
}
