//! The plugins folder: which providers there are, in which order, and their loading.
//!
//! Order is precedence: first the providers that wharf.toml names, in its order, then the other `.wasm` files of the folder by name. A file
//! that wharf.toml speaks of, by path or by a provider's name, is not loaded a second time. A provider that cannot be loaded keeps no other
//! from it.

mod factory;
mod keeper;
mod loader;
mod report;
mod standing;
pub mod watch;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use loader::Loader;
pub use report::{Fate, Loaded, Report, Timings};
pub use standing::{Progress, Standing};

use crate::{
    catalog::Rules,
    config::{
        self, Auth, Config, Trust,
        grants::{Grants, Secret},
    },
    provider::{
        grants::{files::Guarded, store::Stores},
        wasm::{CacheFolder, Limits, Spec},
    },
};

/// A provider that is to be loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Name, settings and limits.
    pub spec: Spec,
    /// Claims, and whether it is public.
    pub rules: Rules,
    /// The component.
    pub path: PathBuf,
    /// Whether the host is not ready without it.
    pub required: bool,
}

/// What there is to be loaded, in order, and what there is to be said about the folder.
#[derive(Debug, Default)]
pub struct Plan {
    /// In order.
    pub providers: Vec<Planned>,
    /// Files that are no providers because of their name: the file, and why.
    pub misnamed: Vec<(PathBuf, String)>,
    /// Files of the folder that are not loaded because wharf.toml has another file for a provider of their name: the file, and why.
    pub passed_over: Vec<(PathBuf, String)>,
    /// Why the folder could not be read, if it could not.
    pub unreadable: Option<std::io::Error>,
}

impl Plan {
    /// What the configuration alone names. A provider without a path is looked for in the current folder.
    pub fn of_config(config: &Config) -> Self {
        Self::named(Path::new(""), config).0
    }

    /// Looks into the folder and the configuration.
    pub fn new(folder: &Path, config: &Config) -> Self {
        match components(folder) {
            Ok(files) => Self::of_files(folder, files, config),
            Err(error) => Self { unreadable: Some(error), ..Self::of_files(folder, Vec::new(), config) },
        }
    }

    /// With these files in the folder.
    pub fn of_files(folder: &Path, files: impl IntoIterator<Item = PathBuf>, config: &Config) -> Self {
        let (mut plan, named) = Self::named(folder, config);
        for path in files {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let really = real(&path);
            if let Some(other) = named.get(&stem).filter(|other| **other != really) {
                let why = format!("wharf.toml has {} for the provider {stem}; rename this file, or remove it", other.display());
                plan.passed_over.push((path, why));
                continue;
            }
            if named.values().any(|named| *named == really) {
                continue;
            }
            match config::check_name(&stem) {
                Err(reason) => plan.misnamed.push((path, format!("{reason}; rename the file, or name it in wharf.toml"))),
                Ok(()) => {
                    let spec = Spec { limits: limits(&config.limits), ..Spec::new(stem) };
                    plan.providers.push(Planned { spec, rules: Rules::default(), path, required: false });
                }
            }
        }
        plan
    }

    /// The providers of the configuration, and where the file of each really is.
    fn named(folder: &Path, config: &Config) -> (Self, HashMap<String, PathBuf>) {
        let mut plan = Self::default();
        let mut named = HashMap::new();
        let guarded = Arc::new(guarded(folder, config));
        for provider in &config.providers {
            let path = path_of(folder, provider);
            named.insert(provider.name.clone(), real(&path));
            let limits = limits(&provider.limits);
            let spec = Spec {
                settings: provider.settings.clone(),
                limits,
                grants: Arc::new(provider.grants.clone()),
                expose: provider.expose_state.clone(),
                // One that has no folder need not be loaded again when another has.
                guarded: if provider.grants.folders.is_empty() { Arc::default() } else { guarded.clone() },
                ..Spec::new(provider.name.as_str())
            };
            let rules = Rules { claims: provider.claims.clone(), public: provider.public };
            plan.providers.push(Planned { spec, rules, path, required: provider.required });
        }
        (plan, named)
    }
}

