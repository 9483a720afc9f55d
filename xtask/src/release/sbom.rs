//! What is in the binary, for programs: a bill of materials in CycloneDX 1.6 (ECMA-424), as JSON.
//!
//! Written here, since all of it is known: it names what the binary is linked with at the features it is built with, and is the same whenever it
//! is made. It has no serial number, which would be another each time.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::{
    ASK_LIMIT, Job,
    contents::NAME,
    crates::{Crate, Key},
};
use crate::run;

/// The bill of a release.
pub fn write(job: &Job) -> Result<Vec<u8>> {
    let sum = run::output(Command::new("sha256sum").arg(job.binary()), ASK_LIMIT)?;
    let sum = sum.split_whitespace().next().context("sha256sum said nothing")?;
    let time = run::output(Command::new("date").args(["--utc", "--date", &format!("@{}", job.epoch), "+%Y-%m-%dT%H:%M:%SZ"]), ASK_LIMIT)?;
    let mut text = serde_json::to_vec_pretty(&bill(job, sum, time.trim()))?;
    text.push(b'\n');
    Ok(text)
}

fn bill(job: &Job, sum: &str, time: &str) -> Value {
    let of_the_host = |key: &Key| key.0 == NAME;
    let host = job.crates.0.iter().find(|(key, _)| of_the_host(key));
    let host = host.map(|(key, one)| {
        let mut component = component("application", key, one);
        component.insert("hashes".into(), json!([{ "alg": "SHA-256", "content": sum }]));
        component
    });
    let others = job.crates.0.iter().filter(|(key, _)| !of_the_host(key)).map(|(key, one)| component("library", key, one));
    let edges = job.crates.0.iter().map(|(key, one)| json!({ "ref": url(key), "dependsOn": one.uses.iter().map(url).collect::<Vec<_>>() }));
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": host,
            "properties": [{ "name": "cargo:target", "value": job.target }],
        },
        "components": others.collect::<Vec<_>>(),
        "dependencies": edges.collect::<Vec<_>>(),
    })
}

fn component(kind: &str, key: &Key, one: &Crate) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| drop(fields.insert(name.into(), value));
    set("type", kind.into());
    set("bom-ref", url(key).into());
    set("name", key.0.clone().into());
    set("version", key.1.clone().into());
    if let Some(licence) = &one.licence {
        set("licenses", json!([{ "expression": licence }]));
    }
    if let Some(sum) = &one.checksum {
        set("hashes", json!([{ "alg": "SHA-256", "content": sum }]));
    }
    set("purl", url(key).into());
    if let Some(repository) = &one.repository {
        set("externalReferences", json!([{ "type": "vcs", "url": repository }]));
    }
    fields
}

/// Its package URL (ECMA-427), which is its name in the bill, too. Names of crates need no escapes; `+` of a version's build does.
fn url((name, version): &Key) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::{release::crates::Crates, repo::Repo};

    #[test]
    fn each_crate_is_named_once_and_every_reference_leads_to_one() {
        let key = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let one = |uses: &[Key]| Crate {
            licence: Some("MIT OR Apache-2.0".into()),
            repository: None,
            folder: "/c".into(),
            checksum: Some("ab".repeat(32)),
            uses: uses.iter().cloned().collect(),
        };
        let (a, b) = (key("a", "1.0.0+1"), key("b", "2.0.0"));
        let crates = Crates(BTreeMap::from([
            (key(NAME, "0.1.0"), one(&[a.clone(), b.clone()])),
            (a.clone(), one(std::slice::from_ref(&b))),
            (b, one(&[])),
        ]));
        let repo = Repo { root: "/w".into() };
        let job = Job {
            repo: &repo,
            version: "0.1.0".into(),
            target: "x86_64-unknown-linux-musl".into(),
            target_folder: "/t".into(),
            program: "/p".into(),
            epoch: 0,
            crates,
            out: "/o".into(),
        };
        let bill = bill(&job, "00", "1970-01-01T00:00:00Z");
        assert_eq!(bill["metadata"]["component"]["bom-ref"], "pkg:cargo/wharf@0.1.0");
        assert_eq!(bill["metadata"]["component"]["hashes"][0]["content"], "00");
        let named: Vec<&str> = bill["components"].as_array().unwrap().iter().map(|one| one["bom-ref"].as_str().unwrap()).collect();
        assert_eq!(named, ["pkg:cargo/a@1.0.0%2B1", "pkg:cargo/b@2.0.0"]);
        let known: BTreeSet<&str> = named.into_iter().chain(["pkg:cargo/wharf@0.1.0"]).collect();
        for edge in bill["dependencies"].as_array().unwrap() {
            let ends = edge["dependsOn"].as_array().unwrap().iter().chain([&edge["ref"]]);
            assert!(ends.map(|end| end.as_str().unwrap()).all(|end| known.contains(end)), "{edge}");
        }
        assert_eq!(bill["dependencies"].as_array().unwrap().len(), known.len());
    }
}
