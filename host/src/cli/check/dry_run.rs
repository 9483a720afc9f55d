//! One component, loaded and asked in the sandbox as a host would, to see which rules it keeps.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;
use wharf::{
    catalog::{Caller, Catalog, Position, ReadError, Serving},
    plugins::Planned,
    provider::{
        Announcer, CompletionRequest, Error, EventQueue, Provider, Source, TemplateInfo,
        wasm::{Compiled, LoadError, Spec},
    },
    uri::template::Template,
};

use crate::cli::read::reason;

/// Resources that are read: the first of the list.
const READS: usize = 5;
/// What a variable gets where the provider suggests nothing.
const SAMPLE: &str = "sample";
/// How long a fresh instance is waited for after one died: some times what the pauses between restarts come to here.
const RECOVERY: Duration = Duration::from_secs(10);

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What it lists.
    pub resources: usize,
    /// Each template that can be matched, with what it expands to.
    pub templates: Vec<(Arc<str>, Option<String>)>,
    /// Each resource that was read, and how many bytes it has if it could be.
    pub reads: Vec<(Arc<str>, Option<usize>)>,
    /// What the user has to grant or set before it can work.
    pub needs: Vec<String>,
    /// Which rules it breaks.
    pub broken: Vec<String>,
}

/// Starts it, and asks it for its lists, its first resources, and one of each template. An error is a component that does not start.
pub(super) async fn run(compiled: &Compiled, planned: Planned) -> Result<Findings, LoadError> {
    let Planned { spec, rules, .. } = planned;
    let Spec { name, .. } = &spec;
    let queue = Arc::<EventQueue>::default();
    let catalog = Catalog::new(Duration::ZERO, [0; 8]);
    let source = Source { slot: catalog.new_slot(), generation: 1 };
    catalog.arrange(false, vec![Position { slot: source.slot, name: name.clone(), rules }]);
    let announcer = Announcer::new(source, queue.clone());
    let provider = compiled.start(spec, announcer.clone()).await?;
    let mut run = DryRun { catalog, queue, provider, findings: Findings::default() };
    if let Err(error) = run.catalog.load(run.provider.clone(), &announcer).await {
        run.note("its lists", &error).await;
    }
    let snapshot = run.catalog.snapshot();
    let serving = snapshot.serving().next().map(|(_, serving)| serving.clone());
    if let Some(serving) = serving {
        run.ask(&serving).await;
    }
    run.provider.close().await;
    Ok(run.findings)
}

struct DryRun {
    catalog: Arc<Catalog>,
    queue: Arc<EventQueue>,
    provider: Arc<dyn Provider>,
    findings: Findings,
}

impl DryRun {
    async fn ask(&mut self, Serving { lists, .. }: &Serving) {
        self.findings.resources = lists.resources.len();
        for info in lists.resources.iter().take(READS) {
            self.read_listed(&info.uri).await;
        }
        if let Some(first) = lists.resources.first().filter(|_| self.provider.offers().subscriptions) {
            self.subscribe(&first.uri).await;
        }
        for (info, template) in &lists.templates {
            let sample = self.sample(info, template).await;
            self.findings.templates.push((info.uri_template.clone(), sample));
        }
    }

    async fn read_listed(&mut self, uri: &Arc<str>) {
        let answer = self.catalog.read(&Caller::anyone(), uri).await;
        let bytes = answer.as_ref().ok().map(|answered| answered.contents.iter().map(|part| length(&part.body)).sum());
        self.findings.reads.push((uri.clone(), bytes));
        match answer {
            Ok(_) => {}
            Err(ReadError::NotFound) => self.findings.broken.push(format!("it lists {uri}, and answers not found to a read of it")),
            Err(ReadError::InvalidUri(why)) => self.findings.broken.push(format!("it lists {uri}, which is no URI: {why}")),
            Err(ReadError::Provider { error, .. }) => self.note(&format!("a read of {uri}, which it lists"), &error).await,
        }
    }

