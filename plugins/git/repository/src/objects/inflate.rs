//! zlib, with the size known before.

use std::io::{BufRead, Read};

use flate2::bufread::ZlibDecoder;

use super::MAX_OBJECT_BYTES;
use crate::error::{Error, Result};

/// Bytes that are reserved for an object on its word alone.
const TRUSTED: u64 = 64 << 10;

/// Whether an object of this size may be read.
pub fn check_size(what: &str, bytes: u64) -> Result<()> {
    if bytes > MAX_OBJECT_BYTES {
        return Err(Error::TooLarge { what: what.into(), bytes, limit: MAX_OBJECT_BYTES });
    }
    Ok(())
}

/// Inflates exactly so many bytes. More or fewer are an error, so a bomb goes off at the size that was claimed.
pub fn exactly(what: &str, from: impl BufRead, size: u64) -> Result<Vec<u8>> {
    check_size(what, size)?;
    rest(what, &mut ZlibDecoder::new(from), Vec::new(), size)
}

/// The same, where the beginning has been inflated already.
pub fn rest(what: &str, decoder: &mut impl Read, mut begun: Vec<u8>, size: u64) -> Result<Vec<u8>> {
    check_size(what, size)?;
    let missing = size.checked_sub(begun.len() as u64).ok_or_else(|| longer(what))?;
    begun.reserve_exact(usize::try_from(missing.min(TRUSTED)).unwrap_or_default());
    // One more than it should be: to see whether it ends there.
    let got = decoder
        .take(missing + 1)
        .read_to_end(&mut begun)
        .map_err(|error| Error::damaged(what, format!("it cannot be inflated: {error}")))?;
    match (got as u64).cmp(&missing) {
        std::cmp::Ordering::Equal => Ok(begun),
        std::cmp::Ordering::Less => Err(Error::damaged(what, "it is shorter than it says")),
        std::cmp::Ordering::Greater => Err(longer(what)),
    }
}

fn longer(what: &str) -> Error {
    Error::damaged(what, "it is longer than it says")
}
