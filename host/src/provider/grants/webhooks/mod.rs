//! What stands before a provider's webhook: its signature, its rate, and the memory of what came already.
//!
//! Invariants:
//! - The provider sees nothing of a request whose signature is wrong, missing, too old, or was taken before.
//! - Signatures are compared in constant time. Nobody but this module has the secret.
//! - However many requests come, a gate remembers no more than [`REMEMBERED`] of them, and lets no more than [`PER_SECOND`] through.

mod signature;

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

pub use signature::Proof;

use super::Secrets;
use crate::{
    config::grants::{Grants, Webhook},
    provider::WebhookRequest,
};

/// Requests a second that reach the provider of one webhook, in the long run. A busy organisation on GitHub sends some.
pub const PER_SECOND: u32 = 50;
/// Those that may come at once: a push that starts a hundred jobs.
pub const BURST: u32 = 200;
/// How far the time in a signature may be from now: Stripe's own advice.
pub const TOLERANCE: Duration = Duration::from_secs(300);
/// How long a signature that was taken is not taken again: as long as the oldest and the newest time that are taken are apart.
pub const REPLAY_TIME: Duration = Duration::from_secs(600);
/// Signatures that are remembered: as many as can be taken in [`REPLAY_TIME`], so none is forgotten before its time. 100 bytes each.
pub const REMEMBERED: usize = (REPLAY_TIME.as_secs() * PER_SECOND as u64 + BURST as u64) as usize;
/// How often refusals are told in the log, at most.
const TELL: Duration = Duration::from_secs(10);

/// Why a request does not reach the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not signed as it should be.
    #[error("{0}")]
    Signature(&'static str),
    /// The same one was taken already.
    #[error("it has come before, with the same signature: a replay")]
    Replayed,
    /// Too many come. Worth another try after so long.
    #[error("more than {PER_SECOND} requests a second come in the long run")]
    Rate(Duration),
    /// The host does not have the secret.
    #[error("the host does not have the secret that it is signed with; its log says why")]
    NoSecret,
}

#[derive(Debug)]
struct State {
    /// Requests that may still pass.
    credit: f64,
    filled: Instant,
    /// The signatures that were taken.
    taken: HashSet<[u8; 32]>,
    /// Until when each is remembered, the oldest first.
    until: VecDeque<(Instant, [u8; 32])>,
    told: Option<Instant>,
    /// Refusals since then.
    untold: u64,
}

/// What is kept of one webhook over the generations of its provider.
#[derive(Debug)]
pub struct Memory(Mutex<State>);

impl Default for Memory {
    fn default() -> Self {
        Self(Mutex::new(State {
            credit: BURST.into(),
            filled: Instant::now(),
            taken: HashSet::new(),
            until: VecDeque::new(),
            told: None,
            untold: 0,
        }))
    }
}

/// One webhook of one generation of a provider.
pub struct Gate {
    provider: Arc<str>,
    webhook: Webhook,
    secret: Option<String>,
    memory: Arc<Memory>,
}

/// A request that was let in. It may come again unless it is said to be [`Admitted::taken`]: its provider may fail, or its sender hang up.
#[derive(Debug)]
#[must_use]
pub struct Admitted {
    signature: Option<[u8; 32]>,
    memory: Arc<Memory>,
}

impl Admitted {
    /// The provider took it.
    pub fn taken(mut self) {
        self.signature = None;
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        if let Some(signature) = self.signature {
            let mut state = self.memory.0.lock();
            state.taken.remove(&signature);
            // It would be forgotten too early the next time.
            state.until.retain(|(_, taken)| *taken != signature);
        }
    }
}

impl Gate {
    /// The gate of this webhook, if it is granted.
    pub fn new(provider: Arc<str>, grants: &Grants, secrets: &Secrets, name: &str, memory: impl FnOnce() -> Arc<Memory>) -> Option<Self> {
        let webhook = grants.webhooks.iter().find(|webhook| webhook.name == name)?.clone();
        Some(Self { provider, secret: secrets.of_webhook(name).map(str::to_owned), webhook, memory: memory() })
    }

    /// Whether the sender is answered before the provider was asked.
    pub fn queues(&self) -> bool {
        self.webhook.queue
    }

    /// Lets a request in, or says why not, and tells it in the log.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn admit(&self, request: &WebhookRequest) -> Result<Admitted, Refused> {
        let admitted = self.judge(request, SystemTime::now());
        if let Err(refused) = admitted {
            self.tell(refused);
        }
        admitted
    }

    fn judge(&self, request: &WebhookRequest, now: SystemTime) -> Result<Admitted, Refused> {
        let proof = match &self.webhook.signed {
            None => Proof::None,
            Some(signed) => {
                let secret = self.secret.as_deref().ok_or(Refused::NoSecret)?;
                let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
                signature::check(&signed.signature, secret, request, now).map_err(Refused::Signature)?
            }
        };
        let now = Instant::now();
        let mut state = self.memory.0.lock();
        state.forget(now);
        let once = match proof {
            Proof::Once(signature) => Some(signature),
            Proof::None | Proof::Token => None,
        };
        if once.is_some_and(|signature| state.taken.contains(&signature)) {
            return Err(Refused::Replayed);
        }
        state.pass(now)?;
        if let Some(signature) = once {
            state.taken.insert(signature);
            state.until.push_back((now + REPLAY_TIME, signature));
        }
        Ok(Admitted { signature: once, memory: self.memory.clone() })
    }

    fn tell(&self, refused: Refused) {
        let now = Instant::now();
        let mut state = self.memory.0.lock();
        state.untold += 1;
        if state.told.is_some_and(|told| now.duration_since(told) < TELL) {
            return;
        }
        state.told = Some(now);
        let others = std::mem::take(&mut state.untold) - 1;
        drop(state);
        let (name, but) = (&self.webhook.name, if others > 0 { format!(" ({others} others were refused before)") } else { String::new() });
        tracing::warn!(provider = &*self.provider, "a request to its webhook {name:?} was refused: {refused}{but}");
    }
}