    async fn subscribe(&mut self, uri: &Arc<str>) {
        match self.provider.subscribe(uri.clone(), None).await {
            Ok(()) => {
                if let Err(error) = self.provider.unsubscribe(uri.clone()).await {
                    self.note_death(&format!("an unsubscribe from {uri}"), &error).await;
                }
            }
            Err(Error::NotFound) => self.findings.broken.push(format!("it lists {uri}, and answers not found to a subscribe to it")),
            // It may be one that cannot be watched.
            Err(error) => self.note_death(&format!("a subscribe to {uri}"), &error).await,
        }
    }

    /// Expands a template, sees whether it matches that, and reads it. Gives what it expands to.
    async fn sample(&mut self, info: &TemplateInfo, template: &Template) -> Option<String> {
        let mut values = Vec::new();
        for variable in template.variables() {
            let suggested = self.suggestion(info, variable).await;
            values.push((variable.to_owned(), suggested.unwrap_or_else(|| SAMPLE.into())));
        }
        let plain = || template.variables().map(|variable| (variable.to_owned(), SAMPLE.to_owned())).collect::<Vec<_>>();
        // What it suggests may be for people to finish, and no value.
        let expanded = template.expand(&values).map(|uri| (uri, values));
        let (uri, values) = match expanded.or_else(|_| template.expand(&plain()).map(|uri| (uri, plain()))) {
            Ok(expanded) => expanded,
            Err(error) => {
                self.findings.broken.push(format!("its template {} cannot be expanded: {error}", info.uri_template));
                return None;
            }
        };
        if template.matches(&uri).as_ref() != Some(&values) {
            self.findings.broken.push(format!("its template {} does not match {uri}, to which it expands", info.uri_template));
        }
        if let Err(ReadError::Provider { error, .. }) = self.catalog.read(&Caller::anyone(), &uri).await {
            let what = format!("a read of {uri}, which is of its template {}", info.uri_template);
            match error {
                Error::Denied(_) | Error::Unavailable { .. } => self.note(&what, &error).await,
                // The values are only samples: that it wants others is no fault.
                _ => self.note_death(&what, &error).await,
            }
        }
        Some(uri)
    }

    async fn suggestion(&mut self, info: &TemplateInfo, variable: &str) -> Option<String> {
        if !self.provider.offers().completions {
            return None;
        }
        let request = CompletionRequest {
            uri_template: info.uri_template.clone(),
            argument: variable.to_owned(),
            value: String::new(),
            known: Vec::new(),
        };
        match self.provider.complete(request).await {
            Ok(completion) => completion.values.into_iter().next(),
            Err(error) => {
                self.note_death(&format!("a completion of {variable} in {}", info.uri_template), &error).await;
                None
            }
        }
    }

    /// Notes an error of something that has to work.
    async fn note(&mut self, what: &str, error: &Error) {
        match error {
            Error::Denied(_) | Error::Unavailable { .. } => self.findings.needs.push(format!("{what}: {}", reason(error))),
            _ => self.findings.broken.push(format!("{what}: {}", reason(error))),
        }
        self.recover(error).await;
    }

    /// Notes an error of something that need not work, but may not cost the instance either.
    async fn note_death(&mut self, what: &str, error: &Error) {
        if matches!(error, Error::Trapped(_) | Error::DeadlineExceeded(_)) {
            self.note(what, error).await;
        }
    }

    /// After an instance died, waits for the next one: what it cannot be asked meanwhile would look like something it needs.
    async fn recover(&self, error: &Error) {
        if matches!(error, Error::Trapped(_) | Error::DeadlineExceeded(_)) {
            let up = async { while !self.queue.recv().await.up {} };
            // If there is none, the next question says so.
            let _ = timeout(RECOVERY, up).await;
        }
    }
}

fn length(body: &wharf::provider::Body) -> usize {
    match body {
        wharf::provider::Body::Text(text) => text.len(),
        wharf::provider::Body::Blob(bytes) => bytes.len(),
    }
}
