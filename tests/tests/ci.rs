//! The example provider `ci`, with payloads as GitHub and GitLab send them.

#[path = "../../host/tests/common/web.rs"]
mod web;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use web::{Authority, Web, answer};
use wharf_tests::{Host, Setup, call, hook, listen, mac, within};

const SECRET: &str = "It's a Secret to Everybody";
const MAIN: &str = "ci://octo-org/octo-repo?branch=main";

fn config(settings: &str) -> String {
    format!(
        r#"
        [[provider]]
        name = "ci"
        [provider.settings]
        {settings}
        [provider.grants]
        state = "1MiB"
        webhooks = [
            {{ name = "github", signature = "github", secret = {{ file = "plugins/secret" }} }},
            {{ name = "gitlab", signature = "gitlab", secret = {{ file = "plugins/secret" }} }},
        ]
        "#
    )
}

async fn host(settings: &str) -> Result<Host> {
    let host = Setup::new().guest("ci").file("secret", SECRET.as_bytes()).config(&config(settings)).start().await?;
    // It is loaded: a webhook does not wait for that, as this does.
    call(&host, "resources/list", json!({})).await?;
    Ok(host)
}

async fn github(host: &Host, event: &str, payload: &Value) -> Result<u16> {
    let body = payload.to_string();
    let signature = format!("sha256={}", mac(SECRET, &body));
    Ok(hook(host, "/hooks/ci/github", &[("x-github-event", event), ("x-hub-signature-256", &signature)], body).await?.status)
}

async fn gitlab(host: &Host, payload: &Value) -> Result<u16> {
    let headers = [("x-gitlab-event", "Pipeline Hook"), ("x-gitlab-token", SECRET)];
    Ok(hook(host, "/hooks/ci/gitlab", &headers, payload.to_string()).await?.status)
}

async fn text(host: &Host, uri: &str) -> Result<String> {
    let answer = call(host, "resources/read", json!({ "uri": uri })).await?;
    Ok(answer["contents"][0]["text"].as_str().unwrap_or_default().to_owned())
}

async fn status(host: &Host, uri: &str) -> Result<Value> {
    Ok(serde_json::from_str(&text(host, uri).await?)?)
}

/// The event `workflow_run`, with those fields of the payload that are of interest and some that are not.
fn run(id: u64, workflow: &str, branch: &str, sha: &str, status: &str, conclusion: Option<&str>) -> Value {
    json!({
        "action": if conclusion.is_some() { "completed" } else { status },
        "workflow_run": {
            "id": id, "name": workflow, "node_id": "WFR_kwLO", "head_branch": branch, "head_sha": sha, "path": ".github/workflows/test.yml",
            "display_title": format!("Commit {sha}"), "run_number": id, "event": "push", "status": status, "conclusion": conclusion,
            "workflow_id": 7, "url": "https://api.github.com/repos/octo-org/octo-repo/actions/runs/1", "pull_requests": [],
            "html_url": format!("https://github.com/octo-org/octo-repo/actions/runs/{id}"), "created_at": "2026-11-30T12:00:00Z",
            "updated_at": "2026-11-30T12:05:00Z", "run_attempt": 1, "run_started_at": "2026-11-30T12:00:00Z", "actor": { "login": "octocat" },
            "head_commit": { "id": sha, "message": "Commit" }, "head_repository": { "full_name": "octo-org/octo-repo" }
        },
        "workflow": { "id": 7, "name": workflow },
        "repository": { "id": 1, "full_name": "octo-org/octo-repo", "private": false },
        "sender": { "login": "octocat" }
    })
}

fn pipeline(id: u64, branch: &str, status: &str) -> Value {
    json!({
        "object_kind": "pipeline",
        "object_attributes": {
            "id": id, "iid": 3, "name": null, "ref": branch, "tag": false, "sha": "bcbb5ec396a2c0f828686f14fac9b80b780504f2",
            "before_sha": "bcbb5ec396a2c0f828686f14fac9b80b780504f2", "source": "push", "status": status, "detailed_status": "passed",
            "stages": ["build", "test"], "created_at": "2026-11-30 15:23:28 UTC", "finished_at": "2026-11-30 15:26:29 UTC", "duration": 63,
            "variables": [], "url": "https://gitlab.example.com/group/sub/project/-/pipelines/31"
        },
        "user": { "id": 1, "name": "A" },
        "project": { "id": 1, "name": "project", "path_with_namespace": "group/sub/project", "default_branch": "main" },
        "commit": { "id": "bcbb5ec396a2c0f828686f14fac9b80b780504f2", "message": "test\n", "title": "test" },
        "builds": []
    })
}

