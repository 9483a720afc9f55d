//! The two protocols a client may speak, and how one message shows which.
//!
//! Invariant: the era is a matter of the single message, never of the connection: clients probe with one and go on with the other.

use super::message::{Request, text_of};

/// The stateless protocol's version.
pub const MODERN: &str = "2026-07-28";
/// The stateful protocol's versions, oldest first. The last is offered to a client that asks for one this host does not know.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The one version that has batches.
pub const BATCHES: &str = "2025-03-26";

/// Which protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Stateful, up to 2025-11-25: `initialize`, sessions, `resources/subscribe`.
    Legacy,
    /// Stateless, from 2026-07-28: `server/discover`, `subscriptions/listen`.
    Modern,
}

/// What a transport says beside the message in one place, such as an HTTP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Said<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// This, without white space around it.
    Text(&'a str),
    /// Something that is no visible ASCII text, or several things.
    Garbled,
}

impl Said<'_> {
    /// Whether it names a version of the modern era, or a later one.
    pub fn is_modern_version(&self) -> bool {
        matches!(self, Said::Text(version) if is_date(version) && *version >= MODERN)
    }
}

/// Whether it has the form of a protocol version, whose order then is that of the text.
fn is_date(text: &str) -> bool {
    text.len() == MODERN.len()
        && text.bytes().enumerate().all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
}

/// The era of a request, given the version the transport says beside it (specification 2026-07-28, Versioning, "Dual-era").
pub fn of(request: &Request<'_>, version: Said<'_>) -> Era {
    let asks_for_session = || {
        let asked = request.params().ok().and_then(|params| params.protocol_version);
        asked.is_some_and(|asked| text_of(asked).is_some())
    };
    match &*request.method {
        "initialize" if asks_for_session() => Era::Legacy,
        "server/discover" | "subscriptions/listen" => Era::Modern,
        _ if version.is_modern_version() => Era::Modern,
        _ if request.meta().is_some_and(|meta| meta.protocol_version.is_some()) => Era::Modern,
        _ => Era::Legacy,
    }
}

/// The version of the stateful protocol that a session gets which asks for this one.
pub fn negotiate(asked: &str) -> &'static str {
    let newest = LEGACY[LEGACY.len() - 1];
    LEGACY.into_iter().find(|known| *known == asked).unwrap_or(newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::message::{Incoming, Message, parse};

    fn era(method: &str, params: &str, version: Said<'_>) -> Era {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let Ok(Incoming::One(Message::Request(request))) = parse(text.as_bytes()) else { panic!("{text}") };
        of(&request, version)
    }

    const META: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999"}}"#;

    #[test]
    fn initialize_with_a_version_is_legacy_whatever_stands_beside_it() {
        let both = r#"{"protocolVersion":"2025-11-25","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        assert_eq!(era("initialize", both, Said::Text(MODERN)), Era::Legacy);
        assert_eq!(era("initialize", r#"{"protocolVersion":"junk"}"#, Said::Nothing), Era::Legacy);
        assert_eq!(era("initialize", META, Said::Text(MODERN)), Era::Modern);
        assert_eq!(era("initialize", r#"{"protocolVersion":5}"#, Said::Text(MODERN)), Era::Modern);
    }

    #[test]
    fn meta_or_the_header_or_the_method_make_a_request_modern() {
        assert_eq!(era("resources/read", META, Said::Nothing), Era::Modern);
        assert_eq!(era("resources/read", "{}", Said::Text(MODERN)), Era::Modern);
        assert_eq!(era("resources/read", "{}", Said::Text("2027-01-01")), Era::Modern);
        assert_eq!(era("server/discover", "{}", Said::Nothing), Era::Modern);
        assert_eq!(era("subscriptions/listen", "[]", Said::Text("2025-11-25")), Era::Modern);
    }

    #[test]
    fn all_else_is_legacy() {
        for said in
            [Said::Nothing, Said::Garbled, Said::Text("2025-11-25"), Said::Text("v999"), Said::Text("9999"), Said::Text("2026-0728-")]
        {
            assert_eq!(era("resources/read", r#"{"_meta":{"progressToken":1}}"#, said), Era::Legacy, "{said:?}");
        }
        assert_eq!(era("resources/read", r#"{"_meta":5}"#, Said::Nothing), Era::Legacy);
    }

    #[test]
    fn an_unknown_version_gets_the_newest_session() {
        assert_eq!(negotiate("2025-03-26"), "2025-03-26");
        for odd in ["2026-07-28", "2027-01-01", "", "junk", "2024-10-07"] {
            assert_eq!(negotiate(odd), "2025-11-25", "{odd}");
        }
    }
}
