use std::time::Duration;

/// Why a provider gave no answer. The first five are the contract's own (`types.error` in the WIT), the others are how a guest can fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such resource here; the next candidate is asked.
    #[error("not found")]
    NotFound,
    /// The request cannot be right.
    #[error("{0}")]
    Invalid(String),
    /// It exists, and may not be had.
    #[error("{0}")]
    Denied(String),
    /// Not now; the same request may succeed later.
    #[error("{message}")]
    Unavailable {
        /// What to tell the user.
        message: String,
        /// When it is worth another try, if that is known.
        retry_after: Option<Duration>,
    },
    /// Anything else.
    #[error("{0}")]
    Failed(String),
    /// The guest trapped; its instance is gone.
    #[error("the provider crashed: {0}")]
    Trapped(String),
    /// The guest overran its deadline; its instance is gone.
    #[error("the provider did not answer within {} (wharf.toml: [provider.limits] deadline)", humantime::format_duration(*.0))]
    DeadlineExceeded(Duration),
}

impl Error {
    /// An [`Error::Unavailable`] that does not know for how long.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into(), retry_after: None }
    }

    /// The error's name, as clients, logs and metrics see it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Invalid(_) => "invalid",
            Self::Denied(_) => "denied",
            Self::Unavailable { .. } => "unavailable",
            Self::Failed(_) => "failed",
            Self::Trapped(_) => "trap",
            Self::DeadlineExceeded(_) => "deadline",
        }
    }

    /// Whether the same call may well succeed later, so that it is to be tried again: it is unavailable, or its instance died.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Trapped(_) | Self::DeadlineExceeded(_))
    }
}
