//! Write a Wharf provider in Rust: say what there is, and which function answers for it.
//!
//! ```
//! use wharf_provider::{Provide, Provider, Result, export};
//!
//! struct Hello;
//!
//! impl Provide for Hello {
//!     fn provider() -> Result<Provider<Self>> {
//!         let mut provider = Provider::new(Hello);
//!         provider
//!             .resource("hello://sentence")
//!             .title("A sentence")
//!             .mime_type("text/plain")
//!             .read(|_, _| Ok("The tide is coming in."));
//!         provider
//!             .template("hello://greeting/{name}")
//!             .title("A greeting for anybody")
//!             .mime_type("text/plain")
//!             .read(|_, request| Ok(format!("Hello, {}!", request.variable("name"))));
//!         Ok(provider)
//!     }
//! }
//!
//! export!(Hello);
//! # fn main() {}
//! ```
//!
//! The package is a `cdylib` for `wasm32-wasip2`, and depends on this crate alone.
//!
//! - **Memory.** The type that is [`Provide`] is what the provider remembers. Each function is handed it as `&mut`, so a method does as well
//!   as a closure: `.read(Clock::read)`. Calls come one at a time, and nothing here calls back from inside one.
//! - **Errors.** A function gives [`Error::NotFound`] and its like, and `?` makes [`Error::Failed`] of any other. A panic ends the instance; the
//!   host makes a fresh one.
//! - **Live.** [`announce::updated`] says that something changed. No call may wait, so what takes time is asked for with a function that is
//!   called later: [`timers`], [`files`], [`fetch`].
//! - **Exports.** [`export!`] names what the component has besides resources. What is not used is not in it.
//! - **Tests.** `cargo test` runs on your own machine; [`testing`] calls a provider there as the host would.
//!
//! What comes out is the plain contract of `wit/provider.wit`. All of it is in [`bindings`], for what has no word here.

// What wit-bindgen writes has unsafe code, and so do its macros in an author's crate; nothing written by hand has.
pub mod announce;
#[allow(missing_docs)]
pub mod bindings;
mod builder;
mod callbacks;
#[doc(hidden)]
pub mod component;
mod dispatch;
mod error;
pub mod fetch;
pub mod files;
mod host;
mod provider;
mod reading;
mod request;
pub mod settings;
pub mod shared_state;
pub mod store;
mod template;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod timers;
pub mod webhooks;

#[cfg(feature = "json")]
pub use reading::json;
pub use {
    builder::{Entry, ResourceBuilder, TemplateBuilder},
    error::{Error, Result},
    provider::{Provide, Provider},
    reading::{Body, Contents, Icon, IconTheme, Reading, Reuse, Role, Suggestions},
    request::{Request, Variables},
};
