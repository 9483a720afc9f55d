//! HTTPS: handshakes, a certificate that is replaced, and clients that do not know what they do.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use wharf::{
    config::{Config, Content, Resource, TlsFiles},
    host::{Host, Notice},
    transport::{
        attach::Remote,
        http::{HttpSettings, Limits, Tls, router, serve},
    },
};

use crate::{
    B,
    common::http::{MODERN, Served, modern_request, soon},
    served,
    web::Authority,
};

type Stream = TlsStream<TcpStream>;

/// Puts a certificate of this authority for these names in files, each by a rename.
fn put(folder: &Path, authority: &Authority, names: &[&str]) -> TlsFiles {
    let (certificate, key) = authority.pem(names);
    let files = TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
    replace(&files.certificate, &certificate);
    replace(&files.key, &key);
    files
}

fn replace(path: &Path, content: &str) {
    let staged = path.with_extension("staged");
    fs::write(&staged, content).unwrap();
    fs::rename(staged, path).unwrap();
}

fn client(authority: &Authority, protocols: &[&[u8]]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    config.into()
}

async fn shake(address: SocketAddr, config: &Arc<ClientConfig>, name: &str) -> std::io::Result<Stream> {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    soon(TlsConnector::from(config.clone()).connect(name, stream)).await
}

/// Sends a request, and gives the answer's status line and body.
async fn ask(stream: &mut Stream, method: &str, params: serde_json::Value) -> (String, String) {
    let body = modern_request(json!(1), method, params.clone());
    let name = params["uri"].as_str().unwrap_or_default();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nmcp-protocol-version: {MODERN}\r\n\
         mcp-method: {method}\r\nmcp-name: {name}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    soon(stream.write_all(&[head.as_bytes(), &body].concat())).await.unwrap();
    answer(stream).await
}

