//! All example providers, in whatever language, as one finds them: without settings, without grants.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use wharf_tests::{Host, Setup, call, listen, root, wharf};

/// Shows that time has passed: an update each 100 ms.
const CLOCK: &str = "ticker://count/clock";
const TICKS: usize = 10;

/// Each folder of `plugins/` is one.
fn examples() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("plugins"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            ensure!(root().join(format!("plugins/{name}.wasm")).exists(), "{name} is not built: run `cargo xtask guests --lang all`");
            names.push(name);
        }
    }
    names.sort();
    ensure!(names.len() > 4, "only {names:?}");
    Ok(names)
}

/// What a call gave; an error that tells of something else than a dead instance is an answer, too.
fn alive(answer: Result<Value>, what: &str) -> Result<Option<Value>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => {
            let said = format!("{error:#}");
            for death in ["\"kind\":\"trap\"", "\"kind\":\"deadline\"", "keeps crashing"] {
                ensure!(!said.contains(death), "{what}: {said}");
            }
            Ok(None)
        }
    }
}

async fn read(host: &Host, uri: &str) -> Result<Option<Value>> {
    let answer = call(host, "resources/read", json!({ "uri": uri })).await;
    Ok(alive(answer, uri)?.map(|answer| answer["contents"].clone()))
}

/// The variables of a template, RFC 6570.
fn variables(template: &str) -> Vec<&str> {
    let expressions = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    expressions
        .flat_map(|expression| expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(','))
        .map(|name| name.trim_end_matches('*'))
        .collect()
}

#[tokio::test]
async fn every_example_loads_lists_reads_and_suggests_and_never_tells_of_nothing() -> Result<()> {
    let examples = examples()?;
    let mut setup = Setup::new().guest("ticker");
    for name in &examples {
        setup = setup.guest(name);
    }
    let mut host = setup.start().await?;
    for name in &examples {
        host.wait_for_load(name).await?;
    }
    let list = call(&host, "resources/list", json!({})).await?;
    let uris: Vec<String> =
        list["resources"].as_array().context("no list")?.iter().filter_map(|one| one["uri"].as_str()).map(str::to_owned).collect();
    ensure!(list["nextCursor"].is_null() && !uris.is_empty(), "{list}");
    let mut before = BTreeMap::new();
    for uri in &uris {
        before.insert(uri.clone(), read(&host, uri).await?);
    }
    let templates = call(&host, "resources/templates/list", json!({})).await?;
    let templates = templates["resourceTemplates"].as_array().context("no templates")?.clone();
    for template in templates.iter().filter_map(|template| template["uriTemplate"].as_str()) {
        for variable in variables(template) {
            let params = json!({ "ref": { "type": "ref/resource", "uri": template }, "argument": { "name": variable, "value": "" } });
            alive(call(&host, "completion/complete", params).await, &format!("{template} {variable}"))?;
        }
    }

    let mut all = uris.clone();
    all.push(CLOCK.into());
    let mut listener = listen(&host, &all).await?;
    let (mut ticks, mut told) = (0, Vec::new());
    while ticks < TICKS {
        let uri = listener.update().await?;
        if uri == CLOCK { ticks += 1 } else { told.push(uri) }
    }
    for uri in told {
        let now = read(&host, &uri).await?;
        ensure!(now != before[&uri], "told of {uri}, which still is {now:?}");
    }
    Ok(())
}

#[tokio::test]
async fn every_example_keeps_every_rule() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for name in examples()? {
        let component = root().join(format!("plugins/{name}.wasm")).display().to_string();
        let checked = wharf(folder.path(), &["check", &component, "--json"]).await?;
        let found = checked.json()?;
        ensure!(checked.code == 0 && found["broken"] == json!([]), "{name}: {found}");
    }
    Ok(())
}

#[test]
fn the_variables_of_a_template_are_found() {
    assert_eq!(variables("x://{a}/{+b}{/c*}{?d,e}"), ["a", "b", "c", "d", "e"]);
}
