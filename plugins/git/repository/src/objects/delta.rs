//! Deltas: how an object is made from another one. Format: git's `pack-format`, "Deltified representation".

use super::inflate::check_size;
use crate::error::{Error, Result};

/// Applies a delta. The result has the size that it says, or it is an error.
pub fn apply(what: &str, base: &[u8], delta: &[u8]) -> Result<Vec<u8>> {
    let damaged = |why: &str| Error::damaged(what, why);
    let mut delta = delta.iter().copied();
    let base_size = size(&mut delta).ok_or_else(|| damaged("a delta that is cut off"))?;
    let size = size(&mut delta).ok_or_else(|| damaged("a delta that is cut off"))?;
    if base_size != base.len() as u64 {
        return Err(damaged("a delta of an object of another size"));
    }
    check_size(what, size)?;
    let size = usize::try_from(size).map_err(|_| damaged("a delta of no size"))?;
    let mut out: Vec<u8> = Vec::with_capacity(size.min(base.len().saturating_mul(2) + delta.len()));
    while let Some(op) = delta.next() {
        if op & 0x80 != 0 {
            let mut number = |bits: u8, bytes: u32| -> Option<usize> {
                let mut value = 0;
                for byte in 0..bytes {
                    if bits >> byte & 1 != 0 {
                        value |= usize::from(delta.next()?) << (8 * byte);
                    }
                }
                Some(value)
            };
            let offset = number(op & 0x0f, 4).ok_or_else(|| damaged("a delta that is cut off"))?;
            let length = number(op >> 4 & 0x07, 3).ok_or_else(|| damaged("a delta that is cut off"))?;
            let length = if length == 0 { 0x10000 } else { length };
            let copied = offset
                .checked_add(length)
                .and_then(|end| base.get(offset..end))
                .ok_or_else(|| damaged("a delta that copies what is not there"))?;
            check_room(what, &out, copied.len(), size)?;
            out.extend_from_slice(copied);
        } else if op != 0 {
            let length = usize::from(op);
            check_room(what, &out, length, size)?;
            out.extend(delta.by_ref().take(length));
        } else {
            return Err(damaged("a delta with an instruction that does not exist"));
        }
    }
    if out.len() != size {
        return Err(damaged("a delta that gives another size than it says"));
    }
    Ok(out)
}

fn check_room(what: &str, out: &[u8], more: usize, size: usize) -> Result<()> {
    if out.len() + more > size {
        return Err(Error::damaged(what, "a delta that gives more than it says"));
    }
    Ok(())
}

/// A size in groups of seven bits, the lowest first.
fn size(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = bytes.next()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The size of the result, from the delta's first bytes.
pub fn result_size(delta: &[u8]) -> Option<u64> {
    let mut bytes = delta.iter().copied();
    size(&mut bytes)?;
    size(&mut bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_copies_and_inserts() {
        // Base of 10, result of 7: copy 4 from 2, insert "abc".
        assert_eq!(apply("x", b"0123456789", &[10, 7, 0x91, 2, 4, 3, b'a', b'b', b'c']).unwrap(), b"2345abc");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (delta, why) in [
            (&[9, 7][..], "another size"),
            (&[10], "cut off"),
            (&[10, 4, 0x91, 8, 4], "not there"),
            (&[10, 4, 0x91, 2], "cut off"),
            (&[10, 3, 0x91, 2, 4], "more than it says"),
            (&[10, 5, 0x91, 2, 4], "another size"),
            (&[10, 5, 5, b'a'], "another size"),
            (&[10, 1, 0], "does not exist"),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 1], "cut off"),
            (&[10, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, b'a'], "at most"),
        ] {
            let error = apply("x", b"0123456789", delta).unwrap_err().to_string();
            assert!(error.contains(why), "{delta:?}: {error}");
        }
    }
}
