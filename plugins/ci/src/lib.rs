//! `ci`: the build status of each branch, as GitHub Actions and GitLab tell it by webhook, or as their APIs say when they are polled.
//!
//! `ci://octo-org/octo-repo?branch=main` is JSON, or Markdown with the setting `format = "markdown"`; `ci://octo-org/octo-repo` has all branches
//! in short. What was heard is kept in the store, if one is granted. README.md says how it is set up.

mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package wharf:ci;
            world ci {
                include wharf:provider/provider@0.1.0;
                import wharf:provider/fetch@0.1.0;
                import wharf:provider/store@0.1.0;
                export wharf:provider/subscriptions@0.1.0;
                export wharf:provider/completions@0.1.0;
                export wharf:provider/fetch-handler@0.1.0;
                export wharf:provider/webhook-handler@0.1.0;
            }
        ",
        generate_all,
    });
}
mod board;
mod payload;
mod poll;
mod uri;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use bindings::{
    exports::wharf::provider::{
        completions::{self, Completion, CompletionRequest},
        fetch_handler::{self, FetchOutcome},
        resources::{self, ReadRequest, Reading},
        subscriptions,
        webhook_handler::{self, WebhookRequest, WebhookResponse},
    },
    wharf::provider::{
        announce, settings, store,
        types::{Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
    },
};

use self::{
    board::{Board, Branch},
    payload::News,
    poll::Source,
    uri::Key,
};

const TEMPLATE: &str = "ci://{+project}{?branch}";
/// What keys in the store begin with; a URI follows.
const KEPT: &str = "branch ";
/// Suggestions that the host passes on.
const SUGGESTIONS: usize = 100;

#[derive(Default)]
struct State {
    board: Board,
    sources: Vec<Source>,
    markdown: bool,
    /// Only these, if there are some.
    projects: Vec<String>,
    keeps: bool,
    /// What somebody subscribed to, however it is spelled.
    subscribed: BTreeMap<String, Key>,
}

thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

/// Begins when it is first asked for something: what was kept is read, what is to be polled is begun.
fn with<T>(work: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(|state| work(state.get_or_insert_with(begin)))
}

fn begin() -> State {
    let mut state = State { markdown: settings::get("format").as_deref() == Some("markdown"), ..State::default() };
    state.projects = texts("projects");
    match store::keys(KEPT) {
        Ok(keys) => {
            state.keeps = true;
            for key in keys {
                let kept = store::get(&key).ok().flatten().and_then(|value| serde_json::from_slice::<Branch>(&value).ok());
                if let (Some(kept), Some((project, Some(branch)))) = (kept, uri::parse(&key[KEPT.len()..])) {
                    state.board.branches.insert((project, branch), kept);
                }
            }
        }
        // Without a grant for it nothing is kept, which is fine.
        Err(Error::Denied(_)) => {}
        Err(error) => eprintln!("nothing is kept: {error:?}"),
    }
    state.sources = poll::begin();
    state
}

/// The setting, which is a JSON array of strings.
fn texts(name: &str) -> Vec<String> {
    let Some(given) = settings::get(name) else { return Vec::new() };
    serde_json::from_str(&given).unwrap_or_else(|_| {
        eprintln!("the setting {name} is not a list of strings: it is ignored");
        Vec::new()
    })
}

impl State {
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
        if let Err(error) = store::set(&kept(key), &value) {
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
        announce::updated(&listed.chain(others).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    }
}

/// Where it is in the store.
fn kept((project, branch): &(String, String)) -> String {
    format!("{KEPT}{}", uri::of(&(project.clone(), Some(branch.clone()))))
}

struct Ci;
bindings::export!(Ci with_types_in bindings);

impl resources::Guest for Ci {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let resources = with(|state| {
            let mime_type = mime_type(state.markdown);
            // Nothing that changes with each run: the list is the same as long as the branches are.
            let info = |key: &Key| ResourceInfo {
                uri: uri::of(key),
                name: key.1.as_ref().map_or_else(|| key.0.clone(), |branch| format!("{} {branch}", key.0)),
                title: None,
                description: Some(match key.1 {
                    Some(_) => "Build status of the branch's newest commit, and the last run of each workflow".into(),
                    None => "Build status of all branches".into(),
                }),
                mime_type: Some(mime_type.into()),
                size: None,
                icons: None,
                annotations: None,
                meta_json: None,
            };
            let projects: BTreeSet<Key> = state.board.branches.keys().map(|(project, _)| (project.clone(), None)).collect();
            let branches = state.board.branches.keys().map(|(project, branch)| (project.clone(), Some(branch.clone())));
            projects.into_iter().chain(branches).map(|key| info(&key)).collect()
        });
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: TEMPLATE.into(),
            name: "build status".into(),
            title: Some("Build status of a branch".into()),
            description: Some(
                "project: owner/name as GitHub or GitLab has it. branch: its name; without it, all branches in short.".into(),
            ),
            mime_type: Some(with(|state| mime_type(state.markdown)).into()),
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let key = uri::parse(&request.uri).ok_or(Error::NotFound)?;
        let text = with(|state| {
            let (project, branch) = key;
            let Some(branch) = branch else { return state.board.overview(&project, state.markdown).ok_or(Error::NotFound) };
            let key = (project, branch);
            let branch = state.board.branches.get(&key).ok_or(Error::NotFound)?;
            Ok(if state.markdown { branch.markdown(&key.0, &key.1) } else { branch.json(&key.0, &key.1) })
        })?;
        let mime_type = Some(with(|state| mime_type(state.markdown)).into());
        let contents = vec![Contents { uri: None, mime_type, body: Body::Text(text), meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: Some(Reuse::UntilAnnounced) }))
    }
}

