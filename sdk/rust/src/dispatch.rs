//! From a call of the host to the function that answers it. Plain Rust, without the ABI: what is in here is tested as it is.
//!
//! Invariant: the URI of a resource is looked up among those the list gave, and a URI of a template is handed over with its variables; none
//! is ever taken apart here.

use crate::{
    bindings::types::{Reuse, TemplateInfo, TemplateMatch},
    error::{Error, Result},
    provider::Provider,
    reading::{Reading, Suggestions},
    request::{Request, Variables},
};

/// One page of the list.
pub(crate) type Page = crate::bindings::types::ResourcePage;
/// Suggestions that the host passes on.
const SUGGESTIONS: usize = 100;

impl<S> Provider<S> {
    /// What is used here and not named in `export!`, so that the host would never call it.
    pub(crate) fn check(&self, exported: &[&str]) -> Result<()> {
        let used = [
            ("subscriptions", self.offers.iter().any(|offer| offer.subscribable)),
            ("completions", self.offers.iter().any(|offer| !offer.complete.is_empty())),
            ("webhooks", !self.webhooks.is_empty()),
        ];
        match used.iter().find(|(part, used)| *used && !exported.contains(part)) {
            Some((part, _)) => Err(Error::Failed("this provider has use for an export that export! does not name: ".to_owned() + part)),
            None => Ok(()),
        }
    }

    /// A cursor is the number of resources before the page.
    pub(crate) fn list(&mut self, cursor: Option<&str>) -> Result<Page> {
        let unknown = || Error::invalid("no such page: the list begins without a cursor");
        let from = match cursor {
            Some(cursor) => cursor.parse().ok().filter(|from| *from > 0).ok_or_else(unknown)?,
            None => 0,
        };
        let (given, rest) = std::mem::take(&mut self.rest);
        // What an earlier page left is here, unless another instance gave that page.
        let mut resources = match from > 0 && from == given {
            true => rest,
            false => {
                let mut all = self.enumerate()?;
                if from > 0 && from >= all.len() {
                    return Err(unknown());
                }
                all.split_off(from)
            }
        };
        let mut next_cursor = None;
        if resources.len() > self.page {
            let given = from + self.page;
            self.rest = (given, resources.split_off(self.page));
            next_cursor = Some(given.to_string());
        }
        let fixed = self.offers.iter().all(|offer| offer.list.is_none());
        let reuse = self.list_reuse.or(fixed.then_some(Reuse::UntilAnnounced));
        Ok(Page { resources, next_cursor, reuse })
    }

    pub(crate) fn templates(&self) -> Vec<TemplateInfo> {
        self.offers.iter().filter(|offer| offer.is_template).map(|offer| offer.fields.template()).collect()
    }

    /// `None`: unchanged.
    pub(crate) fn answer(&mut self, uri: String, matched: Option<TemplateMatch>, if_none_match: Option<String>) -> Result<Option<Reading>> {
        let (at, variables) = self.find(&uri, matched)?;
        let offer = self.offers.get(at).ok_or(Error::NotFound)?;
        let request = Request { uri, variables, if_none_match };
        let reading = (offer.read)(&mut self.state, &request)?;
        let unchanged = reading.contents.is_none() || reading.version.is_some() && reading.version == request.if_none_match;
        Ok((!unchanged).then_some(reading))
    }

    pub(crate) fn subscribe(&mut self, uri: String, matched: Option<TemplateMatch>) -> Result<()> {
        let (at, variables) = self.find(&uri, matched)?;
        let offer = self.offers.get(at).ok_or(Error::NotFound)?;
        if !offer.subscribable {
            return Err(Error::Failed(uri + " does not tell of changes"));
        }
        let request = Request { uri, variables, if_none_match: None };
        if let Some(subscribe) = &offer.on_subscribe {
            subscribe(&mut self.state, &request)?;
        }
        if offer.on_unsubscribe.is_some() {
            self.subscribed.push((at, request));
        }
        Ok(())
    }

    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        let Some(at) = self.subscribed.iter().position(|(_, request)| request.uri == uri) else { return };
        let (at, request) = self.subscribed.swap_remove(at);
        if let Some(unsubscribe) = self.offers.get(at).and_then(|offer| offer.on_unsubscribe.as_ref()) {
            unsubscribe(&mut self.state, &request);
        }
    }

    pub(crate) fn complete(&mut self, template: &str, variable: &str, typed: &str, known: Vec<(String, String)>) -> Result<Suggestions> {
        let offer = self.offers.iter().find(|offer| offer.is_template && offer.fields.uri == template).ok_or(Error::NotFound)?;
        // The host takes this as no suggestions.
        let (_, complete) = offer.complete.iter().find(|(name, _)| name == variable).ok_or(Error::NotFound)?;
        let mut suggestions = complete(&mut self.state, typed, &Variables(known))?;
        suggestions.values.truncate(SUGGESTIONS);
        Ok(suggestions)
    }

    /// Whose it is.
    fn find(&mut self, uri: &str, matched: Option<TemplateMatch>) -> Result<(usize, Variables)> {
        if let Some(TemplateMatch { uri_template, variables }) = matched {
            let at = self.offers.iter().position(|offer| offer.is_template && offer.fields.uri == uri_template);
            return at.map(|at| (at, Variables(variables))).ok_or(Error::NotFound);
        }
        if let Some(at) = self.offers.iter().position(|offer| !offer.is_template && offer.fields.uri == uri) {
            return Ok((at, Variables::default()));
        }
        if let Some(found) = self.find_listed(uri) {
            return Ok(found);
        }
        if self.offers.iter().any(|offer| offer.list.is_some()) {
            // Another instance gave that list.
            self.enumerate()?;
        }
        self.find_listed(uri).ok_or(Error::NotFound)
    }

    fn find_listed(&self, uri: &str) -> Option<(usize, Variables)> {
        self.offers.iter().enumerate().find_map(|(at, offer)| Some((at, offer.list.as_ref()?.find(uri)?)))
    }
}
