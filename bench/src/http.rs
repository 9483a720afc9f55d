//! Raw keep-alive HTTP/1.1: requests are written as they are, answers are read as far as their length needs.
//!
//! Invariant: after [`Connection::exchange`] the connection stands at the beginning of the next answer, and [`Connection::body`] is the whole
//! body of the last one, without its chunks.

use std::{net::SocketAddr, ops::Range};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Bytes asked of the socket at once: a small answer takes one read, a large one few.
const CHUNK: usize = 256 << 10;
/// Likewise, of answers that are known to be small.
const SLIM: usize = 4 << 10;

/// One connection.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are there.
    filled: usize,
    head: usize,
    body: Range<usize>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; CHUNK], filled: 0, head: 0, body: 0..0 })
    }

    /// The same with a buffer that begins small: ten thousand of these are no gigabytes.
    pub fn slim(mut self) -> Self {
        self.buffer.truncate(SLIM);
        self.buffer.shrink_to_fit();
        self
    }

    /// Sends a request and reads its whole answer. Gives the status.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<u16> {
        let (status, length) = self.begin(request).await?;
        match length {
            Length::Bytes(length) => {
                self.body = self.head..self.head + length;
                self.fill_to(self.body.end).await?;
            }
            Length::Chunks => self.read_chunks().await?,
        }
        Ok(status)
    }

    /// Sends a request and reads its answer's head, with the status; and of a stream whatever has come with it.
    pub async fn begin(&mut self, request: &[u8]) -> Result<(u16, Length)> {
        (self.filled, self.head) = (0, 0);
        self.stream.write_all(request).await?;
        loop {
            self.more().await?;
            if let Some(at) = find(&self.buffer[..self.filled], b"\r\n\r\n") {
                self.head = at + 4;
                return parse(&self.buffer[..at]);
            }
        }
    }

    pub fn body(&self) -> &[u8] {
        &self.buffer[self.body.clone()]
    }

    /// The value of a header of the last answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.buffer[..self.head]).ok()?;
        head.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    /// Reads on until this text has come, as the first event of a stream.
    pub async fn wait_for(&mut self, text: &[u8]) -> Result<()> {
        while find(&self.buffer[self.head..self.filled], text).is_none() {
            self.more().await?;
        }
        Ok(())
    }

    /// Reads on, past what this has found before, until one of these texts has come; gives which. For streams that are read for long.
    pub async fn wait_for_next(&mut self, texts: &[&[u8]]) -> Result<usize> {
        loop {
            let unread = &self.buffer[self.head..self.filled];
            let found = texts.iter().enumerate().filter_map(|(number, text)| Some((find(unread, text)?, number))).min();
            if let Some((at, number)) = found {
                let read = self.head + at + texts[number].len();
                self.buffer.copy_within(read..self.filled, 0);
                (self.filled, self.head) = (self.filled - read, 0);
                return Ok(number);
            }
            self.more().await?;
        }
    }

    /// Gives back what the buffer takes: of ten thousand idle connections it would be gigabytes.
    pub fn idle(self) -> TcpStream {
        self.stream
    }

    async fn read_chunks(&mut self) -> Result<()> {
        // Each is moved to the end of the body so far.
        let (mut at, mut end) = (self.head, self.head);
        loop {
            let line = loop {
                match find(&self.buffer[at..self.filled], b"\r\n") {
                    Some(length) => break at..at + length,
                    None => self.more().await?,
                }
            };
            let size = std::str::from_utf8(&self.buffer[line.clone()])?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16).context("a chunk without a size")?;
            at = line.end + 2;
            self.fill_to(at + size + 2).await?;
            if size == 0 {
                self.body = self.head..end;
                return Ok(());
            }
            self.buffer.copy_within(at..at + size, end);
            end += size;
            at += size + 2;
        }
    }

    async fn fill_to(&mut self, end: usize) -> Result<()> {
        if self.buffer.len() < end {
            self.buffer.resize(end + CHUNK, 0);
        }
        while self.filled < end {
            self.more().await?;
        }
        Ok(())
    }

    async fn more(&mut self) -> Result<()> {
        if self.filled == self.buffer.len() {
            let more = CHUNK.min(self.filled.max(SLIM));
            self.buffer.resize(self.filled + more, 0);
        }
        match self.stream.read(&mut self.buffer[self.filled..]).await? {
            0 => bail!("the server closed the connection"),
            read => self.filled += read,
        }
        Ok(())
    }
}

/// How the end of an answer is known.
#[derive(Debug, PartialEq, Eq)]
pub enum Length {
    Bytes(usize),
    Chunks,
}

fn parse(head: &[u8]) -> Result<(u16, Length)> {
    let head = std::str::from_utf8(head).context("a head that is not text")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()).context("no HTTP/1.1 answer")?;
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { bail!("a header without a colon") };
        if name.eq_ignore_ascii_case("content-length") {
            return Ok((status, Length::Bytes(value.trim().parse()?)));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked") {
            return Ok((status, Length::Chunks));
        }
    }
    bail!("an answer without a length")
}

/// Where this text begins in that one.
pub fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(at) = text.get(from..)?.iter().position(|byte| *byte == first) {
        if text[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// A server that sends these pieces, each by itself.
    async fn answered(pieces: &'static [&'static str]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            stream.read_exact(&mut [0; 3]).await.unwrap();
            for piece in pieces {
                stream.write_all(piece.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
            stream
        };
        let ask = async {
            let mut connection = Connection::open(address).await.unwrap();
            assert_eq!(connection.exchange(b"ask").await.unwrap(), 200);
            connection
        };
        tokio::join!(serve, ask).1
    }

    #[tokio::test]
    async fn an_answer_in_pieces_is_read_whole_whatever_its_framing() {
        let whole = answered(&["HTTP/1.1 200 OK\r\nX: 1\r\ncontent-", "length: 5\r\n\r\nhe", "llo"]).await;
        assert_eq!((whole.body(), whole.header("x")), (&b"hello"[..], Some("1")));
        let chunks = answered(&["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r", "\n2\r\nlo\r\n0\r", "\n\r\n"]).await;
        assert_eq!(chunks.body(), b"hello");
    }

    #[tokio::test]
    async fn what_a_stream_says_is_found_once_each_in_its_order() {
        let mut stream = answered(&["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "one t", "wo ", "one"]).await;
        for expected in [0, 1, 0] {
            assert_eq!(stream.wait_for_next(&[b"one", b"two"]).await.unwrap(), expected);
        }
        assert!(stream.wait_for_next(&[b"one"]).await.is_err(), "the stream has ended");
    }

    #[test]
    fn a_head_without_a_length_is_an_error() {
        assert!(parse(b"HTTP/1.1 200 OK\r\nx: 1").is_err());
        assert_eq!(parse(b"HTTP/1.1 404 Not Found\r\nContent-Length: 7").unwrap(), (404, Length::Bytes(7)));
    }
}