impl State {
    fn forget(&mut self, now: Instant) {
        while let Some((until, signature)) = self.until.front().copied()
            && until <= now
        {
            self.until.pop_front();
            self.taken.remove(&signature);
        }
    }

    fn pass(&mut self, now: Instant) -> Result<(), Refused> {
        let gained = now.duration_since(self.filled).as_secs_f64() * f64::from(PER_SECOND);
        self.credit = (self.credit + gained).min(BURST.into());
        self.filled = now;
        if self.credit < 1.0 {
            return Err(Refused::Rate(Duration::from_secs_f64((1.0 - self.credit) / f64::from(PER_SECOND))));
        }
        self.credit -= 1.0;
        Ok(())
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("provider", &self.provider).field("webhook", &self.webhook.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::grants::{Secret, Signature, Signed};

    const SECRET: &str = "It's a Secret to Everybody";

    fn gate(signature: Option<Signature>, secret: Option<&str>) -> Gate {
        let signed = signature.map(|signature| Signed { signature, secret: Secret::Env(String::new()) });
        let webhook = Webhook { name: "push".into(), signed, queue: false };
        Gate { provider: "ci".into(), webhook, secret: secret.map(str::to_owned), memory: Arc::default() }
    }

    fn request(body: &str, headers: &[(&str, &str)]) -> WebhookRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        WebhookRequest { name: "push".into(), method: "POST".into(), path_and_query: String::new(), headers, body: body.to_owned().into() }
    }

    fn signed(body: &str) -> WebhookRequest {
        let mac = signature::hex(&signature::mac(SECRET.as_bytes(), &[body.as_bytes()]));
        request(body, &[("x-hub-signature-256", &format!("sha256={mac}"))])
    }

    #[tokio::test(start_paused = true)]
    async fn a_signed_request_is_taken_once_and_again_only_after_its_time_or_if_it_failed() {
        let gate = gate(Some(Signature::Github), Some(SECRET));
        let first = gate.admit(&signed("a")).unwrap();
        assert_eq!(gate.admit(&signed("a")).unwrap_err(), Refused::Replayed);
        gate.admit(&signed("b")).unwrap().taken();
        drop(first);
        gate.admit(&signed("a")).unwrap().taken();
        assert_eq!(gate.admit(&signed("b")).unwrap_err(), Refused::Replayed, "only what failed may come again");
        tokio::time::advance(REPLAY_TIME).await;
        gate.admit(&signed("a")).unwrap().taken();
    }

    #[tokio::test(start_paused = true)]
    async fn past_the_burst_requests_pass_at_the_rate_and_are_told_when_to_come_again() {
        let gate = gate(None, None);
        let passed = |number: u32| (0..number).filter(|_| gate.admit(&request("", &[])).is_ok()).count();
        assert_eq!(passed(10_000), BURST as usize);
        assert_eq!(gate.admit(&request("", &[])).unwrap_err(), Refused::Rate(Duration::from_millis(20)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(passed(10_000), PER_SECOND as usize);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded_by_what_passes_and_refused_requests_cost_nothing_of_it() {
        let gate = gate(Some(Signature::Github), Some(SECRET));
        for second in 0..REPLAY_TIME.as_secs() + 60 {
            for n in 0..PER_SECOND + 5 {
                gate.judge(&signed(&format!("{second}/{n}")), UNIX_EPOCH).map(Admitted::taken).ok();
                assert!(gate.judge(&request("", &[("x-hub-signature-256", "sha256=00")]), UNIX_EPOCH).is_err());
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let state = gate.memory.0.lock();
        let taken = state.taken.len();
        assert_eq!(state.until.len(), taken);
        assert!(taken <= REMEMBERED && taken > REMEMBERED / 2, "{taken}");
    }

    #[test]
    fn without_the_secret_nothing_is_taken() {
        assert_eq!(gate(Some(Signature::Gitlab), None).admit(&request("", &[("x-gitlab-token", "")])).unwrap_err(), Refused::NoSecret);
    }

    #[test]
    fn a_wrong_and_a_missing_signature_are_refused() {
        let gate = gate(Some(Signature::Github), Some(SECRET));
        assert!(matches!(gate.admit(&request("a", &[])), Err(Refused::Signature(reason)) if reason.contains("no X-Hub-Signature-256")));
        let mut other = signed("a");
        other.body = "b".into();
        assert!(matches!(gate.admit(&other), Err(Refused::Signature(_))));
    }
}
