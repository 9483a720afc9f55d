//! Suggestions for the variables of templates.
//!
//! Invariants: the first place in order that lists a template answers for it, and nobody else is asked; a provider is asked only about a variable
//! that its template has.

use std::{collections::HashMap, sync::Arc};

use tokio::time::Instant;

use super::{
    Caller, Catalog,
    snapshot::{Serving, Snapshot, State},
};
use crate::{
    provider::{Completion, CompletionRequest, Error, TemplateInfo, guarded},
    uri::template::Template,
};

/// Suggestions in one answer (MCP, Completion: at most 100).
pub const COMPLETION_VALUES: usize = 100;

/// Why there is no answer, not even an empty one.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CompleteError {
    /// Nobody lists such a template, nor a resource of that URI.
    #[error("there is no such resource or template")]
    UnknownTemplate,
    /// The template has no such variable.
    #[error("the template has no such variable; it has {}", listed(.0))]
    UnknownVariable(Vec<String>),
    /// The template's owner said no.
    #[error("{provider}: {error}")]
    Provider {
        /// The owner's name.
        provider: Arc<str>,
        /// What it said; never [`Error::NotFound`].
        error: Error,
    },
}

fn listed(variables: &[String]) -> String {
    if variables.is_empty() { "none".into() } else { variables.join(", ") }
}

/// Who lists a template.
struct Owner<'a> {
    name: &'a Arc<str>,
    serving: &'a Serving,
    info: &'a TemplateInfo,
    template: &'a Template,
}

impl Snapshot {
    /// The first place that lists this template, and whether one before it still loads. There may be such a one and no owner.
    fn owner(&self, uri_template: &str) -> (Option<Owner<'_>>, bool) {
        let mut loading = false;
        for place in &self.places {
            match &place.state {
                State::Loading(_) => loading = true,
                State::Refused => {}
                State::Serving(serving) => {
                    let is_it = |info: &TemplateInfo| *info.uri_template == *uri_template && !self.is_claimed(place, uri_template);
                    let found = serving.lists.templates.iter().find(|(info, _)| is_it(info));
                    if let Some((info, template)) = found {
                        return (Some(Owner { name: &place.name, serving, info, template }), loading);
                    }
                }
            }
        }
        (None, loading)
    }

    fn knows(&self, uri_or_template: &str) -> bool {
        !self.listed_by(uri_or_template).is_empty() || self.owner(uri_or_template).0.is_some()
    }
}

impl Catalog {
    /// Suggests values for the variable `argument` of a template, of which `value` is typed already, maybe nothing. `known` are name and value
    /// of the other variables as far as they are filled in; names that the template has not are passed over, and the owner gets them in the template's order. At most
    /// [`COMPLETION_VALUES`], best first.
    ///
    /// The answer is empty if the owner suggests nothing, or answers `not-found`, and for a resource that is listed by its URI,
    /// which has nothing to fill in. Waits for providers that still load and may go before the owner, at most the loading time, and for the owner at most
    /// its own deadline. Dropping the future gives up waiting.
    ///
    /// # Errors
    /// [`CompleteError`].
    pub async fn complete(
        &self,
        caller: &Caller,
        uri_template: &str,
        argument: &str,
        value: &str,
        known: &[(String, String)],
    ) -> Result<Completion, CompleteError> {
        let deadline = Instant::now() + self.loading_time;
        let view = caller.view();
        self.wait_until(view, deadline, |snapshot| !snapshot.owner(uri_template).1).await;
        if !self.seen_in(view).knows(uri_template) {
            self.refresh(view, deadline).await;
        }
        let snapshot = self.seen_in(view);
        let (Some(Owner { name, serving, info, template }), _) = snapshot.owner(uri_template) else {
            return if snapshot.knows(uri_template) { Ok(nothing()) } else { Err(CompleteError::UnknownTemplate) };
        };
        if !template.variables().any(|variable| variable == argument) {
            return Err(CompleteError::UnknownVariable(template.variables().map(Into::into).collect()));
        }
        if !serving.provider.offers().completions {
            return Ok(nothing());
        }
        let places: HashMap<&str, usize> = template.variables().zip(0..).filter(|(variable, _)| *variable != argument).collect();
        let mut known: Vec<_> = known.iter().filter_map(|pair| Some((places.get(&*pair.0)?, pair.clone()))).collect();
        known.sort_by_key(|(place, _)| *place);
        let request = CompletionRequest {
            uri_template: info.uri_template.clone(),
            argument: argument.to_owned(),
            value: value.to_owned(),
            known: known.into_iter().map(|(_, pair)| pair).collect(),
        };
        match guarded(|| serving.provider.complete(request)).await {
            Ok(completion) => Ok(cut(completion)),
            Err(Error::NotFound) => Ok(nothing()),
            Err(error) => Err(CompleteError::Provider { provider: name.clone(), error }),
        }
    }
}

/// The end of all suggestions.
fn nothing() -> Completion {
    Completion { values: Vec::new(), total: Some(0), has_more: Some(false) }
}

