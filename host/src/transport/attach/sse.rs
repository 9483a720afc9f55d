//! Server-sent events out of bytes (HTML Living Standard §9.2.6).
//!
//! Invariants: events come out whole, whatever pieces their bytes come in; one past [`EVENT_CAP`] is never held.

use bytes::{Buf, BytesMut};

/// Bytes of one event. The largest that a host sends has a URI of 8 KiB, each of its bytes escaped, in an acknowledgement of 10,000.
pub const EVENT_CAP: usize = 64 << 20;

/// An event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Its data, the lines of it joined; empty for an event without.
    pub data: Vec<u8>,
}

/// An event is too long.
#[derive(Debug, thiserror::Error)]
#[error("an event of more than {EVENT_CAP} bytes")]
pub struct TooLong;

/// Reads events.
#[derive(Default)]
pub struct Parser {
    unread: BytesMut,
    event: Event,
    /// The last line ended with a CR, so that a LF now belongs to it.
    after_cr: bool,
}

impl Parser {
    /// Takes more bytes.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.unread.extend_from_slice(bytes);
        if self.unread.len() + self.event.data.len() > EVENT_CAP { Err(TooLong) } else { Ok(()) }
    }

    /// The next whole event that has data or an id.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            if self.after_cr {
                // Whether a LF follows is not known before anything does.
                let lf = *self.unread.first()? == b'\n';
                self.unread.advance(usize::from(lf));
                self.after_cr = false;
            }
            let at = self.unread.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
            let mut line = self.unread.split_to(at + 1);
            self.after_cr = line.last() == Some(&b'\r');
            line.truncate(at);
            if !line.is_empty() {
                self.field(&line);
            } else if self.event != Event::default() {
                return Some(std::mem::take(&mut self.event));
            }
        }
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"id" => self.event.id = String::from_utf8(value.to_vec()).ok(),
            // A comment, or what says nothing here.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str, piece: usize) -> Vec<(Option<String>, String)> {
        let mut parser = Parser::default();
        let mut all = Vec::new();
        for bytes in text.as_bytes().chunks(piece) {
            parser.push(bytes).unwrap();
            while let Some(event) = parser.next_event() {
                all.push((event.id, String::from_utf8(event.data).unwrap()));
            }
        }
        all
    }

    #[test]
    fn events_come_out_whole_whatever_their_line_ends_and_pieces() {
        for end in ["\n", "\r\n", "\r"] {
            let text =
                [":beat", "", "id: s-1", "data: {\"a\":", "data:1}", "", "event: x", "", "data: \u{e9}", "retry: 5", "", "data: cut off"]
                    .join(end);
            for piece in 1..text.len() {
                let expected = [(Some("s-1".to_owned()), "{\"a\":\n1}".to_owned()), (None, "\u{e9}".to_owned())];
                assert_eq!(events(&text, piece), expected, "{end:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn an_event_past_its_cap_is_refused() {
        let mut parser = Parser::default();
        let mebibyte = vec![b'x'; 1 << 20];
        assert!((0..EVENT_CAP >> 20).all(|_| parser.push(&mebibyte).is_ok()));
        assert!(parser.push(b"x").is_err());
    }
}