/// The file of a provider that the configuration names.
pub fn path_of(folder: &Path, provider: &config::Provider) -> PathBuf {
    provider.path.clone().unwrap_or_else(|| folder.join(&provider.name).with_added_extension("wasm"))
}

/// What the rights of these providers rest on.
pub(crate) fn guarded(folder: &Path, config: &Config) -> Guarded {
    let grants = || config.providers.iter().map(|provider| &provider.grants);
    let mut written: Vec<PathBuf> =
        grants().flat_map(|grants| &grants.folders).filter(|folder| folder.write).map(|at| at.host.clone()).collect();
    // Whoever brought a folder with a wharf.toml that nobody chose has brought the links in it, too.
    let brought = config.file.as_deref().filter(|_| config.unchosen).map(|file| file.parent().unwrap_or(Path::new("")).join("."));
    written.extend(brought);
    if written.is_empty() {
        return Guarded::default();
    }
    let secret = |secret: &Secret| match secret {
        Secret::File(path) => Some(path.clone()),
        Secret::Env(_) => None,
    };
    let secrets = |grants: &Grants| {
        let signed = grants.webhooks.iter().filter_map(|webhook| webhook.signed.as_ref()).map(|signed| &signed.secret);
        grants.env.iter().map(|variable| &variable.value).chain(signed).filter_map(secret).collect::<Vec<_>>()
    };
    let cache = match CacheFolder::from_environment() {
        CacheFolder::At(folder) => Some(folder),
        CacheFolder::Off => None,
    };
    let mut paths: Vec<PathBuf> = config.file.iter().cloned().collect();
    // Without one, components are looked for in the current folder, each by its own path.
    paths.extend((!folder.as_os_str().is_empty()).then(|| folder.to_owned()));
    paths.extend(config.providers.iter().map(|provider| path_of(folder, provider)));
    paths.extend(grants().flat_map(secrets));
    paths.extend(config.fetch.ca_file.clone());
    // Else it could let in whom it likes, or be the host for its clients.
    let beside = config.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    paths.extend((config.server.auth == Some(Auth::Tokens)).then(|| config.server.tokens_file(beside)));
    paths.extend(config.server.tls.iter().flat_map(|tls| [tls.certificate.clone(), tls.key.clone()]));
    paths.extend(cache.into_iter().chain(Stores::folder_of_user()).chain(Trust::of_user().ok().map(Trust::into_path)));
    Guarded { paths, written }
}

fn limits(config: &config::Limits) -> Limits {
    let limits = Limits::default();
    Limits {
        memory: config.memory.unwrap_or(limits.memory),
        deadline: config.deadline.unwrap_or(limits.deadline),
        instances: config.instances.map_or(limits.instances, |instances| instances.get().into()),
    }
}

