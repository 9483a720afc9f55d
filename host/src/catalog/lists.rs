//! What one provider lists: fetched page by page under caps, checked entry by entry.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use tokio::time::timeout;

use crate::{
    provider::{Error, Provider, ResourceInfo, Reuse, TemplateInfo, guarded, shared_state::SharedState},
    uri::template::Template,
};

/// Pages a provider may need for its list.
pub const LIST_PAGES: usize = 1_000;
/// Resources that one provider may list.
pub const LIST_ENTRIES: usize = 100_000;
/// Templates that one provider may have: each is tried with every URI that nobody lists.
pub const LIST_TEMPLATES: usize = 1_000;
/// Bytes that one entry may take; a larger one is left out.
pub const ENTRY_BYTES: usize = 1 << 20;
/// Bytes that all of them may take together, the cursors on the way included.
pub const LIST_BYTES: usize = 64 << 20;
/// How long a provider may take for all pages.
pub const LIST_TIME: Duration = Duration::from_secs(30);
/// How long a list may be used if the provider does not say.
pub const LIST_REUSE: Duration = Duration::from_secs(2);
/// How often a list is begun anew because a cursor was refused on the way: it changed under the walk.
const LIST_STARTS: usize = 3;
/// Refused entries that are named one by one; the rest is counted.
const NAMED: usize = 10;
/// Characters of a refused entry that the log shows.
const SHOWN: usize = 200;
/// The host's own scheme.
const OWN_SCHEME: &str = "wharf:";

/// What a provider lists.
#[derive(Debug, Default)]
pub struct Lists {
    /// In the provider's order, each URI once.
    pub resources: Vec<Arc<ResourceInfo>>,
    index: HashMap<Arc<str>, usize>,
    /// In the provider's order, each template once.
    pub templates: Vec<(Arc<TemplateInfo>, Template)>,
    refused: Refused,
}

impl Lists {
    /// The media type that the list says of this URI.
    pub(super) fn mime_type(&self, uri: &str) -> Option<&String> {
        self.resources[*self.index.get(uri)?].mime_type.as_ref()
    }

    /// What it lists under this URI.
    pub(super) fn info(&self, uri: &str) -> Option<&Arc<ResourceInfo>> {
        self.index.get(uri).map(|at| &self.resources[*at])
    }

