//! Why a URI belongs to whom it does, or to nobody: for people, and on no path that serves clients.

use std::sync::Arc;

use super::snapshot::{Candidate, Place, Serving, Snapshot, holder};

/// Listed URIs and templates that are named as near.
pub const NEAR_URIS: usize = 5;
/// The share of characters that two URIs must have in common to be near.
const NEAR: f64 = 0.6;
/// Longer URIs, in bytes, are not compared: that takes time in proportion to the square.
const COMPARED_BYTES: usize = 512;

/// All that bears on who owns a URI.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// Who may own it, in the order in which they are asked.
    pub candidates: Vec<Candidate>,
    /// For each candidate, whether it is a direct registration.
    pub direct: Vec<bool>,
    /// Those that would be candidates if another had not claimed it.
    pub kept_out: Vec<KeptOut>,
    /// Who has claimed the beginning of it, and which beginning.
    pub claim: Option<(Arc<str>, String)>,
    /// Listed URIs that are nearly this one, the nearest first, at most [`NEAR_URIS`]; and who lists them.
    pub near: Vec<(Arc<str>, Arc<str>)>,
    /// Templates of the same scheme that it does not match, those first that begin as it does, at most [`NEAR_URIS`]; and who has them.
    pub unmatched: Vec<(Arc<str>, Arc<str>)>,
}

/// A provider that lists a URI, or has a template for it, and may not have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOut {
    /// The provider's name.
    pub name: Arc<str>,
    /// The template that the URI would match; absent if the URI is listed.
    pub template: Option<Arc<str>>,
}

impl Snapshot {
    /// Explains who owns this URI. Takes time in proportion to all that is listed.
    pub fn explain(&self, uri: &str) -> Explanation {
        let candidates = self.candidates(uri);
        let is_direct = |candidate: &Candidate| self.places.iter().any(|place| place.slot == candidate.source.slot && place.direct);
        Explanation {
            direct: candidates.iter().map(is_direct).collect(),
            kept_out: self.kept_out(uri),
            claim: holder(&self.places, uri).map(|(place, claim)| (place.name.clone(), claim.to_owned())),
            near: self.near(uri),
            unmatched: self.unmatched(uri),
            candidates,
        }
    }

    fn kept_out(&self, uri: &str) -> Vec<KeptOut> {
        let mut kept_out = Vec::new();
        for (place, serving) in self.serving() {
            let name = || place.name.clone();
            if self.is_claimed(place, uri) {
                if serving.lists.resources.iter().any(|info| *info.uri == *uri) {
                    kept_out.push(KeptOut { name: name(), template: None });
                }
                let matching = serving.lists.templates.iter().filter(|(_, template)| template.matches(uri).is_some());
                kept_out.extend(matching.map(|(info, _)| KeptOut { name: name(), template: Some(info.uri_template.clone()) }));
            }
        }
        kept_out
    }

    fn near(&self, uri: &str) -> Vec<(Arc<str>, Arc<str>)> {
        let nearness = |listed: &str| match listed.len().max(uri.len()) {
            ..=COMPARED_BYTES if listed != uri => strsim::normalized_levenshtein(listed, uri),
            _ => 0.0,
        };
        let mut near: Vec<(f64, &Arc<str>)> = self.merged.resources.iter().map(|info| (nearness(&info.uri), &info.uri)).collect();
        near.retain(|(nearness, _)| *nearness >= NEAR);
        near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        near.truncate(NEAR_URIS);
        let lister = |uri: &str| self.listed_by(uri).first().map(|at| self.places[*at as usize].name.clone());
        near.into_iter().filter_map(|(_, uri)| Some((uri.clone(), lister(uri)?))).collect()
    }