fn mime_type(markdown: bool) -> &'static str {
    if markdown { "text/markdown" } else { "application/json" }
}

impl subscriptions::Guest for Ci {
    /// Also for a branch that was not built yet.
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        let key = uri::parse(&uri).ok_or(Error::NotFound)?;
        with(|state| state.subscribed.insert(uri, key));
        Ok(())
    }

    fn unsubscribe(uri: String) {
        with(|state| state.subscribed.remove(&uri));
    }
}

impl completions::Guest for Ci {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        let CompletionRequest { argument, value, known, .. } = request;
        let project = known.into_iter().find(|(name, _)| name == "project").map(|(_, project)| project);
        let mut values: Vec<String> = with(|state| {
            let of_project =
                state.board.branches.keys().filter(|(of, _)| argument == "project" || project.as_ref().is_none_or(|project| project == of));
            of_project.map(|(project, branch)| if argument == "project" { project.clone() } else { branch.clone() }).collect()
        });
        values.retain(|found| found.starts_with(&value));
        values.sort();
        values.dedup();
        let total = u32::try_from(values.len()).ok();
        values.truncate(SUGGESTIONS);
        Ok(Completion { values, total, has_more: None })
    }
}

impl webhook_handler::Guest for Ci {
    fn receive(request: WebhookRequest) -> WebhookResponse {
        let header = |name: &str| request.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let news = match (header("x-github-event"), header("x-gitlab-event")) {
            (Some(event), _) => payload::github(event, &request.body),
            (None, Some(_)) => payload::gitlab(&request.body),
            (None, None) => {
                Err("neither X-GitHub-Event nor X-Gitlab-Event: send webhooks of GitHub (content type application/json) or GitLab".into())
            }
        };
        match news {
            Ok(news) => {
                with(|state| news.into_iter().for_each(|news| state.hear(news)));
                WebhookResponse { status: 204, headers: None, body: None }
            }
            Err(wrong) => WebhookResponse { status: 400, headers: None, body: Some(wrong.into_bytes()) },
        }
    }
}

impl fetch_handler::Guest for Ci {
    fn fetched(outcomes: Vec<FetchOutcome>) {
        with(|state| {
            for outcome in outcomes {
                let Some(source) = state.sources.iter().find(|source| source.name == outcome.name) else { continue };
                match source.news(outcome.answer) {
                    Ok(news) => news.into_iter().for_each(|news| state.hear(news)),
                    Err(wrong) => eprintln!("{}: {wrong}", outcome.name),
                }
            }
        });
    }
}
