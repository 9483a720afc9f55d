//! An authorization server's published side, with what it says in the test's hands.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

use super::{AUDIENCE, now};

pub const METADATA_PATHS: [&str; 2] = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];

/// What is at a path.
#[derive(Clone)]
pub enum Document {
    Text(String),
    Status(u16),
    Redirect(String),
    /// The connection is taken, and nothing said.
    Hang,
    /// It goes on as long as somebody reads.
    Endless,
}

#[derive(Default)]
struct Published {
    documents: HashMap<String, Document>,
    asked: HashMap<String, usize>,
}

pub struct Issuer {
    pub url: String,
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
    published: Arc<Mutex<Published>>,
    serving: AbortHandle,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

pub fn header(alg: &str, kid: &str) -> Value {
    json!({ "alg": alg, "kid": kid, "typ": "at+jwt" })
}

/// Claims that let in.
pub fn good(issuer: &Issuer) -> Value {
    json!({ "iss": issuer.url, "aud": AUDIENCE, "exp": now() + 300.0, "nbf": now() - 1.0, "sub": "ann", "scope": "wharf" })
}

fn ed25519() -> Ed25519KeyPair {
    Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap().as_ref()).unwrap()
}

fn signed(header: &Value, claims: &Value) -> String {
    format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()))
}

pub fn sign_by(key: &Ed25519KeyPair, header: &Value, claims: &Value) -> String {
    let signed = signed(header, claims);
    let signature = encode(key.sign(signed.as_bytes()).as_ref());
    format!("{signed}.{signature}")
}

impl Issuer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let ec = EcdsaKeyPair::from_pkcs8(algorithm, ec.as_ref(), &random).unwrap();
        let published = Arc::<Mutex<Published>>::default();
        let serving = tokio::spawn(serve(listener, published.clone())).abort_handle();
        let this = Self { url, ed: ed25519(), ec, published, serving };
        let metadata = json!({ "issuer": this.url, "jwks_uri": format!("{}/keys", this.url) }).to_string();
        METADATA_PATHS.iter().for_each(|path| this.put(path, Document::Text(metadata.clone())));
        this.put("/keys", Document::Text(this.keys().to_string()));
        this
    }

    pub fn put(&self, path: &str, document: Document) {
        self.published.lock().unwrap().documents.insert(path.into(), document);
    }

    /// How often.
    pub fn asked(&self, path: &str) -> usize {
        self.published.lock().unwrap().asked.get(path).copied().unwrap_or_default()
    }

    pub fn keys(&self) -> Value {
        let point = self.ec.public_key().as_ref();
        json!({ "keys": [
            { "kty": "OKP", "crv": "Ed25519", "kid": "ed", "use": "sig", "x": encode(self.ed.public_key().as_ref()) },
            { "kty": "EC", "crv": "P-256", "kid": "ec", "alg": "ES256", "x": encode(&point[1..33]), "y": encode(&point[33..]) },
        ] })
    }

    /// Another key in the place of those there were.
    pub fn rotate(&self) -> Ed25519KeyPair {
        let new = ed25519();
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "new", "x": encode(new.public_key().as_ref()) });
        self.put("/keys", Document::Text(json!({ "keys": [key] }).to_string()));
        new
    }

    /// What an attacker may take for the secret of an HMAC.
    pub fn public_bytes(&self) -> Vec<Vec<u8>> {
        let (ed, ec) = (self.ed.public_key().as_ref(), self.ec.public_key().as_ref());
        vec![ed.to_vec(), ec.to_vec(), encode(ed).into_bytes(), self.keys().to_string().into_bytes(), Vec::new()]
    }

    pub fn token(&self, key: &str, claims: Value) -> String {
        self.sign(key, &header(if key == "ed" { "EdDSA" } else { "ES256" }, key), &claims)
    }

    pub fn sign(&self, key: &str, header: &Value, claims: &Value) -> String {
        if key == "ed" {
            return sign_by(&self.ed, header, claims);
        }
        let signed = signed(header, claims);
        let signature = self.ec.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", encode(signature.as_ref()))
    }
}

async fn serve(listener: TcpListener, published: Arc<Mutex<Published>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let published = published.clone();
        // Whoever breaks off is no failure of this.
        tokio::spawn(async move { drop(answer(stream, &published).await) });
    }
}

async fn answer(mut stream: TcpStream, published: &Mutex<Published>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let document = {
        let mut published = published.lock().unwrap();
        *published.asked.entry(path.clone()).or_default() += 1;
        published.documents.get(&path).cloned()
    };
    let (status, fields, body) = match document.unwrap_or(Document::Status(404)) {
        Document::Text(text) => (200, format!("content-length: {}\r\n", text.len()), text),
        Document::Status(status) => (status, "content-length: 0\r\n".into(), String::new()),
        Document::Redirect(to) => (302, format!("location: {to}\r\ncontent-length: 0\r\n"), String::new()),
        Document::Hang => return std::future::pending().await,
        Document::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"keys\":[],\"a\":\"").await?;
            loop {
                stream.write_all(&[b'a'; 4096]).await?;
            }
        }
    };
    stream.write_all(format!("HTTP/1.1 {status} Said\r\n{fields}connection: close\r\n\r\n{body}").as_bytes()).await?;
    stream.shutdown().await
}
