//! One and the same contract, kept in every language: the fixtures of `tests/languages/` offer the same, and a client cannot tell which
//! language it hears. What each offers is said in `tests/languages/README.md`.

mod changes;
mod deaths;
mod errors;
mod examples;
mod lists;
mod readings;
mod runtime;
mod templates;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use wharf_tests::{Host, Session, Setup, call};

const FULL: &str = "contract://full";
const COUNT: &str = "contract://count";
const SETTING: &str = "contract://setting";

/// A test for each language, of the same name as the function that tests it.
macro_rules! in_each_language {
    ($($language:ident: $($module:ident::$test:ident),*;)*) => { $(
        mod $language {
            $(#[tokio::test]
            async fn $test() -> anyhow::Result<()> {
                super::$module::$test(stringify!($language)).await
            })*
        }
    )* };
}

/// The tests, for these languages: all that `wharf new` knows.
macro_rules! languages {
    ($($language:ident)*) => {
        in_each_language! { $($language:
            changes::a_change_arrives_and_after_the_last_unsubscribe_no_other,
            changes::a_listen_hears_what_is_announced,
            changes::what_cannot_be_watched_is_subscribed_all_the_same,
            deaths::a_crash_is_told_and_the_next_instance_goes_on,
            deaths::a_busy_loop_is_cut_at_the_deadline,
            deaths::an_allocation_loop_is_cut_at_the_cap,
            errors::each_error_arrives_as_mcp_has_it,
            lists::every_listed_field_arrives_in_both_eras,
            lists::suggestions_arrive_and_know_what_is_filled_in,
            readings::every_kind_of_content_arrives_in_both_eras,
            readings::a_template_s_variables_arrive_decoded,
            readings::a_setting_is_read,
            runtime::what_the_check_finds_is_fine,
            runtime::stderr_is_in_the_log_under_the_provider_s_name,
            runtime::randomness_and_the_clock_are_those_of_the_run,
            templates::a_new_project_is_built_and_served_and_a_saved_change_reaches_a_client;
        )* }

        const LANGUAGES: &[&str] = &[$(stringify!($language)),*];
    };
}

languages! { rust js ts python go c cpp zig assemblyscript }

/// A host that serves a language's fixture, which has loaded.
async fn serving(language: &str) -> Result<Host> {
    serving_with(language, "").await
}

/// As [`serving`], with more lines of wharf.toml about it.
async fn serving_with(language: &str, lines: &str) -> Result<Host> {
    let mut host = Setup::new().guest(language).config(&format!("[[provider]]\nname = {language:?}\n{lines}")).start().await?;
    host.wait_for_load(language).await?;
    Ok(host)
}

async fn read(host: &Host, uri: &str) -> Result<Value> {
    call(host, "resources/read", json!({ "uri": uri })).await.context(uri.to_owned())
}

/// The text of what has one content.
async fn text(host: &Host, uri: &str) -> Result<String> {
    let read = read(host, uri).await?;
    let contents = read["contents"].as_array().filter(|contents| contents.len() == 1);
    Ok(contents.and_then(|contents| contents[0]["text"].as_str()).with_context(|| format!("{uri}: no text but {read}"))?.to_owned())
}

async fn count(host: &Host) -> Result<u64> {
    let count = text(host, COUNT).await?;
    count.parse().with_context(|| format!("{COUNT}: {count:?}"))
}

/// The same request in both eras.
async fn both(host: &Host, method: &str, params: Value) -> Result<[Value; 2]> {
    let session = Session::open(host).await?;
    let what = format!("{method} {params}");
    let legacy = session.call(method, params.clone()).await.with_context(|| what.clone())?;
    Ok([legacy, call(host, method, params).await.context(what)?])
}

#[test]
fn every_language_of_wharf_new_is_tested() -> Result<()> {
    let mut templates: Vec<String> = std::fs::read_dir(wharf_tests::root().join("host/templates"))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    let mut tested: Vec<&str> = LANGUAGES.to_vec();
    templates.sort();
    tested.sort_unstable();
    anyhow::ensure!(templates == tested, "{templates:?} and {tested:?}");
    Ok(())
}
