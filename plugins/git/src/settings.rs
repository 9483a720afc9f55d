//! `[provider.settings]`: which repositories there are, and under which names.

use std::{path::PathBuf, time::Duration};

/// Where the repository is if nothing is set, and so what a grant should name as `guest`.
const DEFAULT_FOLDER: &str = "/repo";
/// Each has templates of its own, which every lookup passes.
const MAX_REPOSITORIES: usize = 32;
/// A question's time: less than the host's own deadline, after which the instance would be lost.
const DEFAULT_TIME: Duration = Duration::from_secs(3);
const MIN_TIME_MS: u64 = 10;
const MAX_TIME_MS: u64 = 600_000;
const TABLE: &str = "repositories.";

#[derive(Debug, PartialEq, Eq)]
pub struct Settings {
    /// By name.
    pub repositories: Vec<(String, PathBuf)>,
    /// How long one question may take.
    pub time: Duration,
}

impl Settings {
    /// # Errors
    /// What is wrong, and how it should be.
    pub fn parse(all: &[(String, String)]) -> Result<Self, String> {
        let mut repositories = Vec::new();
        let mut time = DEFAULT_TIME;
        for (key, value) in all {
            match key.as_str() {
                "repository" => {
                    let name = value.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                    repositories.push((name.to_owned(), folder(value)?));
                }
                "time-ms" => {
                    let ms = value.parse().ok().filter(|ms| (MIN_TIME_MS..=MAX_TIME_MS).contains(ms));
                    time = Duration::from_millis(
                        ms.ok_or(format!("time-ms = {value}: it takes {MIN_TIME_MS} to {MAX_TIME_MS} milliseconds"))?,
                    );
                }
                key => match key.strip_prefix(TABLE) {
                    Some(name) => repositories.push((name.to_owned(), folder(value)?)),
                    None => return Err(format!("there is no setting {key:?}: the settings are repository, repositories and time-ms")),
                },
            }
        }
        if repositories.is_empty() {
            repositories.push(("repo".into(), DEFAULT_FOLDER.into()));
        }
        if repositories.len() > MAX_REPOSITORIES {
            return Err(format!(
                "there are {} repositories, and at most {MAX_REPOSITORIES} can be served by one provider",
                repositories.len()
            ));
        }
        for (name, _) in &repositories {
            if !is_name(name) {
                return Err(format!(
                    "a repository cannot be called {name:?}, which would not fit into a URI: give it a name of letters, digits, `-`, `_` and `.`, \
                     [provider.settings.repositories] my-name = \"/path\""
                ));
            }
            if repositories.iter().filter(|(other, _)| other == name).count() > 1 {
                return Err(format!("two repositories are called {name:?}"));
            }
        }
        Ok(Self { repositories, time })
    }
}

fn folder(path: &str) -> Result<PathBuf, String> {
    if !path.starts_with('/') {
        return Err(format!("{path:?} is no absolute path: write it as the grant has it in `guest`, \"/repo\" for instance"));
    }
    Ok(path.into())
}

/// What may stand in a URI where the host's name stands in others.
fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=64).contains(&name.len()) && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(all: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::parse(&all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn without_settings_there_is_one_repository_in_the_usual_place() {
        assert_eq!(parse(&[]).unwrap(), Settings { repositories: vec![("repo".into(), "/repo".into())], time: DEFAULT_TIME });
    }

    #[test]
    fn repositories_are_named_after_their_folder_or_by_the_user() {
        let settings = parse(&[("repositories.a", "/x/y"), ("repository", "/srv/wharf/"), ("time-ms", "500")]).unwrap();
        assert_eq!(settings.repositories, [("a".into(), "/x/y".into()), ("wharf".into(), PathBuf::from("/srv/wharf/"))]);
        assert_eq!(settings.time, Duration::from_millis(500));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let many: Vec<(String, String)> = (0..=MAX_REPOSITORIES).map(|n| (format!("repositories.r{n}"), "/r".into())).collect();
        assert!(Settings::parse(&many).unwrap_err().contains("at most 32"));
        for (all, why) in [
            (&[("repository", "repo")][..], "absolute"),
            (&[("repository", "/")], "a name of letters"),
            (&[("repositories.a b", "/x")], "a name of letters"),
            (&[("repositories.x", "/x"), ("repository", "/x")], "two repositories"),
            (&[("time-ms", "0")], "10 to 600000"),
            (&[("time-ms", "soon")], "10 to 600000"),
            (&[("repo", "/x")], "the settings are"),
        ] {
            let error = parse(all).unwrap_err();
            assert!(error.contains(why), "{all:?}: {error}");
        }
    }
}