async fn answer(stream: &mut Stream) -> (String, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(soon(stream.read_u8()).await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    soon(stream.read_exact(&mut body)).await.unwrap();
    (head.lines().next().unwrap().to_owned(), String::from_utf8(body).unwrap())
}

/// The protocol, served by TLS.
struct Secured {
    plain: Served,
    tls: Arc<Tls>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Secured {
    async fn new(files: &TlsFiles, limits: Limits) -> Self {
        let plain = served().await;
        let tls = Arc::new(Tls::read(files).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let app = router(plain.server.clone(), HttpSettings { bind: Some(address), ..HttpSettings::default() });
        let serving = tokio::spawn(serve(listener, app, tls.clone(), limits, async { drop(stopped.await) }));
        Self { plain, tls, address, stop: Some(stop), serving }
    }

    async fn stopped(&mut self) {
        self.plain.server.end_streams();
        let _ = self.stop.take().unwrap().send(());
        soon(&mut self.serving).await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_is_served_in_http_1_1_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, other) = (Authority::new(), Authority::new());
    let files = put(folder.path(), &authority, &["localhost"]);
    let secured = Secured::new(&files, Limits::default()).await;
    for protocols in [&[&b"http/1.1"[..]][..], &[b"h2", b"http/1.1"], &[]] {
        let mut stream = shake(secured.address, &client(&authority, protocols), "localhost").await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), (!protocols.is_empty()).then_some(&b"http/1.1"[..]));
        // More than once on one connection.
        for _ in 0..2 {
            let (status, body) = ask(&mut stream, "resources/read", json!({ "uri": B })).await;
            assert_eq!(status, "http/1.1 200 ok", "{body}");
            assert!(body.contains(r#""text":"b""#), "{body}");
        }
    }
    for (config, name) in
        [(client(&other, &[]), "localhost"), (client(&authority, &[]), "example.com"), (client(&authority, &[b"h2"]), "localhost")]
    {
        assert!(shake(secured.address, &config, name).await.is_err(), "{name}");
    }
    // And it goes on.
    shake(secured.address, &client(&authority, &[]), "localhost").await.unwrap();
}

#[tokio::test]
async fn plain_http_is_told_to_use_https_and_noise_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let files = put(folder.path(), &Authority::new(), &["localhost"]);
    let secured = Secured::new(&files, Limits::default()).await;
    let exchange = async |bytes: &[u8]| {
        let mut stream = TcpStream::connect(secured.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let _ = soon(stream.read_to_end(&mut answer)).await;
        String::from_utf8_lossy(&answer).into_owned()
    };
    let answer = exchange(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("this port speaks HTTPS: begin with https://\n"), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    let answer = exchange(b"\x16\x03\x01\x00\x05hello, and so on").await;
    assert!(!answer.contains("HTTP"), "{answer}");
}

#[tokio::test]
async fn a_client_that_stalls_in_the_handshake_is_closed_in_time_and_slows_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let files = put(folder.path(), &authority, &["localhost"]);
    let limits = Limits { header_time: Duration::from_millis(300), ..Limits::default() };
    let secured = Secured::new(&files, limits).await;
    let mut silent = TcpStream::connect(secured.address).await.unwrap();
    let mut stalled = TcpStream::connect(secured.address).await.unwrap();
    // The beginning of a record whose rest does not come.
    stalled.write_all(b"\x16\x03\x01\x02\x00\x01").await.unwrap();
    let mut stream = shake(secured.address, &client(&authority, &[]), "localhost").await.unwrap();
    assert_eq!(ask(&mut stream, "resources/list", json!({})).await.0, "http/1.1 200 ok");
    for stream in [&mut silent, &mut stalled] {
        assert!(matches!(soon(stream.read(&mut [0])).await, Ok(0) | Err(_)));
    }
}

#[tokio::test]
async fn the_shutdown_waits_for_no_handshake_and_still_answers_what_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let files = put(folder.path(), &authority, &["localhost"]);
    // Whoever waited for the handshake would wait longer than a test may.
    let limits = Limits { header_time: Duration::from_secs(600), shutdown_time: Duration::from_secs(600), ..Limits::default() };
    let mut secured = Secured::new(&files, limits).await;
    let mut stalled = TcpStream::connect(secured.address).await.unwrap();
    stalled.write_all(b"\x16\x03\x01\x02\x00\x01").await.unwrap();
    let mut asking = shake(secured.address, &client(&authority, &[]), "localhost").await.unwrap();
    secured.plain.memory.hold(true);
    let asked = tokio::spawn(async move { ask(&mut asking, "resources/read", json!({ "uri": B })).await });
    soon(secured.plain.memory.reads_under_way(1)).await;
    let memory = secured.plain.memory.clone();
    let (stopped, answered) = tokio::join!(secured.stopped(), async {
        memory.hold(false);
        soon(asked).await.unwrap()
    });
    let ((), (status, body)) = (stopped, answered);
    assert!(status == "http/1.1 200 ok" && body.contains(r#""text":"b""#), "{status} {body}");
    assert!(matches!(soon(stalled.read(&mut [0])).await, Ok(0) | Err(_)));
}

#[tokio::test]
async fn no_session_of_an_earlier_certificate_is_resumed_and_no_open_connection_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (Authority::new(), Authority::new());
    let files = put(folder.path(), &before, &["localhost"]);
    let secured = Secured::new(&files, Limits::default()).await;
    let config = client(&before, &[]);
    let mut open = shake(secured.address, &config, "localhost").await.unwrap();
    // The tickets for sessions come with the answer.
    assert_eq!(ask(&mut open, "resources/list", json!({})).await.0, "http/1.1 200 ok");
    put(folder.path(), &after, &["localhost"]);
    assert_eq!(secured.tls.read_again(), Ok(true));
    assert!(shake(secured.address, &config, "localhost").await.is_err(), "it would have been resumed");
    shake(secured.address, &client(&after, &[]), "localhost").await.unwrap();
    assert_eq!(ask(&mut open, "resources/list", json!({})).await.0, "http/1.1 200 ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_follows_its_certificate_and_keeps_it_where_the_next_one_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (Authority::new(), Authority::new());
    let files = put(folder.path(), &before, &["localhost"]);
    let note = Resource {
        name: "note".into(),
        uri: Some("x://note".into()),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        audience: None,
        priority: None,
        last_modified: None,
        icons: Vec::new(),
        content: Content::Text("hello".into()),
    };
    let (says, mut said) = mpsc::unbounded_channel();
    let says = Mutex::new(says);
    let tls = Arc::new(Tls::read(&files).unwrap());
    let config = Config { resources: vec![note], ..Config::default() };
    let builder = Host::builder().config(config).tls(tls).on_notice(move |notice| drop(says.lock().unwrap().send(notice)));
    let host = builder.start().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let settings = HttpSettings { bind: Some(address), ..HttpSettings::default() };
    let serving = tokio::spawn(host.serve(listener, settings, async { drop(stopped.await) }));
    // What is told of the key's rights is not what this is about.
    let mut next = async || {
        loop {
            match soon(said.recv()).await.unwrap() {
                Notice::KeyExposed(_) => {}
                notice => return notice,
            }
        }
    };
    let old = client(&before, &[]);
    let mut open = shake(address, &old, "localhost").await.unwrap();
    replace(&files.certificate, "-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n");
    let notice = next().await;
    let Notice::CertificateRefused(reason) = &notice else { panic!("{notice:?}") };
    assert!(reason.contains("cert.pem") && notice.is_warning(), "{reason}");
    let mut fresh = shake(address, &client(&before, &[]), "localhost").await.unwrap();
    assert!(ask(&mut fresh, "resources/read", json!({ "uri": "x://note" })).await.1.contains("hello"));
    put(folder.path(), &after, &["localhost"]);
    // The files may be seen one after the other: then the first alone does not fit.
    while !matches!(next().await, Notice::CertificateRead(_)) {}
    shake(address, &client(&after, &[]), "localhost").await.unwrap();
    assert!(shake(address, &client(&before, &[]), "localhost").await.is_err());
    assert!(ask(&mut open, "resources/read", json!({ "uri": "x://note" })).await.1.contains("hello"), "as it was before");
    stop.send(()).unwrap();
    soon(serving).await.unwrap();
}

#[tokio::test]
async fn a_host_with_a_certificate_of_its_own_authority_is_attached_to() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let files = put(folder.path(), &authority, &["127.0.0.1"]);
    let secured = Secured::new(&files, Limits::default()).await;
    let url = format!("https://{}/mcp", secured.address);
    let connect = |authorities| Remote::connect_with(&url, Default::default(), authorities);
    assert!(soon(connect(vec![authority.certificate.clone()])).await.is_ok());
    let error = soon(connect(vec![Authority::new().certificate])).await.err().unwrap().to_string();
    assert!(error.contains("certificate"), "{error}");
}
