//! A collector of spans: takes OTLP over HTTP in JSON, and shows what it was sent.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU16, Ordering::Relaxed},
    },
};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::within;

/// The status of a collector that does not answer.
const NEVER: u16 = 0;

/// See the module's page.
pub struct Collector {
    url: String,
    state: Arc<State>,
    came: watch::Receiver<usize>,
}

struct State {
    status: AtomicU16,
    /// Requests as they came.
    bodies: Mutex<Vec<String>>,
    comes: watch::Sender<usize>,
}

impl Collector {
    /// One that takes everything.
    ///
    /// # Errors
    /// It cannot listen.
    pub async fn start() -> Result<Self> {
        Self::answering(200).await
    }

    /// One that takes connections, and never answers.
    ///
    /// # Errors
    /// As [`Collector::start`].
    pub async fn hanging() -> Result<Self> {
        Self::answering(NEVER).await
    }

    /// One that gives this status.
    ///
    /// # Errors
    /// As [`Collector::start`].
    pub async fn answering(status: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (comes, came) = watch::channel(0);
        let state = Arc::new(State { status: status.into(), bodies: Mutex::default(), comes });
        let serving = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, serving.clone()));
            }
        });
        Ok(Self { url, state, came })
    }

    /// Its lines for wharf.toml.
    pub fn config(&self) -> String {
        format!("[server]\notlp = {:?}\n", self.url)
    }

    /// From now on it gives this status.
    pub fn answer(&self, status: u16) {
        self.state.status.store(status, Relaxed);
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        *self.came.borrow()
    }

    /// Waits for so many requests in all.
    ///
    /// # Errors
    /// They do not come.
    pub async fn wait_for_requests(&mut self, count: usize) -> Result<()> {
        within("requests at the collector", async { Ok(self.came.wait_for(|came| *came >= count).await.map(drop)?) }).await
    }

    /// What there is so far.
    ///
    /// # Errors
    /// It is no OTLP.
    pub fn spans(&self) -> Result<Spans> {
        let bodies = self.state.bodies.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut spans = Vec::new();
        for body in &bodies {
            let request: Value = serde_json::from_str(body).with_context(|| body.clone())?;
            let resource = &request["resourceSpans"][0];
            let found = resource["scopeSpans"][0]["spans"].as_array().with_context(|| format!("no spans: {request}"))?;
            ensure!(attribute(&resource["resource"], "service.name") == "wharf", "{request}");
            spans.extend(found.iter().cloned());
        }
        Ok(Spans { spans, text: bodies.join("\n") })
    }

    /// Waits until what there is has what is looked for.
    ///
    /// # Errors
    /// It does not come; with what there is.
    pub async fn wait<T>(&mut self, what: &str, look: impl Fn(&Spans) -> Option<T>) -> Result<T> {
        let state = self.state.clone();
        let found = within(what, async {
            loop {
                let seen = *self.came.borrow_and_update();
                if let Some(found) = look(&self.spans()?) {
                    return Ok(found);
                }
                self.came.wait_for(|came| *came > seen).await?;
            }
        });
        let found = found.await;
        found.with_context(|| format!("there came {:#?}", state.bodies.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    let answer = |request: Request<Incoming>| {
        let state = state.clone();
        async move {
            let traces = request.uri().path() == "/v1/traces" && request.headers()["content-type"] == "application/json";
            let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            state.bodies.lock().unwrap_or_else(PoisonError::into_inner).push(String::from_utf8_lossy(&body).into_owned());
            state.comes.send_modify(|count| *count += 1);
            let status = state.status.load(Relaxed);
            if status == NEVER {
                std::future::pending::<()>().await;
            }
            let mut response = Response::new(Full::new(Bytes::from_static(b"{}")));
            *response.status_mut() = if traces { status } else { 404 }.try_into().unwrap_or_default();
            Ok::<_, Infallible>(response)
        }
    };
    // How it ends shows at the host.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
}

/// Spans, as they came.
pub struct Spans {
    spans: Vec<Value>,
    /// All that came, as text.
    pub text: String,
}

impl Spans {
    /// Those of this name whose attribute has this value.
    pub fn with(&self, name: &str, key: &str, value: &str) -> Vec<Value> {
        self.spans.iter().filter(|span| span["name"] == name && attribute(span, key) == value).cloned().collect()
    }

    /// The first below this one of this name.
    pub fn below(&self, parent: &Value, name: &str) -> Option<Value> {
        let is_below =
            |span: &&Value| span["parentSpanId"] == parent["spanId"] && span["traceId"] == parent["traceId"] && span["name"] == name;
        self.spans.iter().find(is_below).cloned()
    }
}

/// What an attribute of a span says, as text; nothing if it is not there.
pub fn attribute(span: &Value, key: &str) -> String {
    let found = span["attributes"].as_array().and_then(|all| all.iter().find(|attribute| attribute["key"] == key));
    let value = found.and_then(|attribute| attribute["value"].as_object()?.values().next());
    value.map_or_else(String::new, |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}
