//! What there is: the providers in their order, their lists merged, and who owns a URI.

use std::{ops::Range, sync::Arc, time::Duration};

use crate::provider::{Contents, Error, ResourceInfo, TemplateInfo};

/// Who asks. Everything that lists, reads or subscribes is told; today there is one: anyone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Caller;

/// The lists of all providers at one moment, merged in order.
#[derive(Debug, Default)]
pub struct Merged {
    /// Raised at each change of what is below.
    pub number: u64,
    /// Each URI once.
    pub resources: Vec<Arc<ResourceInfo>>,
    /// Each template once.
    pub templates: Vec<Arc<TemplateInfo>>,
}

/// One page of a merged list.
#[derive(Debug, Clone)]
pub struct Page {
    /// The snapshot it is a page of.
    pub list: Arc<Merged>,
    /// Which of its resources, or templates.
    pub range: Range<usize>,
    /// The cursor of the next page; absent on the last one. The same for the same page.
    pub next: Option<String>,
}

/// A cursor that is not of this host, or whose snapshot is gone.
#[derive(Debug, thiserror::Error)]
#[error("no such cursor, or it has expired: start again from the first page")]
pub struct CursorError;

/// A resource that was read.
#[derive(Debug, Clone)]
pub struct Answered {
    /// One or more, each with its URI and the media type that the list says where the provider says none.
    pub contents: Arc<Vec<Contents>>,
    /// What remains of the time for which it may be reused; zero if it may not, or until announced.
    pub reuse: Duration,
}

/// Why a read gave nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// Nobody owns it.
    #[error("Resource not found")]
    NotFound,
    /// It is no absolute URI of at most 8 KiB; says why.
    #[error("not a valid resource URI: {0}")]
    InvalidUri(&'static str),
    /// Its owner said no.
    #[error("{provider}: {error}")]
    Provider {
        /// The owner's name.
        provider: Arc<str>,
        /// What it said; never [`Error::NotFound`].
        error: Error,
    },
}

/// The catalog.
pub struct Catalog {}

impl Catalog {
    /// A page of all resources. Waits for providers that still load, at most the loading time.
    pub async fn resources(&self, _caller: &Caller, _cursor: Option<&str>) -> Result<Page, CursorError> {
        todo!()
    }

    /// A page of all templates, likewise.
    pub async fn templates(&self, _caller: &Caller, _cursor: Option<&str>) -> Result<Page, CursorError> {
        todo!()
    }

    /// Reads a resource from the first candidate that does not answer `not-found`.
    pub async fn read(&self, _caller: &Caller, _uri: &str) -> Result<Answered, ReadError> {
        todo!()
    }
}
