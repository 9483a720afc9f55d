//! `wharf explain`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use wharf::{
    catalog::{Candidate, Explanation},
    host::Host,
    provider::{Error, ReadRequest},
};

use super::{
    once, output,
    read::{parse_uri, reason},
    sources::SourceArgs,
};

/// Arguments of `wharf explain`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The resource
    #[arg(value_parser = parse_uri)]
    uri: String,
    #[command(flatten)]
    sources: SourceArgs,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// What a candidate is to the URI.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// It was asked, and answers for the URI: with contents, or with this error.
    Owner(Option<Error>),
    /// It was asked, and answered not-found.
    PassedOver,
    /// It is not asked, since one before it owns the URI.
    Shadowed,
}

/// Success if somebody owns it.
pub(super) fn run(args: Args) -> Result<ExitCode> {
    let Args { uri, sources, json } = args;
    let (explained, parts) = once::ask(sources, async |host: &Host| {
        // A list that is old by now is asked for again, as a read would have it.
        host.has(&uri).await;
        let explained = host.catalog().snapshot().explain(&uri);
        let parts = ask(&explained.candidates, &uri).await;
        Ok((explained, parts))
    })?;
    if json {
        output::json(&in_json(&uri, &explained, &parts))?;
    } else {
        output::lines(in_words(&uri, &explained, &parts))?;
    }
    let owned = parts.iter().any(|part| matches!(part, Part::Owner(_)));
    Ok(if owned { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Goes down the candidates as a read does.
async fn ask(candidates: &[Candidate], uri: &str) -> Vec<Part> {
    let mut parts = Vec::with_capacity(candidates.len());
    let mut owned = false;
    for candidate in candidates {
        if owned {
            parts.push(Part::Shadowed);
            continue;
        }
        let request = ReadRequest { uri: uri.into(), matched: candidate.matched.clone(), if_none_match: None };
        parts.push(match candidate.provider.read(request).await {
            Err(Error::NotFound) => Part::PassedOver,
            answer => {
                owned = true;
                Part::Owner(answer.err())
            }
        });
    }
    parts
}

/// Why a candidate stands where it does.
fn rank(candidate: &Candidate, direct: bool) -> &'static str {
    match (candidate.matched.is_none(), direct) {
        (true, true) => "lists it, and is a direct registration: before all others",
        (true, false) => "lists it: before every template",
        (false, true) => "has a template for it, and is a direct registration: after all that list it, before the providers' templates",
        (false, false) => "has a template for it: after all that list it",
    }
}

fn in_words(uri: &str, explained: &Explanation, parts: &[Part]) -> Vec<String> {
    let Explanation { candidates, direct, kept_out, claim, near, unmatched } = explained;
    let owner = candidates.iter().zip(parts).find(|(_, part)| matches!(part, Part::Owner(_))).map(|(candidate, _)| candidate);
    let mut lines = vec![match owner {
        Some(owner) => format!("{uri} belongs to {}", owner.name),
        None if candidates.is_empty() => format!("{uri} belongs to nobody: no provider lists it, and no template matches it"),
        None => format!("{uri} belongs to nobody: all that could have it answer not found"),
    }];
    for (number, ((candidate, direct), part)) in (1..).zip(candidates.iter().zip(direct).zip(parts)) {
        lines.push(format!("{number}. {} {}", candidate.name, rank(candidate, *direct)));
        if let Some(matched) = &candidate.matched {
            let values: Vec<String> = matched.variables.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
            lines.push(format!(
                "   {} with {}",
                matched.uri_template,
                if values.is_empty() { "no values".into() } else { values.join(", ") }
            ));
        }
        lines.push(match part {
            Part::Owner(None) => "   owns it: the first that does not answer not found".into(),
            Part::Owner(Some(error)) => format!("   owns it, and answers a read with an error, which is final: {}", reason(error)),
            Part::PassedOver => "   passed over: it answers not found".into(),
            Part::Shadowed => "   shadowed: one before it owns the URI".into(),
        });
    }
    if let Some((holder, claim)) = claim {
        lines.push(format!("{holder} claims all that begins with {claim} (wharf.toml: claims)"));
    }
    for kept in kept_out {
        let how = kept.template.as_ref().map_or_else(|| "lists it".into(), |template| format!("has {template} for it"));
        lines.push(format!("kept out by that claim: {} {how}", kept.name));
    }
    if owner.is_none() {
        lines.extend(near.iter().map(|(uri, name)| format!("near: {uri} ({name})")));
        lines.extend(unmatched.iter().map(|(template, name)| format!("no match: {template} ({name})")));
    }
    lines
}

fn in_json(uri: &str, explained: &Explanation, parts: &[Part]) -> Value {
    let Explanation { candidates, direct, kept_out, claim, .. } = explained;
    let owner = candidates.iter().zip(parts).find(|(_, part)| matches!(part, Part::Owner(_))).map(|(candidate, _)| &*candidate.name);
    // What comes near helps only where nobody has it.
    let (near, unmatched) = if owner.is_none() { (&explained.near[..], &explained.unmatched[..]) } else { (&[][..], &[][..]) };
    let candidate = |((candidate, direct), part): ((&Candidate, &bool), &Part)| {
        let (part, error) = match part {
            Part::Owner(error) => ("owner", error.as_ref()),
            Part::PassedOver => ("not-found", None),
            Part::Shadowed => ("shadowed", None),
        };
        let mut value = json!({ "provider": &*candidate.name, "direct": direct, "listed": candidate.matched.is_none(), "part": part });
        if let Some(matched) = &candidate.matched {
            value["uriTemplate"] = (*matched.uri_template).into();
            value["variables"] = matched.variables.iter().map(|(name, value)| json!([name, value])).collect();
        }
        if let Some(error) = error {
            value["error"] = json!({ "kind": error.kind(), "message": error.to_string() });
        }
        value
    };
    json!({
        "uri": uri,
        "owner": owner,
        "candidates": candidates.iter().zip(direct).zip(parts).map(candidate).collect::<Vec<_>>(),
        "claim": claim.as_ref().map(|(holder, claim)| json!({ "provider": &**holder, "prefix": claim })),
        "keptOut": kept_out.iter().map(|kept| json!({ "provider": &*kept.name, "uriTemplate": kept.template.as_deref() })).collect::<Vec<_>>(),
        "near": near.iter().map(|(uri, name)| json!({ "uri": &**uri, "provider": &**name })).collect::<Vec<_>>(),
        "unmatched": unmatched.iter().map(|(template, name)| json!({ "uriTemplate": &**template, "provider": &**name })).collect::<Vec<_>>(),
    })
}
