//! A message as the body of an answer.
//!
//! Invariant: its size is known from the beginning, so that it goes out with a Content-Length and not in chunks.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use crate::mcp::encode::Encoded;

/// The body.
pub fn body(message: Encoded) -> Body {
    match message.into_pieces() {
        (head, end) if end.is_empty() => head.into(),
        (head, end) => Body::new(Pieces { head: head.into(), end }),
    }
}

/// Two pieces; what is sent of them is empty.
struct Pieces {
    head: Bytes,
    end: Bytes,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = if self.head.is_empty() { std::mem::take(&mut self.end) } else { std::mem::take(&mut self.head) };
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.head.is_empty() && self.end.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.head.len() as u64 + self.end.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn the_pieces_come_in_order_and_their_size_is_exact_all_the_way() {
        let mut pieces = Pieces { head: Bytes::from_static(b"head"), end: Bytes::from_static(b" and end") };
        let mut left = 12;
        for piece in ["head", " and end"] {
            assert_eq!((pieces.size_hint().exact(), pieces.is_end_stream()), (Some(left), false));
            assert_eq!(pieces.frame().await.unwrap().unwrap().into_data().unwrap(), piece);
            left -= piece.len() as u64;
        }
        assert_eq!((left, pieces.size_hint().exact(), pieces.is_end_stream()), (0, Some(0), true));
        assert!(pieces.frame().await.is_none());
    }
}