/// The folder's `.wasm` files, by name.
fn components(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(watch::is_component) && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// One name for one file, whatever links lead to it.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        folder
    }

    fn config(folder: &Path, text: &str) -> Config {
        let file = folder.join("wharf.toml");
        std::fs::write(&file, text).unwrap();
        Config::read(&file).unwrap()
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.providers.iter().map(|planned| &*planned.spec.name).collect()
    }

    #[test]
    fn files_of_the_folder_come_by_name() {
        let folder = folder(&["b.wasm", "a.wasm", ".hidden.wasm", "c.txt", "d.wasm.tmp", "e"]);
        std::fs::create_dir(folder.path().join("f.wasm")).unwrap();
        assert_eq!(names(&Plan::new(folder.path(), &Config::default())), ["a", "b"]);
    }

    #[test]
    fn what_wharf_toml_names_comes_first_in_its_order_and_only_once() {
        let folder = folder(&["a.wasm", "b.wasm", "c.wasm", "d.wasm"]);
        let text = "[[provider]]\nname = \"d\"\n[[provider]]\nname = \"other\"\npath = \"b.wasm\"\n[[provider]]\nname = \"c\"\npath = \"/elsewhere.wasm\"";
        let plan = Plan::new(folder.path(), &config(folder.path(), text));
        assert_eq!(names(&plan), ["d", "other", "c", "a"]);
        assert_eq!(plan.providers[0].path, folder.path().join("d.wasm"));
        assert_eq!(
            plan.passed_over[0].0,
            folder.path().join("c.wasm"),
            "and one that is another file of that name is said to be passed over"
        );
    }

    #[test]
    fn limits_and_settings_are_those_of_wharf_toml() {
        let folder = folder(&["a.wasm"]);
        let text = "[[provider]]\nname = \"a\"\n[provider.settings]\nb = 1\n[provider.limits]\nmemory = \"1MiB\"";
        let plan = Plan::new(folder.path(), &config(folder.path(), text));
        let spec = &plan.providers[0].spec;
        assert_eq!((spec.limits.memory, spec.limits.deadline), (1 << 20, Limits::default().deadline));
        assert_eq!(spec.settings["b"], "1");
    }

    #[test]
    fn what_rights_rest_on_is_guarded_from_whoever_may_write() {
        let folder = folder(&["a.wasm"]);
        let at = |name: &str| folder.path().join(name);
        let text = |write: bool| {
            format!(
                "[fetch]\nca-file = \"ca.pem\"\n[[provider]]\nname = \"a\"\n[provider.grants]\nfolders = [{{ host = \"data\", guest = \"/d\", \
                 write = {write} }}]\nenv = [{{ K = {{ file = \"key\" }} }}]\n[[provider]]\nname = \"b\"\npath = \"other/b.wasm\"\n[provider.grants]\n\
                 webhooks = [{{ name = \"h\", signature = \"github\", secret = {{ file = \"hook\" }} }}]\n"
            )
        };
        let guarded = Plan::new(&at("plugins"), &config(folder.path(), &text(true))).providers[0].spec.guarded.clone();
        for path in ["wharf.toml", "plugins", "plugins/a.wasm", "other/b.wasm", "key", "hook", "ca.pem"] {
            assert!(guarded.paths.contains(&at(path)), "{path}: {guarded:?}");
        }
        assert_eq!(guarded.written, [at("data")]);
        let plan = Plan::new(&at("plugins"), &config(folder.path(), &text(true)));
        assert!(!plan.providers[1].spec.guarded.any(), "one without folders is none of it");
        assert!(!Plan::new(&at("plugins"), &config(folder.path(), &text(false))).providers[0].spec.guarded.any());
    }

    #[test]
    fn a_file_whose_name_is_no_name_is_said_to_be() {
        let folder = folder(&["my plugin.wasm"]);
        let plan = Plan::new(folder.path(), &Config::default());
        assert!(plan.providers.is_empty() && plan.misnamed[0].1.contains("rename the file"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_said_to_be() {
        assert!(Plan::new(Path::new("/nowhere"), &Config::default()).unreadable.is_some());
    }

    #[test]
    fn what_lets_clients_in_and_what_the_host_is_known_by_is_out_of_reach_of_providers_that_write() {
        let text = "[server]\nauth = \"tokens\"\ntls = { certificate = \"cert.pem\", key = \"key.pem\" }\n[[provider]]\nname = \"a\"\n\
             [provider.grants]\nfolders = [{ host = \"out\", guest = \"/out\", write = true }]\n";
        let mut config = Config::parse(text, Path::new("/srv")).unwrap();
        config.file = Some("/srv/wharf.toml".into());
        let paths = guarded(Path::new("/srv/plugins"), &config).paths;
        for path in ["/srv/tokens.toml", "/srv/cert.pem", "/srv/key.pem", "/srv/wharf.toml"] {
            assert!(paths.iter().any(|guarded| guarded == Path::new(path)), "{path}: {paths:?}");
        }
    }
}
