//! `git`: a git repository of a granted folder: branches, history, files at any revision, and what is not committed.
//!
//! This file is the provider as the host sees it. Which resource a URI names is in [`uri`], what a resource says in [`pages`], what is
//! watched and announced in [`live`]; the repository itself is read by the crate `git-repository`.

mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package wharf:git;
            world git {
                include wharf:provider/provider@0.1.0;
                import wharf:provider/file-watch@0.1.0;
                export wharf:provider/subscriptions@0.1.0;
                export wharf:provider/completions@0.1.0;
                export wharf:provider/file-handler@0.1.0;
            }
        ",
        generate_all,
    });
}

mod complete;
mod listing;
mod live;
mod mime;
mod pages;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod uri;

use std::{cell::RefCell, rc::Rc};

use bindings::{
    exports::wharf::provider::{
        completions::{self, Completion, CompletionRequest},
        file_handler::{self, FileChange},
        resources::{self, ReadRequest, Reading},
        subscriptions,
    },
    wharf::provider::{
        settings as host_settings,
        types::{Body, Contents, Error, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
    },
};
use live::Live;
use pages::Page;
use settings::Settings;
use source::Source;
use uri::Resource;

/// What is about one object never changes; a day, since nothing is for ever in a cache.
const IMMUTABLE_MS: u32 = 86_400_000;

struct Git {
    sources: Vec<Source>,
    live: RefCell<Live>,
}

// A live provider has exactly one instance, and calls come one at a time: what one call leaves here is there in the next.
thread_local! {
    static GIT: Result<Rc<Git>, String> = Git::new();
}

impl Git {
    fn new() -> Result<Rc<Self>, String> {
        let settings = Settings::parse(&host_settings::all())?;
        let source = |(name, path)| Source::new(name, path, settings.time);
        Ok(Rc::new(Self { sources: settings.repositories.into_iter().map(source).collect(), live: RefCell::default() }))
    }

    /// This one; an error in wharf.toml is every call's answer, so that it is seen.
    fn get() -> Result<Rc<Self>, Error> {
        GIT.with(|git| git.clone()).map_err(Error::Failed)
    }

    fn find(&self, uri: &str, matched: Option<&TemplateMatch>) -> Result<(&Source, Resource), Error> {
        let (source, path) = self.sources.iter().find_map(|source| Some((source, source.path_of(uri)?))).ok_or(Error::NotFound)?;
        let resource = match matched {
            Some(matched) => {
                let template = source.path_of(&matched.uri_template).ok_or(Error::NotFound)?;
                Resource::from_template(template, &matched.variables)
            }
            None => Resource::listed(path),
        };
        Ok((source, resource.map_err(error)?))
    }
}

struct Provider;

impl resources::Guest for Provider {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let git = Git::get()?;
        let resources = git.sources.iter().flat_map(listing::resources).collect();
        // What is listed depends on the settings alone.
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(Git::get()?.sources.iter().flat_map(listing::templates).collect())
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let git = Git::get()?;
        let (source, resource) = git.find(&request.uri, request.matched.as_ref())?;
        let repository = source.open().map_err(error)?;
        // Cheaper than the page, where there is one.
        let version = pages::version(&repository, &resource).map_err(error)?;
        if version.is_some() && version == request.if_none_match {
            return Ok(None);
        }
        let Page { body, mime_type, whole } = pages::page(&repository, source, &resource).map_err(error)?;
        let version = version.or_else(|| Some(pages::hash(&body))).filter(|_| whole);
        if version.is_some() && version == request.if_none_match {
            return Ok(None);
        }
        let reuse = match whole {
            true if resource.is_fixed() && repository.shallow().is_ok_and(|shallow| shallow.is_empty()) => Some(Reuse::ForMs(IMMUTABLE_MS)),
            true => Some(Reuse::UntilAnnounced),
            // The next time there may be more.
            false => None,
        };
        let body = match String::from_utf8(body) {
            Ok(text) if !text.contains('\0') => Body::Utf8(text.into_bytes()),
            Ok(text) => Body::Blob(text.into_bytes()),
            Err(error) => Body::Blob(error.into_bytes()),
        };
        let contents = Contents { uri: None, mime_type: Some(mime_type), body, meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version, reuse }))
    }
}

impl subscriptions::Guest for Provider {
    fn subscribe(uri: String, matched: Option<TemplateMatch>) -> Result<(), Error> {
        let git = Git::get()?;
        let (source, resource) = git.find(&uri, matched.as_ref())?;
        git.live.borrow_mut().subscribe(uri, source, resource)
    }

    fn unsubscribe(uri: String) {
        if let Ok(git) = Git::get() {
            git.live.borrow_mut().unsubscribe(&uri);
        }
    }
}

impl file_handler::Guest for Provider {
    fn changed(changes: Vec<FileChange>) {
        if let Ok(git) = Git::get() {
            git.live.borrow_mut().changed(&git.sources, &changes);
        }
    }
}

impl completions::Guest for Provider {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        let git = Git::get()?;
        let find = |source: &Source| source.path_of(&request.uri_template).map(str::to_owned);
        let (source, template) = git.sources.iter().find_map(|source| Some((source, find(source)?))).ok_or(Error::NotFound)?;
        complete::complete(source, &template, &request).map_err(error)
    }
}

/// What the client is told.
fn error(error: git_repository::Error) -> Error {
    use git_repository::Error as E;
    match error {
        E::NotFound(_) => Error::NotFound,
        E::Invalid(text) => Error::Invalid(text),
        E::Unreachable(text) => Error::Denied(text),
        E::TooLong => Error::Failed(format!(
            "{error}: give it more time in wharf.toml, [provider.settings] time-ms = 10000 and [provider.limits] deadline = \"15s\""
        )),
        E::Damaged { .. } | E::TooLarge { .. } | E::Unsupported(_) | E::Io { .. } => Error::Failed(error.to_string()),
    }
}

bindings::export!(Provider with_types_in bindings);