/// What may be passed on of an answer. A total that is less than what is there is no total.
fn cut(completion: Completion) -> Completion {
    let Completion { mut values, total, has_more } = completion;
    let count = values.len();
    let total = total.filter(|total| usize::try_from(*total).is_ok_and(|total| total >= count));
    values.truncate(COMPLETION_VALUES);
    let has_more = match (has_more, total) {
        _ if count > COMPLETION_VALUES => Some(true),
        (None, Some(total)) => Some(usize::try_from(total).is_ok_and(|total| total > count)),
        (said, _) => said,
    };
    Completion { values, total, has_more }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use crate::{
        catalog::{Position, Rules},
        provider::{EventQueue, Offers, memory::Memory},
    };

    const T: &str = "x://{a}";
    const LOADING: Duration = Duration::from_secs(3);
    const SUGGESTS: Offers = Offers { subscriptions: false, completions: true, webhooks: false, live: false };

    /// Providers 1 and up, in order, all of them still loading.
    fn world(offers: &[Offers]) -> (Arc<Catalog>, Vec<Arc<Memory>>) {
        let (catalog, queue) = (Catalog::new(LOADING, [0; 8]), Arc::new(EventQueue::default()));
        let position = |slot| Position { slot, name: format!("p{slot}").into(), rules: Rules::default() };
        catalog.arrange(false, (1..).zip(offers).map(|(slot, _)| position(slot)).collect());
        (catalog, (1..).zip(offers).map(|(slot, offers)| Memory::new(slot, &queue, *offers)).collect())
    }

    async fn load(catalog: &Catalog, provider: &Arc<Memory>, template: &str) {
        provider.shelf.lock().templates = vec![TemplateInfo::new(template, "t")];
        catalog.load(provider.clone(), &provider.announcer).await.unwrap();
    }

    fn suggestion(value: &str) -> Completion {
        Completion { values: vec![value.to_owned()], ..Completion::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_in_order_that_lists_a_template_answers_for_it_and_nobody_else() {
        let (catalog, providers) = world(&[SUGGESTS; 3]);
        for (provider, template) in providers.iter().zip(["x://other/{a}", T, T]) {
            load(&catalog, provider, template).await;
        }
        providers[2].shelf.lock().completion = Some(Ok(suggestion("third")));
        assert_eq!(catalog.complete(&Caller::anyone(), T, "a", "", &[]).await.unwrap(), nothing(), "not-found passes nothing on");
        providers[1].shelf.lock().completion = Some(Ok(suggestion("second")));
        assert_eq!(catalog.complete(&Caller::anyone(), T, "a", "", &[]).await.unwrap(), suggestion("second"));
        let asked = |provider: &Memory| provider.calls().iter().filter(|call| call.starts_with("complete")).count();
        assert_eq!(providers.iter().map(|provider| asked(provider)).collect::<Vec<_>>(), [0, 2, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_suggests_nothing_is_not_asked() {
        let (catalog, providers) = world(&[Offers::default()]);
        load(&catalog, &providers[0], T).await;
        assert_eq!(catalog.complete(&Caller::anyone(), T, "a", "", &[]).await.unwrap(), nothing());
        assert!(
            matches!(catalog.complete(&Caller::anyone(), T, "b", "", &[]).await, Err(CompleteError::UnknownVariable(has)) if has == ["a"])
        );
        assert!(!providers[0].calls().iter().any(|call| call.starts_with("complete")));
    }

    #[tokio::test(start_paused = true)]
    async fn it_waits_for_those_that_may_go_before_the_owner_and_for_no_other() {
        let (catalog, providers) = world(&[SUGGESTS; 3]);
        for provider in &providers {
            provider.shelf.lock().completion = Some(Ok(suggestion(&format!("{}", provider.announcer.source().slot))));
        }
        load(&catalog, &providers[1], T).await;
        let anyone = Caller::anyone();
        let mut early = Box::pin(catalog.complete(&anyone, T, "a", "", &[]));
        assert!((&mut early).now_or_never().is_none(), "the first may list it as well");
        load(&catalog, &providers[0], T).await;
        assert_eq!(early.await.unwrap(), suggestion("1"));
        assert_eq!(
            catalog.complete(&Caller::anyone(), T, "a", "", &[]).now_or_never().unwrap().unwrap(),
            suggestion("1"),
            "the third still loads"
        );
        let began = Instant::now();
        assert!(matches!(catalog.complete(&Caller::anyone(), "x://none/{a}", "a", "", &[]).await, Err(CompleteError::UnknownTemplate)));
        assert_eq!(began.elapsed(), LOADING, "the third may list it");
        catalog.refuse(3);
        assert!(matches!(catalog.complete(&Caller::anyone(), "x://none/{a}", "a", "", &[]).await, Err(CompleteError::UnknownTemplate)));
        assert_eq!(began.elapsed(), LOADING);
    }

    #[tokio::test(start_paused = true)]
    async fn a_template_that_appeared_since_is_found_once_the_list_is_old() {
        let (catalog, providers) = world(&[SUGGESTS]);
        load(&catalog, &providers[0], T).await;
        providers[0].shelf.lock().templates.push(TemplateInfo::new("x://new/{a}", "new"));
        providers[0].shelf.lock().completion = Some(Ok(suggestion("new")));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(catalog.complete(&Caller::anyone(), "x://new/{a}", "a", "", &[]).await.unwrap(), suggestion("new"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_that_fails_is_named() {
        let (catalog, providers) = world(&[SUGGESTS]);
        load(&catalog, &providers[0], T).await;
        providers[0].shelf.lock().completion = Some(Err(Error::unavailable("busy")));
        let error = catalog.complete(&Caller::anyone(), T, "a", "", &[]).await.unwrap_err();
        assert_eq!(error.to_string(), "p1: busy");
    }
}