    fn unmatched(&self, uri: &str) -> Vec<(Arc<str>, Arc<str>)> {
        let scheme = |text: &str| text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let common = |template: &str| template.bytes().zip(uri.bytes()).take_while(|(a, b)| a == b).count();
        let of_place = |(place, serving): (&Place, &Serving)| -> Vec<(Arc<str>, Arc<str>)> {
            let near = serving.lists.templates.iter().filter(|(info, template)| {
                scheme(&info.uri_template) == scheme(uri) && template.matches(uri).is_none() && !self.is_claimed(place, &info.uri_template)
            });
            near.map(|(info, _)| (info.uri_template.clone(), place.name.clone())).collect()
        };
        let mut unmatched: Vec<_> = self.serving().flat_map(of_place).collect();
        unmatched.sort_by_key(|(template, _)| std::cmp::Reverse(common(template)));
        unmatched.truncate(NEAR_URIS);
        unmatched
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        catalog::{Catalog, Position, Rules},
        provider::{EventQueue, Offers, TemplateInfo, memory::Memory},
    };

    async fn explain(providers: &[(&[&str], &[&str], &[&str])], uri: &str) -> Explanation {
        let (catalog, queue) = (Catalog::new(Duration::from_secs(3), [0; 8]), Arc::new(EventQueue::default()));
        let rules = |claims: &[&str]| Rules { claims: claims.iter().map(ToString::to_string).collect(), public: false };
        let position =
            |(slot, (_, _, claims)): (u32, &(_, _, &[&str]))| Position { slot, name: format!("p{slot}").into(), rules: rules(claims) };
        catalog.arrange(false, (1..).zip(providers).map(position).collect());
        for (slot, (uris, templates, _)) in (1..).zip(providers) {
            let provider = Memory::new(slot, &queue, Offers::default());
            for uri in *uris {
                provider.put(uri, "");
            }
            provider.shelf.lock().templates = templates.iter().map(|template| TemplateInfo::new(*template, "t")).collect();
            catalog.load(provider.clone(), &provider.announcer).await.unwrap();
        }
        catalog.snapshot().explain(uri)
    }

    #[tokio::test]
    async fn those_that_a_claim_keeps_out_are_named_with_the_claim() {
        let explained = explain(&[(&["x://a/b"], &["x://a/{v}"], &[]), (&["x://a/b"], &[], &["x://a"])], "x://a/b").await;
        assert_eq!(explained.candidates.iter().map(|candidate| &*candidate.name).collect::<Vec<_>>(), ["p2"]);
        assert_eq!(explained.claim, Some(("p2".into(), "x://a".into())));
        let kept_out = |template: Option<&str>| KeptOut { name: "p1".into(), template: template.map(Into::into) };
        assert_eq!(explained.kept_out, [kept_out(None), kept_out(Some("x://a/{v}"))]);
    }

    #[tokio::test]
    async fn where_nobody_has_it_what_comes_near_is_named() {
        let lists: (&[&str], &[&str], &[&str]) = (&["x://notes/one", "y://other"], &["x://notes/{a}/{b}", "x://all", "y://{a}"], &[]);
        let explained = explain(&[lists], "x://notes/onn").await;
        assert!(explained.candidates.is_empty() && explained.kept_out.is_empty());
        assert_eq!(explained.near, [("x://notes/one".into(), "p1".into())]);
        assert_eq!(explained.unmatched, [("x://notes/{a}/{b}".into(), "p1".into()), ("x://all".into(), "p1".into())]);
    }

    #[tokio::test]
    async fn no_more_is_named_than_helps_and_long_uris_are_not_compared() {
        let long = format!("x://{}", "a".repeat(COMPARED_BYTES));
        let uris: Vec<String> = (0..9).map(|n| format!("x://item/{n}")).collect();
        let uris: Vec<&str> = uris.iter().map(String::as_str).chain([&*long]).collect();
        assert_eq!(explain(&[(&uris, &[], &[])], "x://item/x").await.near.len(), NEAR_URIS);
        assert!(explain(&[(&uris, &[], &[])], &format!("{long}a")).await.near.is_empty());
    }
}
