//! `ci`: the build status of each branch, as GitHub Actions and GitLab tell it by webhook, or as their APIs say when they are polled.
//!
//! `ci://octo-org/octo-repo?branch=main` is JSON, or Markdown with the setting `format = "markdown"`; `ci://octo-org/octo-repo` has all branches
//! in short. What was heard is kept in the store, if one is granted. README.md says how it is set up.

mod board;
mod payload;
mod poll;
mod uri;

use std::collections::{BTreeMap, BTreeSet};

use wharf_provider::{
    Entry, Error, Provide, Provider, Reading, Request, Result, Reuse, Suggestions, Variables, announce, export, settings, store,
    webhooks::{WebhookRequest, WebhookResponse},
};

use self::{
    board::{Board, Branch},
    payload::News,
    uri::Key,
};

/// What keys in the store begin with; a URI follows.
const KEPT: &str = "branch ";

#[derive(Default)]
struct Ci {
    board: Board,
    markdown: bool,
    /// Only these, if there are some.
    projects: Vec<String>,
    keeps: bool,
    /// What somebody subscribed to, however it is spelled.
    subscribed: BTreeMap<String, Key>,
}

impl Provide for Ci {
    /// What was kept is read, what is to be polled is begun.
    fn provider() -> Result<Provider<Self>> {
        let ci = Ci::begin();
        let mime_type = if ci.markdown { "text/markdown" } else { "application/json" };
        let mut provider = Provider::new(ci);
        provider.list_reuse(Reuse::UntilAnnounced).any_webhook(Ci::receive);
        provider
            .template("ci://{+project}{?branch}")
            .name("build status")
            .title("Build status of a branch")
            .describe("project: owner/name as GitHub or GitLab has it. branch: its name; without it, all branches in short.")
            .mime_type(mime_type)
            .list(Ci::list)
            .complete("project", |ci, typed, _| Ok(ci.suggestions(typed, |(project, _)| Some(project))))
            .complete("branch", Ci::branches)
            // Also of a branch that was not built yet.
            .on_subscribe(|ci, request| {
                ci.subscribed.insert(request.uri().to_owned(), key(request)?);
                Ok(())
            })
            .on_unsubscribe(|ci, request| {
                ci.subscribed.remove(request.uri());
            })
            .read(Ci::read);
        poll::begin();
        Ok(provider)
    }
}

impl Ci {
    fn begin() -> Self {
        let mut ci = Self { markdown: settings::get("format").as_deref() == Some("markdown"), ..Self::default() };
        ci.projects = texts("projects");
        match store::keys(KEPT) {
            Ok(keys) => {
                ci.keeps = true;
                for key in keys {
                    let kept = store::get(&key).ok().flatten().and_then(|value| serde_json::from_slice::<Branch>(&value).ok());
                    if let (Some(kept), Some((project, Some(branch)))) = (kept, uri::parse(&key[KEPT.len()..])) {
                        ci.board.branches.insert((project, branch), kept);
                    }
                }
            }
            // Without a grant for it nothing is kept, which is fine.
            Err(Error::Denied(_)) => {}
            Err(error) => eprintln!("nothing is kept: {error:?}"),
        }
        ci
    }

    fn list(&mut self) -> Result<Vec<Entry>> {
        // Nothing that changes with each run: the list is the same as long as the branches are.
        let branches = self.board.branches.keys();
        let projects: BTreeSet<&String> = branches.clone().map(|(project, _)| project).collect();
        let projects =
            projects.into_iter().map(|project| Entry::new([("project", project)]).name(project).describe("Build status of all branches"));
        let branches = branches.map(|(project, branch)| {
            Entry::new([("project", project), ("branch", branch)])
                .name(format!("{project} {branch}"))
                .describe("Build status of the branch's newest commit, and the last run of each workflow")
        });
        Ok(projects.chain(branches).collect())
    }