#[tokio::test]
async fn a_branch_is_announced_at_each_change_and_reads_as_it_stands() -> Result<()> {
    let host = host("").await?;
    ensure!(call(&host, "resources/list", json!({})).await?["resources"] == json!([]));
    // Before there is one.
    let mut listener = listen(&host, &[MAIN.into()]).await?;
    ensure!(github(&host, "ping", &json!({ "zen": "Design for failure." })).await? == 204);
    ensure!(github(&host, "workflow_run", &run(1, "test", "main", "aaaa", "queued", None)).await? == 204);
    ensure!(listener.update().await? == MAIN);
    ensure!(status(&host, MAIN).await?["status"] == "queued");
    github(&host, "workflow_run", &run(2, "lint", "main", "aaaa", "completed", Some("success"))).await?;
    ensure!(listener.update().await? == MAIN);
    ensure!(status(&host, MAIN).await?["status"] == "queued", "not all of it is done");
    github(&host, "workflow_run", &run(1, "test", "main", "aaaa", "completed", Some("failure"))).await?;
    ensure!(listener.update().await? == MAIN);
    let read = status(&host, MAIN).await?;
    ensure!(read["status"] == "failure" && read["sha"] == "aaaa" && read["commit"] == "Commit aaaa", "{read}");
    ensure!(
        read["updated"] == "2026-11-30T12:05:00Z" && read["runs"][1]["url"] == "https://github.com/octo-org/octo-repo/actions/runs/1",
        "{read}"
    );
    // News that comes late changes nothing; a newer commit does.
    github(&host, "workflow_run", &run(1, "test", "main", "aaaa", "in_progress", None)).await?;
    ensure!(status(&host, MAIN).await? == read);
    github(&host, "workflow_run", &run(3, "test", "main", "bbbb", "completed", Some("success"))).await?;
    ensure!(listener.update().await? == MAIN);
    ensure!(status(&host, MAIN).await?["status"] == "success");
    while call(&host, "resources/list", json!({})).await?["resources"][1]["uri"] != MAIN {}
    Ok(())
}

#[tokio::test]
async fn what_it_knows_survives_the_death_of_the_host() -> Result<()> {
    let host = host("format = \"markdown\"").await?;
    github(&host, "workflow_run", &run(1, "test", "main", "0123456789abc", "completed", Some("timed_out"))).await?;
    let host = host.restart().await?;
    let text = text(&host, MAIN).await?;
    let expected = "# octo-org/octo-repo main: failure\n\nCommit 012345678 Commit 0123456789abc\n\n\
         - test #1: failure (timed_out), of 012345678, 2026-11-30T12:05:00Z, <https://github.com/octo-org/octo-repo/actions/runs/1>\n";
    ensure!(text == expected, "{text}");
    Ok(())
}

#[tokio::test]
async fn the_branch_of_a_fork_is_another_and_one_that_was_deleted_is_gone() -> Result<()> {
    let host = host("").await?;
    let mut fork = run(1, "test", "main", "aaaa", "completed", Some("failure"));
    fork["workflow_run"]["head_repository"]["full_name"] = json!("stranger/octo-repo");
    github(&host, "workflow_run", &fork).await?;
    let of_fork = "ci://octo-org/octo-repo?branch=stranger%3Amain";
    ensure!(status(&host, of_fork).await?["status"] == "failure");
    ensure!(text(&host, MAIN).await.is_err());
    github(&host, "workflow_run", &run(2, "test", "topic/x", "aaaa", "in_progress", None)).await?;
    let topic = "ci://octo-org/octo-repo?branch=topic%2Fx";
    ensure!(status(&host, topic).await?["status"] == "running");
    // Another spelling is told and read as well.
    let spelled = "ci://octo-org/octo-repo?branch=topic/x";
    let mut listener = listen(&host, &[spelled.into(), "ci://octo-org/octo-repo".into()]).await?;
    github(&host, "workflow_run", &run(2, "test", "topic/x", "aaaa", "completed", Some("success"))).await?;
    let mut told = [listener.update().await?, listener.update().await?];
    told.sort();
    ensure!(told == ["ci://octo-org/octo-repo", spelled], "{told:?}");
    ensure!(status(&host, spelled).await?["status"] == "success");
    let all = status(&host, "ci://octo-org/octo-repo").await?;
    ensure!(all["branches"][0]["branch"] == "stranger:main" && all["branches"][1]["status"] == "success", "{all}");
    let delete = json!({ "ref": "topic/x", "ref_type": "branch", "repository": { "full_name": "octo-org/octo-repo" } });
    github(&host, "delete", &delete).await?;
    ensure!(text(&host, topic).await.is_err());
    Ok(())
}

