//! The command line without a client: what each command writes to a pipe and as JSON, and how it fails.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wharf_tests::{Output, Setup, call, root, wharf};

const CHAPTER: &str = "handbook://wharf/chapters/{name}";

fn fails(output: &Output, code: i32, says: &str) -> Result<()> {
    ensure!(output.code == code && output.stderr.contains(says), "not {code} with {says:?}: {output:?}");
    ensure!(output.stdout.is_empty(), "a failure has no answer: {output:?}");
    Ok(())
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn a_list_in_a_pipe_is_a_line_for_each_resource_with_tabs_and_no_head() -> Result<()> {
    let folder = Setup::new().guest("handbook").config("[[resource]]\nname = \"a\"\nuri = \"x://a\"\ntext = \"hello\"\n").prepare().await?;
    let lines = wharf(folder.path(), &["list"]).await?.text()?;
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    ensure!(rows.len() == 4 && rows.iter().all(|row| row.len() == 5), "{lines}");
    ensure!(rows[0][..2] == ["x://a", "wharf"], "{lines}");
    ensure!(rows[3] == ["handbook://wharf/logo", "handbook", "image/png", "1279", "Wharf's logo"], "{lines}");
    let templates = wharf(folder.path(), &["templates"]).await?.text()?;
    ensure!(templates == format!("{CHAPTER}\thandbook\ttext/markdown\tA chapter of the handbook\n"), "{templates}");
    Ok(())
}

#[tokio::test]
async fn what_others_wrote_stays_on_its_line_and_steers_no_terminal() -> Result<()> {
    let config = "[[resource]]\nname = \"a\"\nuri = \"x://a\"\ntitle = \"one\\n\\u001b[2Jtwo\\tthree\"\ntext = \"hello\"\n";
    let folder = Setup::new().config(config).prepare().await?;
    let list = wharf(folder.path(), &["list"]).await?.text()?;
    ensure!(
        list == "x://a\twharf\t\t5\tone\\n\\u{1b}[2Jtwo\\tthree\n" || list == "x://a\twharf\t\t\tone\\n\\u{1b}[2Jtwo\\tthree\n",
        "{list:?}"
    );
    Ok(())
}

#[tokio::test]
async fn what_is_json_is_what_mcp_has() -> Result<()> {
    let setup = || Setup::new().guest("basic");
    let (folder, host) = (setup().prepare().await?, setup().start().await?);
    for (command, method, field) in
        [("list", "resources/list", "resources"), ("templates", "resources/templates/list", "resourceTemplates")]
    {
        let (ours, theirs) = (wharf(folder.path(), &[command, "--json"]).await?.json()?, call(&host, method, json!({})).await?);
        ensure!(ours[field] == theirs[field] && ours[field].as_array().is_some_and(|list| !list.is_empty()), "{ours}\n{theirs}");
    }
    for uri in ["basic://two", "basic://full", "basic://blob"] {
        let ours = wharf(folder.path(), &["read", uri, "--json"]).await?.json()?;
        let theirs = call(&host, "resources/read", json!({ "uri": uri })).await?;
        ensure!(ours["contents"] == theirs["contents"] && ours["contents"].is_array(), "{ours}\n{theirs}");
    }
    Ok(())
}

#[tokio::test]
async fn a_read_writes_the_bytes_as_they_are_and_several_contents_one_after_the_other() -> Result<()> {
    let folder = Setup::new().guest("basic").guest("handbook").prepare().await?;
    let read = async |uri: &str| wharf(folder.path(), &["read", uri]).await;
    ensure!(read("basic://blob").await?.stdout == [0, 255, 1]);
    ensure!(read("basic://two").await?.stdout == b"one2");
    ensure!(read("handbook://wharf/logo").await?.stdout == fs::read(root().join("plugins/handbook/assets/logo.png"))?);
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_read_is_said_with_what_to_do() -> Result<()> {
    let folder = Setup::new().guest("basic").prepare().await?;
    let read = async |uri: &str| wharf(folder.path(), &["read", uri]).await;
    fails(&read("basic://nowhere").await?, 1, "nobody has basic://nowhere; `wharf explain")?;
    fails(&read("no-uri").await?, 2, "it has no scheme")?;
    let long = format!("x:{}", "a".repeat(100_000));
    fails(&read(&long).await?, 2, "longer than 8192 bytes")?;
    Ok(())
}

#[tokio::test]
async fn completions_come_one_a_line_and_take_what_is_known() -> Result<()> {
    let folder = Setup::new().guest("handbook").guest("clock").prepare().await?;
    let complete = async |args: &[&str]| wharf(folder.path(), &[&["complete"], args].concat()).await;
    ensure!(complete(&[CHAPTER, "name", "c"]).await?.text()? == "concepts\n");
    ensure!(complete(&[CHAPTER, "name", "c", "--with", "other=1", "--with", "empty="]).await?.text()? == "concepts\n");
    let all = complete(&["clock://zone/{+name}", "name", "--json"]).await?.json()?;
    let values = strings(&all["completion"]["values"]);
    ensure!(values.len() == 100 && values.contains(&"Europe/Berlin") && all["completion"]["hasMore"] == true, "{all}");
    ensure!(complete(&["clock://zone/{+name}", "name", "berl"]).await?.text()? == "Europe/Berlin\n");
    fails(&complete(&[CHAPTER, "nome", ""]).await?, 1, "it has name")?;
    fails(&complete(&["x://{a}", "a", ""]).await?, 1, "`wharf templates`")?;
    fails(&complete(&[CHAPTER, "name", "", "--with", "other"]).await?, 2, "no `=`")?;
    Ok(())
}

#[tokio::test]
async fn explain_says_who_owns_a_uri_who_is_shadowed_and_who_is_kept_out() -> Result<()> {
    let config = "[[resource]]\nname = \"mine\"\nuri = \"handbook://wharf/chapters/concepts\"\ntext = \"mine\"\n\
                  [[provider]]\nname = \"basic\"\nclaims = [\"handbook://wharf/facts\"]\n";
    let folder = Setup::new().guest("basic").guest("handbook").config(config).prepare().await?;
    let explain = async |uri: &str| wharf(folder.path(), &["explain", uri, "--json"]).await;

    let chapter = explain("handbook://wharf/chapters/concepts").await?;
    let explained = chapter.json()?;
    ensure!(chapter.code == 0 && explained["owner"] == "wharf", "{explained}");
    let expected = json!([
        { "provider": "wharf", "direct": true, "listed": true, "part": "owner" },
        { "provider": "handbook", "direct": false, "listed": false, "part": "shadowed",
          "uriTemplate": CHAPTER, "variables": [["name", "concepts"]] },
    ]);
    ensure!(explained["candidates"] == expected, "{explained}");

    let facts = explain("handbook://wharf/facts").await?;
    let explained = facts.json()?;
    ensure!(facts.code == 1 && explained["claim"] == json!({ "provider": "basic", "prefix": "handbook://wharf/facts" }), "{explained}");
    ensure!(explained["keptOut"] == json!([{ "provider": "handbook", "uriTemplate": null }]), "{explained}");

    let unknown = explain("handbook://wharf/chapters/none").await?.json()?;
    ensure!(unknown["owner"].is_null() && unknown["candidates"][0]["part"] == "not-found", "{unknown}");
    ensure!(unknown["near"][0]["uri"] == "handbook://wharf/chapters/concepts", "{unknown}");

    let words = wharf(folder.path(), &["explain", "handbook://wharf/welcome"]).await?.text()?;
    ensure!(words.starts_with("handbook://wharf/welcome belongs to handbook\n1. handbook lists it"), "{words}");
    Ok(())
}

#[tokio::test]
async fn a_provider_that_is_refused_is_named_and_the_others_answer() -> Result<()> {
    let folder = Setup::new().guest("handbook").file("broken.wasm", b"no component").prepare().await?;
    let output = wharf(folder.path(), &["list"]).await?;
    ensure!(output.stderr.contains("refused broken: it is not a WebAssembly file"), "{output:?}");
    ensure!(output.text()?.lines().count() == 3);
    Ok(())
}

#[tokio::test]
async fn a_component_that_keeps_every_rule_is_fine() -> Result<()> {
    let folder = Setup::new().guest("clock").prepare().await?;
    let checked = wharf(folder.path(), &["check", "plugins/clock.wasm", "--json"]).await?;
    let found = checked.json()?;
    ensure!(checked.code == 0 && found["broken"] == json!([]) && found["needs"] == json!([]), "{found}");
    ensure!(found["offers"] == json!({ "subscriptions": true, "completions": true, "live": true }), "{found}");
    ensure!(strings(&found["exports"]).contains(&"wharf:provider/resources@0.1.0"), "{found}");
    ensure!(strings(&found["imports"]).iter().any(|name| name.starts_with("wasi:clocks/wall-clock@")), "{found}");
    ensure!(found["templates"] == json!([{ "uriTemplate": "clock://zone/{+name}", "sample": "clock://zone/Africa/Cairo" }]), "{found}");
    ensure!(found["reads"].as_array().is_some_and(|reads| reads.len() == 5), "{found}");
    let words = wharf(folder.path(), &["check", "plugins/clock.wasm"]).await?.text()?;
    ensure!(words.ends_with("\nfine\n"), "{words}");
    Ok(())
}

#[tokio::test]
async fn every_broken_rule_of_a_component_is_named() -> Result<()> {
    let folder = Setup::new().guest("basic").prepare().await?;
    let checked = wharf(folder.path(), &["check", "plugins/basic.wasm", "--json"]).await?;
    let found = checked.json()?;
    let broken = strings(&found["broken"]);
    ensure!(checked.code == 1, "{found}");
    for rule in
        ["its size was left out", "an icon was left out", "its last-modified was left out", "its meta-json was left out", "\"not a uri\""]
    {
        ensure!(broken.iter().any(|broken| broken.contains(rule)), "{rule} is not in {found}");
    }
    Ok(())
}

/// Checks `hostile` with this setting for what it lists.
async fn check_hostile(list: &str) -> Result<(Output, Value)> {
    let config = format!("[[provider]]\nname = \"hostile\"\n[provider.settings]\nlist = \"{list}\"\n");
    let folder = Setup::new().guest("hostile").config(&config).prepare().await?;
    let checked = wharf(folder.path(), &["check", "plugins/hostile.wasm", "--json"]).await?;
    let found = checked.json()?;
    Ok((checked, found))
}

#[tokio::test]
async fn what_a_component_needs_is_no_broken_rule() -> Result<()> {
    for (list, need) in
        [("denied", "its lists: denied: grant the folder notes"), ("needs", "hostile://needs, which it lists: unavailable: set token")]
    {
        let (checked, found) = check_hostile(list).await?;
        ensure!(checked.code == 0 && found["broken"] == json!([]), "{found}");
        ensure!(strings(&found["needs"]).iter().any(|found| found.contains(need)), "{found}");
    }
    Ok(())
}

#[tokio::test]
async fn after_a_crash_the_check_goes_on_with_a_fresh_instance() -> Result<()> {
    let (checked, found) = check_hostile("traps").await?;
    let reads = json!([{ "uri": "hostile://trap", "bytes": null }, { "uri": "hostile://ok", "bytes": 2 }]);
    ensure!(checked.code == 1 && found["reads"] == reads && found["needs"] == json!([]), "{found}");
    Ok(())
}

#[tokio::test]
async fn a_check_uses_what_wharf_toml_sets_for_the_file_and_names_what_is_wrong() -> Result<()> {
    for (list, rule) in [
        ("trap", "its lists: the provider crashed"),
        ("reserved", "the scheme wharf: is the host's own"),
        ("duplicates", "it is listed twice"),
        ("not-found", "it lists hostile://not-found, and answers not found to a read of it"),
    ] {
        let (checked, found) = check_hostile(list).await?;
        ensure!(checked.code == 1 && strings(&found["broken"]).iter().any(|broken| broken.contains(rule)), "{found}");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_no_component_is_checked_with_words_that_help() -> Result<()> {
    let core = b"\0asm\x01\0\0\0";
    let folder = Setup::new().file("core.wasm", core).prepare().await?;
    let checked = wharf(folder.path(), &["check", "plugins/core.wasm", "--json"]).await?;
    let found = checked.json()?;
    ensure!(
        checked.code == 1 && found["loads"] == false && found["broken"][0].as_str().is_some_and(|rule| rule.contains("wasm32-wasip2")),
        "{found}"
    );
    fails(&wharf(folder.path(), &["check", "nowhere.wasm"]).await?, 1, "cannot read nowhere.wasm")?;
    fails(&wharf(folder.path(), &["check"]).await?, 2, "FILE.wasm")?;
    Ok(())
}

#[tokio::test]
async fn a_wharf_toml_is_checked_and_its_error_shows_the_line() -> Result<()> {
    let folder = Setup::new().config("[[resource]]\nname = \"a\"\ntext = \"hello\"\n").prepare().await?;
    let check = async |args: &[&str]| wharf(folder.path(), &[&["config", "check"], args].concat()).await;
    ensure!(check(&[]).await?.text()? == "fine: 1 resource, 0 providers\n");
    ensure!(check(&["--json"]).await?.json()? == json!({ "resources": 1, "providers": 0 }));
    fs::write(folder.path().join("wrong.toml"), "[server]\nhtpp = 1\n")?;
    fails(&check(&["wrong.toml"]).await?, 1, "2 | htpp = 1")?;
    fails(&check(&["nowhere.toml"]).await?, 1, "cannot read nowhere.toml")?;
    fails(&wharf(folder.path(), &["list", "--config", "wrong.toml"]).await?, 1, "did you mean `http`?")?;
    let schema = wharf(folder.path(), &["config", "schema"]).await?.json()?;
    ensure!(schema["properties"]["provider"].is_object(), "{schema}");
    Ok(())
}

#[tokio::test]
async fn a_file_is_trusted_until_it_changes_or_is_removed() -> Result<()> {
    let folder = Setup::new().prepare().await?;
    let trust = async |args: &[&str]| wharf(folder.path(), &[&["trust"], args].concat()).await;
    let state = async || -> Result<Value> { Ok(trust(&["--list", "--json"]).await?.json()?["files"][0]["state"].clone()) };
    ensure!(state().await?.is_null());
    ensure!(trust(&[]).await?.text()?.starts_with("recorded "));
    ensure!(state().await? == "trusted");
    fs::write(folder.path().join("wharf.toml"), "# changed\n")?;
    ensure!(state().await? == "changed");
    ensure!(trust(&["--remove"]).await?.text()?.starts_with("removed "));
    ensure!(state().await?.is_null());
    fails(&trust(&["--remove"]).await?, 1, "is not recorded")?;
    fails(&trust(&["nowhere.toml"]).await?, 1, "cannot read nowhere.toml")?;
    fails(&trust(&["--list", "--remove"]).await?, 2, "cannot be used with")?;
    Ok(())
}

#[tokio::test]
async fn the_wit_files_are_those_of_this_repository() -> Result<()> {
    let folder = Setup::new().prepare().await?;
    ensure!(wharf(folder.path(), &["wit", "-o", "a/wit"]).await?.text()?.lines().eq(["a/wit/provider.wit"]));
    ensure!(fs::read(folder.path().join("a/wit/provider.wit"))? == fs::read(root().join("wit/provider.wit"))?);
    fails(&wharf(folder.path(), &["wit", "-o", "wharf.toml"]).await?, 1, "cannot make the folder wharf.toml")?;
    Ok(())
}