    fn read(&mut self, request: &Request) -> Result<Reading> {
        let (project, branch) = key(request)?;
        let text = match branch {
            None => self.board.overview(&project, self.markdown).ok_or(Error::NotFound)?,
            Some(branch) => {
                let key = (project, branch);
                let branch = self.board.branches.get(&key).ok_or(Error::NotFound)?;
                if self.markdown { branch.markdown(&key.0, &key.1) } else { branch.json(&key.0, &key.1) }
            }
        };
        Ok(Reading::new(text).until_announced())
    }

    /// Those of the project that is filled in already, if one is.
    fn branches(&mut self, typed: &str, known: &Variables) -> Result<Suggestions> {
        let wanted = known.get("project");
        Ok(self.suggestions(typed, |(project, branch)| wanted.is_none_or(|wanted| wanted == project).then_some(branch)))
    }

    fn suggestions(&self, typed: &str, of: impl Fn(&(String, String)) -> Option<&String>) -> Suggestions {
        let found: BTreeSet<&String> = self.board.branches.keys().filter_map(of).collect();
        Suggestions::beginning_with(typed, found)
    }

    fn receive(&mut self, request: WebhookRequest) -> WebhookResponse {
        let news = match (request.header("x-github-event"), request.header("x-gitlab-event")) {
            (Some(event), _) => payload::github(event, &request.body),
            (None, Some(_)) => payload::gitlab(&request.body),
            (None, None) => {
                Err("neither X-GitHub-Event nor X-Gitlab-Event: send webhooks of GitHub (content type application/json) or GitLab".into())
            }
        };
        match news {
            Ok(news) => {
                news.into_iter().for_each(|news| self.hear(news));
                WebhookResponse::status(204)
            }
            Err(wrong) => WebhookResponse::status(400).body(wrong),
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Run { project, branch, title, run } => {
                if !self.wants(&project) {
                    return;
                }
                let Some(change) = self.board.take(project, branch, title, *run) else { return };
                if let Some(went) = &change.went {
                    self.forget(went);
                }
                self.keep(&change.key);
                self.announce(&change.key);
                if change.came {
                    announce::list_changed();
                }
            }
            News::Gone { project, branch } => {
                let key = (project, branch);
                if self.board.branches.remove(&key).is_some() {
                    self.forget(&key);
                }
            }
        }
    }

    fn wants(&self, project: &str) -> bool {
        self.projects.is_empty() || self.projects.iter().any(|wanted| wanted.eq_ignore_ascii_case(project))
    }

    fn keep(&self, key: &(String, String)) {
        if !self.keeps {
            return;
        }
        let value = self.board.branches.get(key).and_then(|branch| serde_json::to_vec(branch).ok()).unwrap_or_default();
        if let Err(error) = store::set(&kept(key), value) {
            eprintln!("{} is not kept: {error:?}", kept(key));
        }
    }

    fn forget(&self, key: &(String, String)) {
        if self.keeps {
            let _ = store::remove(&kept(key));
        }
        self.announce(key);
        announce::list_changed();
    }

    fn announce(&self, (project, branch): &(String, String)) {
        let keys = [(project.clone(), Some(branch.clone())), (project.clone(), None)];
        let listed = keys.iter().map(uri::of);
        let others = self.subscribed.iter().filter(|(_, key)| keys.contains(key)).map(|(uri, _)| uri.clone());
        announce::updated(listed.chain(others).collect::<BTreeSet<_>>());
    }
}

/// The setting, which is a JSON array of strings.
fn texts(name: &str) -> Vec<String> {
    let Some(given) = settings::get(name) else { return Vec::new() };
    serde_json::from_str(&given).unwrap_or_else(|_| {
        eprintln!("the setting {name} is not a list of strings: it is ignored");
        Vec::new()
    })
}

/// Where it is in the store.
fn kept((project, branch): &(String, String)) -> String {
    format!("{KEPT}{}", uri::of(&(project.clone(), Some(branch.clone()))))
}

/// What a URI asks for.
fn key(request: &Request) -> Result<Key> {
    let (project, branch) = (request.variable("project"), request.given("branch"));
    if project.is_empty() || branch == Some("") {
        return Err(Error::NotFound);
    }
    Ok((project.to_owned(), branch.map(str::to_owned)))
}

export!(Ci: subscriptions, completions, fetch, webhooks);
