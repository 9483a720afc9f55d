//! Reading a request's body, within a size and a time.

use std::{fmt, future::poll_fn, pin::pin, task::Poll, time::Duration};

use axum::{
    body::HttpBody,
    http::{HeaderMap, StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use crate::mcp::error::RpcError;

/// Bytes of one request's body. The largest message that makes sense is a listen with 10,000 URIs of some hundred bytes.
pub const BODY_CAP: usize = 4 << 20;
/// How long a whole body may take to arrive. A phone's uplink sends 4 MiB in that time; who takes longer only holds memory.
const BODY_TIME: Duration = Duration::from_secs(60);

/// The whole body. The error has the HTTP status it is to be told with.
pub async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, (StatusCode, RpcError)>
where
    B: HttpBody<Data = Bytes, Error: fmt::Display> + Unpin,
{
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > BODY_CAP as u64) {
        return Err(too_large());
    }
    within(BODY_TIME, collect(body)).await.unwrap_or_else(|| {
        let error = RpcError::invalid_request(format!("the body did not arrive within {}", humantime::format_duration(BODY_TIME)));
        Err((StatusCode::REQUEST_TIMEOUT, error))
    })
}

/// What the work gives, or `None` after this time. A body that is there already comes at the second poll: hyper takes it from the socket
/// only once it is asked for. A timer is begun only if it does not, since beginning and ending one takes a lock that all connections share.
async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut asked = false;
    let at_hand = poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if std::mem::replace(&mut asked, true) => Poll::Ready(None),
        Poll::Pending => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    match at_hand.await {
        Some(done) => Some(done),
        None => tokio::time::timeout(time, work).await.ok(),
    }
}

async fn collect<B>(mut body: B) -> Result<Bytes, (StatusCode, RpcError)>
where
    B: HttpBody<Data = Bytes, Error: fmt::Display> + Unpin,
{
    let mut whole = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| (StatusCode::BAD_REQUEST, RpcError::invalid_request(format!("the body is cut: {error}"))))?;
        let Ok(data) = frame.into_data() else { continue };
        if joined.len() + whole.len() + data.len() > BODY_CAP {
            return Err(too_large());
        }
        // Most bodies come in one piece, which is taken as it is.
        if joined.is_empty() && whole.is_empty() {
            whole = data;
            if body.is_end_stream() {
                break;
            }
        } else {
            if joined.is_empty() {
                joined.extend_from_slice(&std::mem::take(&mut whole));
            }
            joined.extend_from_slice(&data);
        }
    }
    Ok(if joined.is_empty() { whole } else { joined.freeze() })
}

fn too_large() -> (StatusCode, RpcError) {
    let error = RpcError::invalid_request(format!("the body is larger than {} MiB: send several messages", BODY_CAP >> 20));
    (StatusCode::PAYLOAD_TOO_LARGE, error)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use futures_util::{StreamExt, stream};

    use super::*;

    fn pieces(pieces: Vec<Vec<u8>>) -> Body {
        let pieces = stream::iter(pieces).map(|piece| Ok::<_, Infallible>(hyper::body::Frame::data(Bytes::from(piece))));
        Body::new(http_body_util::StreamBody::new(pieces))
    }

    #[tokio::test]
    async fn pieces_are_joined_in_order() {
        for count in 0..4 {
            let body = pieces((0..count).map(|n| vec![b'a' + n; 3]).collect());
            let whole: Vec<u8> = (0..count).flat_map(|n| [b'a' + n; 3]).collect();
            assert_eq!(read(&HeaderMap::new(), body).await.unwrap(), whole);
        }
    }

    #[tokio::test]
    async fn the_cap_is_the_last_byte_taken_whether_announced_or_not() {
        let half = BODY_CAP / 2;
        let whole = read(&HeaderMap::new(), pieces(vec![vec![0; half], vec![0; half]])).await;
        assert_eq!(whole.unwrap().len(), BODY_CAP);
        let over = read(&HeaderMap::new(), pieces(vec![vec![0; half], vec![0; half], vec![0]])).await;
        assert_eq!(over.unwrap_err().0, StatusCode::PAYLOAD_TOO_LARGE);
        let announced = [(header::CONTENT_LENGTH, (BODY_CAP + 1).into())].into_iter().collect();
        assert_eq!(read(&announced, Body::empty()).await.unwrap_err().0, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_arrive_is_given_up() {
        let never = Body::new(http_body_util::StreamBody::new(stream::pending::<Result<hyper::body::Frame<Bytes>, Infallible>>()));
        assert_eq!(read(&HeaderMap::new(), never).await.unwrap_err().0, StatusCode::REQUEST_TIMEOUT);
    }
}