    /// Whether nobody sees a difference, the log neither.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.refused == other.refused
            && self.resources == other.resources
            && self.templates.iter().map(|(info, _)| info).eq(other.templates.iter().map(|(info, _)| info))
    }

    /// Asks a provider for both its lists. A direct one may use the host's own scheme.
    ///
    /// # Errors
    /// What the provider answered; [`Error::Failed`] past [`LIST_PAGES`], [`LIST_ENTRIES`], [`LIST_BYTES`] or [`LIST_TIME`], or if a
    /// cursor comes twice.
    pub(super) async fn fetch(provider: &dyn Provider, direct: bool) -> Result<(Self, Reuse), Error> {
        match timeout(LIST_TIME, guarded(|| Self::ask(provider, direct))).await {
            Ok(lists) => lists,
            Err(_) => Err(Error::Failed(format!("its list took longer than {}", humantime::format_duration(LIST_TIME)))),
        }
    }

    async fn ask(provider: &dyn Provider, direct: bool) -> Result<(Self, Reuse), Error> {
        let mut starts = 0;
        let (resources, mut bytes, reuse) = loop {
            match pages(provider).await {
                Err(Error::Invalid(_)) if starts + 1 < LIST_STARTS => starts += 1,
                other => break other?,
            }
        };
        let templates = provider.templates().await?;
        // After the guest was asked: what it published meanwhile is there.
        let published = provider.shared_state().map(SharedState::entries).unwrap_or_default();
        if templates.len() > LIST_TEMPLATES {
            return Err(Error::Failed(format!("it has more than {LIST_TEMPLATES} templates")));
        }
        bytes += templates.iter().map(TemplateInfo::weight).sum::<usize>();
        bytes += published.iter().map(ResourceInfo::weight).sum::<usize>();
        if bytes > LIST_BYTES {
            return Err(too_long());
        }
        Ok((Self::check(resources, templates, direct).with_published(published), reuse.unwrap_or(Reuse::For(LIST_REUSE))))
    }

    /// With what the host keeps for the provider, which comes last, and is in the host's own scheme.
    fn with_published(mut self, published: Vec<ResourceInfo>) -> Self {
        for entry in published {
            if !self.index.contains_key(&entry.uri) {
                self.index.insert(entry.uri.clone(), self.resources.len());
                self.resources.push(Arc::new(entry));
            }
        }
        self
    }

    /// Says in the log what was left out.
    pub(super) fn warn(&self, name: &str) {
        for (uri, why) in &self.refused.named {
            // Quoted, so that it cannot steer the terminal that shows the log.
            tracing::warn!(provider = name, "left out of its list: {uri:?}: {why}");
        }
        if self.refused.count > self.refused.named.len() {
            tracing::warn!(provider = name, "left out of its list: {} more", self.refused.count - self.refused.named.len());
        }
    }

    /// The lists without what may not be listed.
    pub(crate) fn check(resources: Vec<ResourceInfo>, templates: Vec<TemplateInfo>, direct: bool) -> Self {
        let mut refused = Refused::default();
        let mut index = HashMap::with_capacity(resources.len());
        let mut kept = Vec::with_capacity(resources.len());
        for resource in resources {
            if !direct && is_own(&resource.uri) {
                refused.entry(&resource.uri, "the scheme wharf: is the host's own");
            } else if resource.weight() > ENTRY_BYTES {
                refused.entry(&resource.uri, &format!("its entry takes more than {ENTRY_BYTES} bytes"));
            } else if index.contains_key(&resource.uri) {
                refused.entry(&resource.uri, "it is listed twice; the first one counts");
            } else {
                index.insert(resource.uri.clone(), kept.len());
                kept.push(Arc::new(resource));
            }
        }
        let mut seen = HashSet::new();
        let mut matchable = Vec::with_capacity(templates.len());
        for info in templates {
            if !direct && is_own(&info.uri_template) {
                refused.entry(&info.uri_template, "the scheme wharf: is the host's own");
                continue;
            }
            match Template::parse(&info.uri_template) {
                Err(error) => refused.entry(&info.uri_template, &error.to_string()),
                Ok(_) if !seen.insert(info.uri_template.clone()) => {
                    refused.entry(&info.uri_template, "it is listed twice; the first one counts")
                }
                Ok(template) => matchable.push((Arc::new(info), template)),
            }
        }
        Self { resources: kept, index, templates: matchable, refused }
    }
}

/// All pages, about how many bytes they take, and how long they may be reused.
async fn pages(provider: &dyn Provider) -> Result<(Vec<ResourceInfo>, usize, Option<Reuse>), Error> {
    let mut resources = Vec::new();
    let (mut bytes, mut cursor, mut reuse) = (0, None, None);
    let mut seen = HashSet::new();
    for number in 0..LIST_PAGES {
        let page = provider.list(cursor).await?;
        if number == 0 {
            reuse = page.reuse;
        }
        bytes += page.resources.iter().map(ResourceInfo::weight).sum::<usize>() + page.next_cursor.as_ref().map_or(0, String::len);
        resources.extend(page.resources);
        if resources.len() > LIST_ENTRIES {
            return Err(Error::Failed(format!("its list has more than {LIST_ENTRIES} entries")));
        }
        if bytes > LIST_BYTES {
            return Err(too_long());
        }
        let Some(next) = page.next_cursor else { return Ok((resources, bytes, reuse)) };
        if !seen.insert(next.clone()) {
            return Err(Error::Failed("its list comes back to a cursor it gave before".into()));
        }
        cursor = Some(next);
    }
    Err(Error::Failed(format!("its list has more than {LIST_PAGES} pages")))
}

fn too_long() -> Error {
    Error::Failed(format!("its lists take more than {LIST_BYTES} bytes"))
}

fn is_own(uri: &str) -> bool {
    uri.get(..OWN_SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(OWN_SCHEME))
}

/// What was left out of a provider's lists, and why.
#[derive(Debug, Default, PartialEq, Eq)]
struct Refused {
    /// The first few.
    named: Vec<(String, String)>,
    count: usize,
}

impl Refused {
    fn entry(&mut self, uri: &str, why: &str) {
        self.count += 1;
        if self.named.len() < NAMED {
            // A provider's own text: it may be long.
            self.named.push((uri.chars().take(SHOWN).collect(), why.to_owned()));
        }
    }
}