#[tokio::test]
async fn gitlabs_pipelines_are_understood_and_a_pipeline_may_go_on() -> Result<()> {
    let host = host("").await?;
    let uri = "ci://group/sub/project?branch=main";
    for (said, expected) in
        [("pending", "queued"), ("running", "running"), ("failed", "failure"), ("running", "running"), ("success", "success")]
    {
        ensure!(gitlab(&host, &pipeline(31, "main", said)).await? == 204);
        ensure!(status(&host, uri).await?["status"] == expected, "{said}");
    }
    gitlab(&host, &pipeline(30, "main", "failed")).await?;
    let read = status(&host, uri).await?;
    ensure!(read["status"] == "success" && read["commit"] == "test" && read["updated"] == "2026-11-30T15:26:29Z", "{read}");
    let push = json!({ "object_kind": "push", "ref": "refs/heads/main", "after": "0".repeat(40), "project": { "path_with_namespace": "group/sub/project" } });
    gitlab(&host, &push).await?;
    ensure!(text(&host, uri).await.is_err());
    Ok(())
}

#[tokio::test]
async fn what_is_no_payload_is_a_400_and_other_projects_are_passed_over() -> Result<()> {
    let host = host("projects = [\"octo-org/other\"]").await?;
    ensure!(github(&host, "workflow_run", &json!({ "workflow_run": 7 })).await? == 400);
    ensure!(github(&host, "workflow_run", &json!("x")).await? == 400);
    ensure!(gitlab(&host, &json!({ "object_kind": "pipeline" })).await? == 400);
    let signature = format!("sha256={}", mac(SECRET, "{}"));
    ensure!(hook(&host, "/hooks/ci/github", &[("x-hub-signature-256", &signature)], "{}").await?.status == 400, "of whom is it?");
    ensure!(github(&host, "workflow_run", &run(1, "test", "main", "aaaa", "completed", Some("success"))).await? == 204);
    ensure!(text(&host, MAIN).await.is_err());
    Ok(())
}

#[tokio::test]
async fn polling_without_a_grant_is_denied_with_the_line_and_webhooks_work_all_the_same() -> Result<()> {
    let mut host = host("poll = [\"github:octo-org/octo-repo\"]").await?;
    host.wait_for_log("github:octo-org/octo-repo is not polled").await?;
    ensure!(host.log().contains("[provider.grants] hosts = ["), "{}", host.log());
    github(&host, "workflow_run", &run(1, "test", "main", "aaaa", "completed", Some("success"))).await?;
    ensure!(status(&host, MAIN).await?["status"] == "success");
    Ok(())
}

#[tokio::test]
async fn a_project_that_is_polled_is_announced_when_its_status_changes_and_not_before() -> Result<()> {
    let authority = Authority::new();
    let runs = Arc::new(Mutex::new((run(1, "test", "main", "aaaa", "in_progress", None), 0)));
    let web = Web::https(authority.server(&["localhost"]), {
        let runs = runs.clone();
        move |seen| {
            let mut runs = runs.lock().unwrap();
            let (run, asked) = &mut *runs;
            let known = seen.target() == "/repos/octo-org/octo-repo/actions/runs?per_page=50";
            if !known || seen.header("authorization") != Some("Bearer t0ken-of-mine") {
                return answer("404 Not Found", &[], b"{}");
            }
            *asked += 1;
            let etag = run["workflow_run"]["status"].to_string();
            if seen.header("if-none-match") == Some(&etag) {
                return answer("304 Not Modified", &[], b"");
            }
            let body = json!({ "total_count": 1, "workflow_runs": [run["workflow_run"]] }).to_string();
            answer("200 OK", &[&format!("ETag: {etag}")], body.as_bytes())
        }
    })
    .await;
    let port = web.port();
    let config = format!(
        r#"
        [fetch]
        ca-file = "plugins/ca.pem"
        [[provider]]
        name = "ci"
        [provider.settings]
        poll = ["github:octo-org/octo-repo"]
        poll-seconds = 1
        github-api = "https://localhost:{port}"
        [provider.grants]
        hosts = ["localhost:{port}"]
        env = [{{ GITHUB_TOKEN = {{ file = "plugins/token" }} }}]
        "#
    );
    let setup = Setup::new().guest("ci").file("ca.pem", authority.pem.as_bytes()).file("token", b"t0ken-of-mine\n");
    let host = setup.config(&config).start().await?;
    let mut listener = listen(&host, &[MAIN.into()]).await?;
    let first = async {
        // It may have been told before anybody listened.
        while status(&host, MAIN).await.map(|read| read["status"] != "running").unwrap_or(true) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    };
    within("the first answer", first).await?;
    runs.lock().unwrap().0 = run(1, "test", "main", "aaaa", "completed", Some("success"));
    let told = async {
        while status(&host, MAIN).await?["status"] != "success" {
            ensure!(listener.update().await? == MAIN);
        }
        Ok(())
    };
    within("the change", told).await?;
    ensure!(runs.lock().unwrap().1 >= 2);
    ensure!(!host.log().contains("t0ken"), "{}", host.log());
    Ok(())
}
