//! The state of all branches: what is known of each, what of it is news, and how it reads.

use std::{collections::BTreeMap, fmt::Write};

use serde::{Deserialize, Serialize};

/// Branches that are kept; past it the one that changed longest ago goes.
pub const MAX_BRANCHES: usize = 1000;
/// Workflows of one branch, likewise.
const MAX_WORKFLOWS: usize = 50;
/// Digits of a commit that people read.
const SHORT: usize = 9;

/// How a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Queued,
    Running,
    Waiting,
    Success,
    Failure,
    Cancelled,
    Skipped,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// Of several runs, the one that says most of the commit.
    fn weight(self) -> u8 {
        match self {
            Self::Failure => 6,
            Self::Running => 5,
            Self::Queued => 4,
            Self::Waiting => 3,
            Self::Cancelled => 2,
            Self::Success => 1,
            Self::Skipped => 0,
        }
    }
}

/// The last run of one workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub workflow: String,
    pub status: Status,
    /// In the words of who builds.
    pub said: String,
    pub sha: String,
    pub url: Option<String>,
    pub number: u64,
    pub started: Option<String>,
    pub updated: Option<String>,
    /// Greater in what is newer.
    pub revision: (u64, u64, u8),
}

/// What is known of a branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// Of the newest commit, if it is known.
    pub title: Option<String>,
    /// By workflow.
    pub runs: BTreeMap<String, Run>,
}

impl Branch {
    fn newest(&self) -> Option<&Run> {
        self.runs.values().max_by_key(|run| run.revision)
    }

    /// Of the newest commit: the worst of its runs.
    pub fn status(&self) -> Status {
        let Some(newest) = self.newest() else { return Status::Queued };
        let of_it = self.runs.values().filter(|run| run.sha == newest.sha);
        of_it.map(|run| run.status).max_by_key(|status| status.weight()).unwrap_or(newest.status)
    }

    /// When it last changed, as ISO 8601.
    pub fn updated(&self) -> Option<&str> {
        self.runs.values().filter_map(|run| run.updated.as_deref().or(run.started.as_deref())).max()
    }

    pub fn json(&self, project: &str, branch: &str) -> String {
        let newest = self.newest();
        let runs: Vec<_> = self
            .runs
            .values()
            .map(|run| {
                serde_json::json!({
                    "workflow": run.workflow, "status": run.status, "conclusion": run.said, "sha": run.sha, "url": run.url,
                    "number": run.number, "started": run.started, "updated": run.updated,
                })
            })
            .collect();
        let whole = serde_json::json!({
            "project": project, "branch": branch, "status": self.status(), "sha": newest.map(|run| &run.sha), "commit": self.title,
            "url": newest.and_then(|run| run.url.as_ref()), "updated": self.updated(), "runs": runs,
        });
        format!("{whole:#}\n")
    }

    pub fn markdown(&self, project: &str, branch: &str) -> String {
        let mut text = format!("# {project} {branch}: {}\n\n", self.status().name());
        if let Some(newest) = self.newest() {
            let title = self.title.as_deref().unwrap_or_default();
            let _ = writeln!(text, "Commit {} {title}\n", newest.sha.get(..SHORT).unwrap_or(&newest.sha));
        }
        for run in self.runs.values() {
            let Run { workflow, status, said, number, url, .. } = run;
            let said = if said == status.name() { String::new() } else { format!(" ({said})") };
            let at = run.updated.as_deref().or(run.started.as_deref()).unwrap_or("an unknown time");
            let link = url.as_deref().map_or(String::new(), |url| format!(", <{url}>"));
            let sha = run.sha.get(..SHORT).unwrap_or(&run.sha);
            let _ = writeln!(text, "- {workflow} #{number}: {}{said}, of {sha}, {at}{link}", status.name());
        }
        text
    }
}

/// All branches, by project and name.
#[derive(Debug, Default)]
pub struct Board {
    pub branches: BTreeMap<(String, String), Branch>,
}

/// What became of a piece of news.
pub struct Change {
    pub key: (String, String),
    /// Whether the list is another: a branch came.
    pub came: bool,
    /// A branch that went to make room.
    pub went: Option<(String, String)>,
}

impl Board {
    /// Takes it in, unless something newer is known.
    pub fn take(&mut self, project: String, branch: String, title: Option<String>, run: Run) -> Option<Change> {
        let key = (project, branch);
        let came = !self.branches.contains_key(&key);
        let went = if came && self.branches.len() >= MAX_BRANCHES { self.oldest() } else { None };
        let known = self.branches.entry(key.clone()).or_insert(Branch { title: None, runs: BTreeMap::new() });
        if known.runs.get(&run.workflow).is_some_and(|before| before.revision > run.revision || *before == run) {
            return None;
        }
        if known.newest().is_none_or(|newest| run.revision >= newest.revision) {
            // A poll does not say it again: the title of the same commit stays.
            if title.is_some() || known.newest().is_some_and(|newest| newest.sha != run.sha) {
                known.title = title;
            }
        }
        known.runs.insert(run.workflow.clone(), run);
        while known.runs.len() > MAX_WORKFLOWS {
            let oldest = known.runs.values().min_by_key(|run| run.revision).map(|run| run.workflow.clone());
            oldest.map(|workflow| known.runs.remove(&workflow));
        }
        if let Some(went) = &went {
            self.branches.remove(went);
        }
        Some(Change { key, came, went })
    }

    /// All branches of a project in short, the one that changed last first; none if there are none.
    pub fn overview(&self, project: &str, markdown: bool) -> Option<String> {
        let mut branches: Vec<(&String, &Branch)> =
            self.branches.iter().filter(|((of, _), _)| of == project).map(|((_, name), branch)| (name, branch)).collect();
        if branches.is_empty() {
            return None;
        }
        branches.sort_by_key(|(_, branch)| std::cmp::Reverse(branch.updated().map(str::to_owned)));
        if markdown {
            let mut text = format!("# {project}\n\n");
            for (name, branch) in branches {
                let _ = writeln!(text, "- {name}: {}, {}", branch.status().name(), branch.updated().unwrap_or("an unknown time"));
            }
            return Some(text);
        }
        let short = |(name, branch): (&String, &Branch)| {
            let newest = branch.newest();
            serde_json::json!({
                "branch": name, "status": branch.status(), "sha": newest.map(|run| &run.sha), "commit": branch.title,
                "url": newest.and_then(|run| run.url.as_ref()), "updated": branch.updated(),
            })
        };
        let whole = serde_json::json!({ "project": project, "branches": branches.into_iter().map(short).collect::<Vec<_>>() });
        Some(format!("{whole:#}\n"))
    }

    fn oldest(&self) -> Option<(String, String)> {
        self.branches.iter().min_by_key(|(_, branch)| branch.updated().map(str::to_owned)).map(|(key, _)| key.clone())
    }
}
