//! A provider as a component: the contract's exports for whatever type [`export!`](crate::export) names, and that macro.
//!
//! Invariant: the provider is borrowed while the host is in an export, and nothing an author can call borrows it again; the host never
//! enters twice.

use std::{cell::RefCell, mem::ManuallyDrop, thread::LocalKey};

use crate::{
    bindings::{completions, fetch, files, resources, subscriptions, timers, types, webhooks},
    callbacks,
    error::{Error, Result, to_host},
    provider::{Provide, Provider},
};

/// Where a component has its provider, once it is made. Never dropped: a component ends without ado, and is the smaller for it.
pub type Cell<S> = ManuallyDrop<RefCell<Option<Result<Provider<S>>>>>;

/// Before the first call.
pub const fn cell<S>() -> Cell<S> {
    ManuallyDrop::new(RefCell::new(None))
}

/// What [`export!`](crate::export) gives a type.
pub trait Component: Provide {
    /// What is exported besides `resources`.
    const EXPORTED: &'static [&'static str];

    /// The one provider of this instance.
    fn cell() -> &'static LocalKey<Cell<Self>>;
}

fn with<C: Component, T>(act: impl FnOnce(&mut Provider<C>) -> Result<T>) -> Result<T, types::Error> {
    C::cell().with(|cell| {
        let mut cell = cell.borrow_mut();
        match cell.get_or_insert_with(begin::<C>) {
            Ok(provider) => act(provider).map_err(to_host),
            Err(error) => Err(to_host(error.clone())),
        }
    })
}

// Once in a component, not once in each export.
#[inline(never)]
fn begin<C: Component>() -> Result<Provider<C>> {
    callbacks::expect::<C>();
    let provider = ManuallyDrop::new(C::provider()?);
    provider.check(C::EXPORTED)?;
    Ok(ManuallyDrop::into_inner(provider))
}

impl<C: Component> resources::exports::wharf::provider::resources::Guest for C {
    fn list(cursor: Option<String>) -> Result<types::ResourcePage, types::Error> {
        with(|provider: &mut Provider<C>| provider.list(cursor.as_deref()))
    }

    fn templates() -> Result<Vec<types::TemplateInfo>, types::Error> {
        with(|provider: &mut Provider<C>| Ok(provider.templates()))
    }

    fn read(
        request: resources::exports::wharf::provider::resources::ReadRequest,
    ) -> Result<Option<resources::exports::wharf::provider::resources::Reading>, types::Error> {
        let reading = with(|provider: &mut Provider<C>| provider.answer(request.uri, request.matched, request.if_none_match))?;
        Ok(reading.map(|reading| resources::exports::wharf::provider::resources::Reading {
            contents: reading.contents.unwrap_or_default(),
            version: reading.version,
            reuse: reading.reuse,
        }))
    }
}

impl<C: Component> subscriptions::exports::wharf::provider::subscriptions::Guest for C {
    fn subscribe(uri: String, matched: Option<types::TemplateMatch>) -> Result<(), types::Error> {
        with(|provider: &mut Provider<C>| provider.subscribe(uri, matched))
    }

    fn unsubscribe(uri: String) {
        run(|provider: &mut Provider<C>| provider.unsubscribe(&uri));
    }
}

impl<C: Component> completions::exports::wharf::provider::completions::Guest for C {
    fn complete(
        request: completions::exports::wharf::provider::completions::CompletionRequest,
    ) -> Result<completions::exports::wharf::provider::completions::Completion, types::Error> {
        with(|provider: &mut Provider<C>| {
            let found = provider.complete(&request.uri_template, &request.argument, &request.value, request.known)?;
            let has_more = Some(found.values.len() < found.total);
            let total = u32::try_from(found.total).ok();
            Ok(completions::exports::wharf::provider::completions::Completion { values: found.values, total, has_more })
        })
    }
}

impl<C: Component> timers::exports::wharf::provider::timer_handler::Guest for C {
    fn fired(names: Vec<String>) {
        run(|provider: &mut Provider<C>| crate::timers::fired(&mut provider.state, &names));
    }
}

impl<C: Component> files::exports::wharf::provider::file_handler::Guest for C {
    fn changed(changes: Vec<crate::files::FileChange>) {
        run(|provider: &mut Provider<C>| crate::files::changed(&mut provider.state, changes));
    }
}

impl<C: Component> fetch::exports::wharf::provider::fetch_handler::Guest for C {
    fn fetched(outcomes: Vec<fetch::exports::wharf::provider::fetch_handler::FetchOutcome>) {
        run(|provider: &mut Provider<C>| crate::fetch::fetched(&mut provider.state, outcomes));
    }
}

impl<C: Component> webhooks::exports::wharf::provider::webhook_handler::Guest for C {
    fn receive(request: crate::webhooks::WebhookRequest) -> crate::webhooks::WebhookResponse {
        let mut response = crate::webhooks::WebhookResponse::status(503);
        run(|provider: &mut Provider<C>| response = provider.receive(request));
        response
    }
}

/// For what has no answer. Without a provider there is nothing to be done; who reads is told why.
fn run<C: Component>(act: impl FnOnce(&mut Provider<C>)) {
    let _: Result<(), types::Error> = with(|provider: &mut Provider<C>| {
        act(provider);
        Ok::<(), Error>(())
    });
}

/// Makes a type that is [`Provide`](crate::Provide) the component's provider, with those exports that it has use for:
///
/// ```ignore
/// wharf_provider::export!(Handbook);
/// wharf_provider::export!(Clock: subscriptions, timers, completions);
/// ```
///
/// | export | what it is for |
/// |---|---|
/// | `subscriptions` | `subscribable`, `on_subscribe`, `on_unsubscribe` |
/// | `completions` | `complete` |
/// | `timers` | [`timers`](crate::timers) |
/// | `files` | [`files`](crate::files) |
/// | `fetch` | [`fetch`](crate::fetch) |
/// | `webhooks` | `webhook`, `any_webhook` |
///
/// A component that has any of them but `completions` is live: it has exactly one instance, which remembers what one call leaves in it.
#[macro_export]
macro_rules! export {
    ($provider:ident $(: $($part:ident),+ $(,)?)?) => {
        const _: () = {
            ::std::thread_local! {
                static PROVIDER: $crate::component::Cell<$provider> = const { $crate::component::cell() };
            }

            impl $crate::component::Component for $provider {
                const EXPORTED: &'static [&'static str] = &[$($(::std::stringify!($part)),+)?];

                fn cell() -> &'static ::std::thread::LocalKey<$crate::component::Cell<Self>> {
                    &PROVIDER
                }
            }
        };
        // It is used, also where there are no exports.
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> $crate::Result<$crate::Provider<$provider>> = <$provider as $crate::Provide>::provider;
        // Only a component has exports of such names: on the machine that runs the tests they would be none that a linker takes.
        #[cfg(target_family = "wasm")]
        const _: () = {
            $crate::bindings::resources::export!($provider with_types_in $crate::bindings::resources);
            $($($crate::bindings::$part::export!($provider with_types_in $crate::bindings::$part);)+)?
        };
    };
}
