//! What a running host has to say of its files, besides what becomes of its providers.

use std::{fmt, path::PathBuf};

/// Something a person who runs the host wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// wharf.toml was read again, and holds.
    ConfigRead(PathBuf),
    /// wharf.toml was read again, and cannot be used: the settings before it hold. The text says what is wrong, with the line.
    ConfigRefused(String),
    /// What this wharf.toml grants to these providers does not hold, since the user did not choose it as it is.
    NotGranted(PathBuf, Vec<String>),
    /// These settings of this wharf.toml do not hold, for the same reason.
    NotHeld(PathBuf, Vec<String>),
    /// wharf.toml is gone: its settings hold until it is back.
    ConfigGone(PathBuf),
    /// These settings, with their tables, hold once the host is started again.
    NeedsRestart(Vec<&'static str>),
    /// The plugins folder is not there: it is waited for.
    FolderGone(PathBuf),
    /// The plugins folder is there again.
    FolderBack(PathBuf),
    /// The plugins folder cannot be read, and why: what is known of it holds.
    FolderUnreadable(PathBuf, String),
    /// A file of the plugins folder is not loaded, and why.
    NotLoaded(PathBuf, String),
    /// This certificate, or its key, was read again, and holds for connections from now on.
    CertificateRead(PathBuf),
    /// The certificate and its key were read again, and cannot be used: those before hold. Says why.
    CertificateRefused(String),
    /// These tokens were read again, and hold; says how many there are.
    TokensRead(PathBuf, String),
    /// The tokens were read again, and cannot be used: those before hold. Says why.
    TokensRefused(String),
    /// Every user of this machine may read this private key.
    KeyExposed(PathBuf),
}

impl Notice {
    /// Whether something is to be done about it.
    pub fn is_warning(&self) -> bool {
        !matches!(self, Self::ConfigRead(_) | Self::FolderBack(_) | Self::CertificateRead(_) | Self::TokensRead(..))
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConfigRead(path) => write!(f, "{} was read again", path.display()),
            Self::ConfigRefused(reason) => write!(f, "the settings stay as they were: {reason}"),
            Self::NotGranted(path, providers) => write!(
                f,
                "what {path} grants to {} does not hold, since you have not chosen the file as it is now: read it, then run `wharf trust {path}` \
                 and start the host again, or name the file by --config",
                providers.join(", "),
                path = path.display()
            ),
            Self::NotHeld(path, settings) => write!(
                f,
                "what {path} says in {} does not hold, since it reaches beyond this folder and this machine, and you have not chosen the file \
                 as it is now: read it, then run `wharf trust {path}` and start the host again, or name the file by --config",
                settings.join(", "),
                path = path.display()
            ),
            Self::ConfigGone(path) => write!(f, "{} is gone: its settings hold until it is back", path.display()),
            Self::NeedsRestart(keys) => {
                let (verb, them) = if keys.len() == 1 { ("takes", "it") } else { ("take", "them") };
                write!(f, "{} {verb} effect when the host is started again; till then {them} is as before", keys.join(", "))
            }
            Self::FolderGone(path) => write!(f, "there is no plugins folder {}: it is waited for", path.display()),
            Self::FolderBack(path) => write!(f, "the plugins folder {} is there", path.display()),
            Self::FolderUnreadable(path, reason) => {
                write!(f, "the plugins folder {} cannot be read: {reason}; what was loaded from it goes on", path.display())
            }
            Self::CertificateRead(path) => write!(f, "{} was read again: it holds for connections from now on", path.display()),
            Self::CertificateRefused(reason) => write!(f, "the certificate stays as it was: {reason}"),
            Self::TokensRead(path, holds) => write!(f, "{} was read again: {holds}", path.display()),
            Self::TokensRefused(reason) => write!(f, "the tokens stay as they were: {reason}"),
            Self::KeyExposed(path) => {
                write!(f, "every user of this machine may read the private key {path}: run `chmod o-rwx {path}`", path = path.display())
            }
            Self::NotLoaded(path, reason) => write!(f, "not loaded: {}: {reason}", path.display()),
        }
    }
}
