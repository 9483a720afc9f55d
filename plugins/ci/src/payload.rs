//! What GitHub and GitLab say of builds, in webhooks and in their APIs, as one kind of news.
//!
//! GitHub: the event `workflow_run` (https://docs.github.com/en/webhooks/webhook-events-and-payloads#workflow_run), and
//! `GET /repos/{owner}/{repo}/actions/runs`. GitLab: pipeline events (https://docs.gitlab.com/user/project/integrations/webhook_events/), and
//! `GET /projects/:id/pipelines`.

use serde::Deserialize;
use serde_json::Value;

use crate::board::{Run, Status};

/// Something happened.
#[derive(Debug)]
pub enum News {
    /// To a run of a branch.
    Run { project: String, branch: String, title: Option<String>, run: Box<Run> },
    /// The branch is gone.
    Gone { project: String, branch: String },
}

/// What is wrong with a payload, for its sender.
pub type Wrong = String;

/// A webhook of GitHub; `event` is its X-GitHub-Event. None: nothing of interest.
pub fn github(event: &str, body: &[u8]) -> Result<Option<News>, Wrong> {
    #[derive(Deserialize)]
    struct Named {
        full_name: String,
    }
    #[derive(Deserialize)]
    struct RunEvent {
        workflow_run: WorkflowRun,
        repository: Named,
    }
    #[derive(Deserialize)]
    struct Delete {
        r#ref: String,
        ref_type: String,
        repository: Named,
    }
    match event {
        "workflow_run" => {
            let RunEvent { workflow_run, repository } = parse(body)?;
            Ok(workflow_run.news(&repository.full_name))
        }
        "delete" => {
            let Delete { r#ref, ref_type, repository } = parse(body)?;
            Ok((ref_type == "branch").then_some(News::Gone { project: repository.full_name, branch: r#ref }))
        }
        _ => Ok(None),
    }
}

/// An answer of GitHub's API: the newest runs of a repository.
pub fn github_runs(project: &str, body: &[u8]) -> Result<Vec<News>, Wrong> {
    #[derive(Deserialize)]
    struct Runs {
        workflow_runs: Vec<WorkflowRun>,
    }
    let Runs { workflow_runs } = parse(body)?;
    Ok(workflow_runs.into_iter().filter_map(|run| run.news(project)).collect())
}

#[derive(Deserialize)]
struct WorkflowRun {
    id: u64,
    name: Option<String>,
    head_branch: Option<String>,
    head_sha: String,
    #[serde(default)]
    run_number: u64,
    #[serde(default)]
    run_attempt: u64,
    status: Option<String>,
    conclusion: Option<String>,
    html_url: Option<String>,
    run_started_at: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    display_title: Option<String>,
    /// Of a pull request from a fork, another one.
    head_repository: Option<Value>,
}

impl WorkflowRun {
    fn news(self, project: &str) -> Option<News> {
        let mut branch = self.head_branch?;
        let from = self.head_repository.as_ref().and_then(|repository| repository["full_name"].as_str()).unwrap_or(project);
        if !from.eq_ignore_ascii_case(project) {
            // As GitHub shows it: the `main` of a fork is not this `main`.
            branch = format!("{}:{branch}", from.split('/').next().unwrap_or(from));
        }
        let said = self.status.as_deref().unwrap_or_default();
        // What is over goes before what is under way, which may come late.
        let (status, progress) = match (said, self.conclusion.as_deref()) {
            ("completed", Some("success" | "neutral")) => (Status::Success, 2),
            ("completed", Some("skipped")) => (Status::Skipped, 2),
            ("completed", Some("cancelled" | "stale")) => (Status::Cancelled, 2),
            ("completed", Some("action_required")) => (Status::Waiting, 2),
            ("completed", _) => (Status::Failure, 2),
            ("in_progress", _) => (Status::Running, 1),
            ("waiting", _) => (Status::Waiting, 1),
            _ => (Status::Queued, 0),
        };
        let run = Run {
            workflow: self.name.unwrap_or_else(|| "workflow".into()),
            status,
            said: self.conclusion.unwrap_or_else(|| said.into()),
            sha: self.head_sha,
            url: self.html_url,
            number: self.run_number,
            started: self.run_started_at.or(self.created_at),
            updated: self.updated_at,
            revision: (self.id, self.run_attempt, progress),
        };
        Some(News::Run { project: project.into(), branch, title: self.display_title, run: Box::new(run) })
    }
}

/// A webhook of GitLab, which says in the body of what kind it is.
pub fn gitlab(body: &[u8]) -> Result<Option<News>, Wrong> {
    #[derive(Deserialize)]
    struct Project {
        path_with_namespace: String,
    }
    #[derive(Deserialize)]
    struct Commit {
        title: Option<String>,
    }
    #[derive(Deserialize)]
    struct PipelineEvent {
        object_attributes: Pipeline,
        project: Project,
        commit: Option<Commit>,
    }
    #[derive(Deserialize)]
    struct Push {
        r#ref: String,
        after: String,
        project: Project,
    }
    #[derive(Deserialize)]
    struct Kind {
        object_kind: String,
    }
    let Kind { object_kind } = parse(body)?;
    match object_kind.as_str() {
        "pipeline" => {
            let PipelineEvent { object_attributes, project, commit } = parse(body)?;
            Ok(object_attributes.news(&project.path_with_namespace, commit.and_then(|commit| commit.title)))
        }
        "push" => {
            let Push { r#ref, after, project } = parse(body)?;
            // A commit of zeros is none.
            let gone = r#ref.strip_prefix("refs/heads/").filter(|_| after.bytes().all(|digit| digit == b'0'));
            Ok(gone.map(|branch| News::Gone { project: project.path_with_namespace, branch: branch.into() }))
        }
        _ => Ok(None),
    }
}

/// An answer of GitLab's API: the newest pipelines of a project.
pub fn gitlab_pipelines(project: &str, body: &[u8]) -> Result<Vec<News>, Wrong> {
    let pipelines: Vec<Pipeline> = parse(body)?;
    Ok(pipelines.into_iter().filter_map(|pipeline| pipeline.news(project, None)).collect())
}

#[derive(Deserialize)]
struct Pipeline {
    id: u64,
    #[serde(default)]
    iid: u64,
    r#ref: String,
    #[serde(default)]
    tag: bool,
    sha: String,
    status: String,
    #[serde(alias = "web_url")]
    url: Option<String>,
    created_at: Option<String>,
    #[serde(alias = "updated_at")]
    finished_at: Option<String>,
}

impl Pipeline {
    fn news(self, project: &str, title: Option<String>) -> Option<News> {
        if self.tag {
            return None;
        }
        let status = match self.status.as_str() {
            "success" => Status::Success,
            "failed" => Status::Failure,
            "canceled" | "canceling" => Status::Cancelled,
            "skipped" => Status::Skipped,
            "manual" | "scheduled" => Status::Waiting,
            "running" => Status::Running,
            _ => Status::Queued,
        };
        let run = Run {
            workflow: "pipeline".into(),
            status,
            said: self.status,
            sha: self.sha,
            url: self.url,
            number: self.iid,
            started: self.created_at.map(iso),
            updated: self.finished_at.map(iso),
            // A pipeline goes on when a job of it is run again: what comes last holds.
            revision: (self.id, 0, 0),
        };
        Some(News::Run { project: project.into(), branch: self.r#ref, title, run: Box::new(run) })
    }
}

/// GitLab's webhooks say `2016-08-12 15:26:29 UTC`.
fn iso(time: String) -> String {
    match time.strip_suffix(" UTC") {
        Some(time) => format!("{}Z", time.replacen(' ', "T", 1)),
        None => time,
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Wrong> {
    serde_json::from_slice(body).map_err(|error| format!("not as expected: {error}"))
}
