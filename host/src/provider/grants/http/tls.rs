//! TLS for what providers fetch: rustls with ring, the roots that the system trusts, and those that wharf.toml adds.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio::sync::OnceCell;

/// Bytes of a file with certificates: all roots of a system have 250 KB.
const CA_FILE_BYTES: u64 = 4 << 20;

/// Why a file with certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct CaFileError {
    path: std::path::PathBuf,
    reason: String,
}

/// The certificates of a file in PEM.
///
/// # Errors
/// The file cannot be read, is over 4 MiB, or has no certificate.
pub fn read_ca_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, CaFileError> {
    let wrong = |reason: String| CaFileError { path: path.to_owned(), reason };
    let pem = std::fs::File::open(path)
        .and_then(|file| crate::config::files::read_capped(file, CA_FILE_BYTES))
        .map_err(|error| wrong(error.to_string()))?;
    let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>().map_err(|error| wrong(error.to_string()))?;
    if certificates.is_empty() {
        return Err(wrong("there is no certificate in it: it has to be in PEM (-----BEGIN CERTIFICATE-----)".into()));
    }
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(certificates)
}

/// What is trusted, read from the system when it is first needed.
#[derive(Default)]
pub(super) struct Trusted {
    own: Vec<CertificateDer<'static>>,
    config: OnceCell<Arc<ClientConfig>>,
}

impl Trusted {
    pub fn with(own: Vec<CertificateDer<'static>>) -> Self {
        Self { own, config: OnceCell::new() }
    }

    /// Kept: it has the sessions that can be resumed.
    pub async fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let make = || async {
            let own = self.own.clone();
            // It reads files.
            tokio::task::spawn_blocking(move || config(own)).await.map_err(|error| error.to_string())?
        };
        self.config.get_or_try_init(make).await.cloned()
    }
}

/// For a client over HTTP/1.1 that trusts the system's roots and these. Blocks: it reads files.
///
/// # Errors
/// There is nobody to be trusted.
pub(crate) fn config(own: Vec<CertificateDer<'static>>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    // Among a system's roots there may be some that are too old to be understood.
    roots.add_parsable_certificates(system.certs);
    roots.add_parsable_certificates(own);
    if roots.is_empty() {
        let why: Vec<String> = system.errors.iter().map(ToString::to_string).collect();
        return Err(format!(
            "this machine has no root certificates ({}): install its package ca-certificates, or name some by ca-file ([fetch] in wharf.toml, --ca-file of a command)",
            why.join("; ")
        ));
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused_by_its_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            read_ca_file(file.path()).unwrap_err().to_string()
        };
        assert!(refused("nothing").contains("no certificate in it"), "{}", refused("nothing"));
        let broken = refused("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        assert!(broken.contains(&file.path().display().to_string()), "{broken}");
        assert!(read_ca_file(Path::new("/nowhere/ca.pem")).unwrap_err().to_string().contains("/nowhere/ca.pem"));
        let certificate = rcgen::generate_simple_self_signed(["a.example".into()]).unwrap();
        std::fs::write(file.path(), certificate.cert.pem()).unwrap();
        assert_eq!(read_ca_file(file.path()).unwrap().len(), 1);
    }
}
