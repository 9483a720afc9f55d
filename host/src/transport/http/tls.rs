//! HTTPS: TLS 1.2 and 1.3 (rustls) with a certificate and a key in files, for HTTP/1.1.
//!
//! Invariants: a pair that cannot be used never takes the place of one that can; connections that there are keep theirs, and each that comes
//! has one pair, old or new; no session of an earlier pair is resumed, since a key may be replaced because somebody else has it. Who speaks
//! plain HTTP is told, and gets no further.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    client::verify_server_name,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem, pem::PemObject},
    server::ParsedCertificate,
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::accept::{Handshake, refuse};
use crate::config::{TlsFiles, files::read_regular};

/// Bytes of either file: a chain has some thousand.
const FILE_BYTES: u64 = 1 << 20;
/// RFC 7301. HTTP/2 is not spoken.
const PROTOCOL: &[u8] = b"http/1.1";
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 44\r\n\r\n\
this port speaks HTTPS: begin with https://\n";

/// Why a certificate and its key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[server] tls: {}: {reason}", path.display())]
pub struct TlsError {
    path: PathBuf,
    reason: String,
}

/// A [`Handshake`] with a certificate that can be replaced meanwhile.
pub struct Tls {
    files: TlsFiles,
    pair: ArcSwap<Pair>,
}

struct Pair {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
    /// Of both files.
    hash: blake3::Hash,
}

impl Tls {
    /// Reads both files. Blocks.
    ///
    /// # Errors
    /// One cannot be read, has more than 1 MiB or is not what it should be, or they do not belong together.
    pub fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        Ok(Self { files: files.clone(), pair: ArcSwap::from_pointee(read(files)?) })
    }

    /// Reads them again; connections from now on get what is there now. Blocks. False if it is what was there before.
    ///
    /// # Errors
    /// As [`Tls::read`]: then all stays as it was.
    pub fn read_again(&self) -> Result<bool, TlsError> {
        let pair = read(&self.files)?;
        let is_new = pair.hash != self.pair.load().hash;
        if is_new {
            self.pair.store(pair.into());
        }
        Ok(is_new)
    }

    /// Where they are.
    pub fn files(&self) -> &TlsFiles {
        &self.files
    }

    /// Whether every user of this machine may read the key. Blocks.
    pub fn is_exposed(&self) -> bool {
        is_read_by_others(&self.files.key)
    }

    /// Whether the certificate is for this name, or this address.
    pub fn is_for(&self, name: &str) -> bool {
        let pair = self.pair.load();
        let Ok(name) = ServerName::try_from(name) else { return false };
        ParsedCertificate::try_from(&pair.certificate).is_ok_and(|certificate| verify_server_name(&certificate, &name).is_ok())
    }
}

impl Handshake for Arc<Tls> {
    type Io = TlsStream<TcpStream>;
    const IS_PLAIN: bool = false;

    async fn shake(&self, stream: TcpStream) -> io::Result<Self::Io> {
        let mut first = [0];
        // The first byte of TLS is a small number (RFC 8446 §5.1), that of HTTP a letter of its method.
        if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
            refuse(stream, PLAIN).await;
            return Err(io::Error::new(io::ErrorKind::InvalidData, "plain HTTP where HTTPS is spoken"));
        }
        let config = self.pair.load().config.clone();
        TlsAcceptor::from(config).accept(stream).await
    }
}

#[cfg(unix)]
fn is_read_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    // A group may have been made for those who serve with it, as Debian's ssl-cert is.
    const OTHERS: u32 = 0o004;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & OTHERS != 0)
}

#[cfg(not(unix))]
fn is_read_by_others(_: &Path) -> bool {
    false
}

fn read(files: &TlsFiles) -> Result<Pair, TlsError> {
    let wrong = |path: &Path, reason: String| TlsError { path: path.to_owned(), reason };
    let content = |path: &Path| read_regular(path, FILE_BYTES).map_err(|error| wrong(path, error.to_string()));
    let (certificate_pem, key_pem) = (content(&files.certificate)?, content(&files.key)?);
    let chain = CertificateDer::pem_slice_iter(&certificate_pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| wrong(&files.certificate, error.to_string()))?;
    let Some(certificate) = chain.first().cloned() else {
        let reason = "there is no certificate in it: it has to be in PEM (-----BEGIN CERTIFICATE-----)";
        return Err(wrong(&files.certificate, reason.into()));
    };
    if let Err(error) = ParsedCertificate::try_from(&certificate) {
        return Err(wrong(&files.certificate, format!("the first certificate in it cannot be read: {error}")));
    }
    let key = PrivateKeyDer::from_pem_slice(&key_pem).map_err(|error| wrong(&files.key, no_key(&key_pem, &error)))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, key))
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                wrong(&files.key, format!("it is not the key of the certificate in {}", files.certificate.display()))
            }
            error => wrong(&files.key, error.to_string()),
        })?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut hasher = blake3::Hasher::new();
    for part in [&certificate_pem, &key_pem] {
        hasher.update(&part.len().to_le_bytes()).update(part);
    }
    Ok(Pair { config: config.into(), certificate, hash: hasher.finalize() })
}

/// Says what is to be done about it. Nothing of the file is in it.
fn no_key(pem: &[u8], error: &pem::Error) -> String {
    const ENCRYPTED: [&[u8]; 2] = [b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];
    let has = |mark: &[u8]| pem.windows(mark.len()).any(|window| window == mark);
    if ENCRYPTED.into_iter().any(has) {
        return "the key in it has a password: write it without one, by `openssl pkey -in KEY -out NEW`".into();
    }
    match error {
        pem::Error::NoItemsFound => "there is no private key in it: it has to be in PEM (-----BEGIN PRIVATE KEY-----)".into(),
        error => format!("the key in it cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests;
