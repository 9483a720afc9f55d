//! Polling, where no webhook reaches the host: the setting `poll` names what to ask for, and the host asks.

use wharf_provider::{
    fetch::{self, Answer, FetchRequest, FetchResponse},
    settings,
};

use crate::{
    Ci,
    payload::{self, News},
    texts, uri,
};

/// Seconds between two polls. GitHub allows 60 an hour without a token, and counts none that brought nothing new.
const EVERY: u32 = 90;
/// Runs that an answer has: the newest.
const PER_PAGE: u32 = 50;
/// Characters of an answer that is no news, for the log.
const SHOWN: usize = 200;

#[derive(Clone, Copy)]
enum Kind {
    Github,
    Gitlab,
}

/// What is polled.
struct Source {
    kind: Kind,
    project: String,
}

/// Begins all that are set.
pub fn begin() {
    let every = settings::get("poll-seconds").and_then(|every| every.parse().ok()).unwrap_or(EVERY);
    for name in texts("poll") {
        let kind = match name.split_once(':') {
            Some(("github", _)) => Kind::Github,
            Some(("gitlab", _)) => Kind::Gitlab,
            _ => {
                eprintln!("poll: {name:?} is neither github:owner/name nor gitlab:group/name");
                continue;
            }
        };
        let project = name.split_once(':').map(|(_, project)| project.to_owned()).unwrap_or_default();
        let source = Source { kind, project };
        let request = source.request();
        let log = name.clone();
        let fetched = move |ci: &mut Ci, answer| match source.news(answer) {
            Ok(news) => news.into_iter().for_each(|news| ci.hear(news)),
            Err(wrong) => eprintln!("{log}: {wrong}"),
        };
        if let Err(error) = fetch::poll(&name, &request, every.saturating_mul(1000), fetched) {
            eprintln!("{name} is not polled: {error:?}");
        }
    }
}

impl Source {
    fn request(&self) -> FetchRequest {
        let base = |setting: &str, usual: &str| settings::get(setting).unwrap_or_else(|| usual.into()).trim_end_matches('/').to_owned();
        let token = |name: &str| std::env::var(name).ok().filter(|token| !token.is_empty());
        let (url, headers) = match self.kind {
            Kind::Github => {
                let url =
                    format!("{}/repos/{}/actions/runs?per_page={PER_PAGE}", base("github-api", "https://api.github.com"), self.project);
                let mut headers = vec![
                    ("accept".to_owned(), "application/vnd.github+json".to_owned()),
                    ("x-github-api-version".to_owned(), "2022-11-28".to_owned()),
                    // GitHub answers nobody without a name.
                    ("user-agent".to_owned(), "wharf-ci".to_owned()),
                ];
                headers.extend(token("GITHUB_TOKEN").map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
                (url, headers)
            }
            Kind::Gitlab => {
                let base = base("gitlab-api", "https://gitlab.com/api/v4");
                let url = format!("{base}/projects/{}/pipelines?per_page={PER_PAGE}", uri::encode(&self.project));
                (url, token("GITLAB_TOKEN").map(|token| ("private-token".to_owned(), token)).into_iter().collect())
            }
        };
        FetchRequest { headers: Some(headers), ..FetchRequest::get(url) }
    }

    /// What an answer says, oldest first, so that what is newest comes last.
    fn news(&self, answer: Answer) -> Result<Vec<News>, String> {
        let FetchResponse { status, body, .. } = answer.map_err(|error| format!("{error:?}"))?;
        if status != 200 {
            let said: String = String::from_utf8_lossy(&body).chars().take(SHOWN).collect();
            return Err(format!("HTTP {status}: {said}"));
        }
        let mut news = match self.kind {
            Kind::Github => payload::github_runs(&self.project, &body)?,
            Kind::Gitlab => payload::gitlab_pipelines(&self.project, &body)?,
        };
        news.reverse();
        Ok(news)
    }
}
