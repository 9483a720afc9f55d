//! What is said of a connection at its end.

use serde::Serialize;

use super::round::Round;
use crate::cli::output::inert;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum End {
    /// The client ended its session, or closed the pipe.
    Closed,
    /// It asked nothing for a while, and listened to nothing.
    Idle,
    /// The lab ended first.
    Open,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Client {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Taken {
    pub step: &'static str,
    /// Since the connection's first message.
    pub at_ms: u64,
}

/// As `--json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Verdict {
    pub connection: usize,
    pub client: Client,
    pub era: &'static str,
    pub protocol: String,
    pub transport: &'static str,
    pub steps: Vec<Taken>,
    pub missing: Vec<&'static str>,
    pub full_round: bool,
    pub ended: End,
}

impl Verdict {
    /// The steps of a round, as they are said.
    pub(super) fn steps(round: &Round) -> (Vec<Taken>, Vec<&'static str>) {
        let taken = round.taken().iter().map(|(step, at)| {
            let at_ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
            Taken { step: step.name(), at_ms }
        });
        (taken.collect(), round.missing().into_iter().map(super::round::Step::name).collect())
    }

    /// For people: some lines, each with its end.
    pub(super) fn text(&self) -> String {
        let Self { connection, client, era, protocol, transport, steps, missing, full_round, ended } = self;
        let name = if client.name.is_empty() { "a client without a name" } else { &client.name };
        let ended = match ended {
            End::Closed => "closed",
            End::Idle => "nothing asked for a while",
            End::Open => "still open",
        };
        let mut text = inert(&format!("connection {connection}: {name} {}, {era} {protocol}, {transport}, {ended}", client.version));
        text.push('\n');
        for Taken { step, at_ms } in steps {
            text += &format!("  {step:<12} {:>9.3} s\n", std::time::Duration::from_millis(*at_ms).as_secs_f64());
        }
        text += &match (full_round, &missing[..]) {
            (true, _) => "verdict: a full round\n".to_owned(),
            (false, []) => "verdict: not a full round: it unsubscribed before it was notified\n".to_owned(),
            (false, missing) => format!("verdict: not a full round; not seen: {}\n", missing.join(", ")),
        };
        text
    }
}
