//! `--ca-file`: whom to trust besides the system, where a server has a certificate of an authority of its own.
//!
//! It is set once for the process, by the command that was given it, before anything is asked.

use std::{path::PathBuf, sync::OnceLock};

use anyhow::{Context, Result};
use rustls::pki_types::CertificateDer;
use wharf::provider::grants::http::read_ca_file;

static ADDED: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();

/// Certificate authorities.
#[derive(clap::Args)]
pub(super) struct CaArgs {
    /// Trust the certificate authorities in this file, in PEM, besides those of the system
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

impl CaArgs {
    /// From now on they are trusted.
    ///
    /// # Errors
    /// It is no such file.
    pub(super) fn trust(&self) -> Result<()> {
        if let Some(path) = &self.ca_file {
            let authorities = read_ca_file(path).context("--ca-file")?;
            ADDED.get_or_init(|| authorities);
        }
        Ok(())
    }
}

/// Those that were given.
pub(super) fn added() -> &'static [CertificateDer<'static>] {
    ADDED.get().map_or(&[], Vec::as_slice)
}
