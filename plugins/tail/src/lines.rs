//! The last lines of a file, read from its end.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

/// Bytes that are read at first; four times as many, each time they are too few.
const FIRST_LOOK: u64 = 64 << 10;
/// And at the most.
const LONGEST_LOOK: u64 = 16 << 20;
/// Bytes of what is given: the newest lines that fit.
const MAX_TEXT: usize = 1 << 20;

/// The last lines of a file, of those that have a text if one is given. Bytes that are not UTF-8 are replaced.
pub fn last(path: &str, lines: usize, grep: Option<&str>) -> io::Result<String> {
    // Opening a pipe would wait for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut look = FIRST_LOOK;
    loop {
        let from = length.saturating_sub(look);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        // It may grow meanwhile.
        (&mut file).take(look + FIRST_LOOK).read_to_end(&mut bytes)?;
        let found = pick(&bytes, from > 0, lines, grep);
        if found.len() >= lines || from == 0 || look >= LONGEST_LOOK {
            return Ok(text(&found));
        }
        look *= 4;
    }
}

/// The last lines that fit, the last one first. `cut`: the first of them is only the end of one.
fn pick<'a>(bytes: &'a [u8], cut: bool, lines: usize, grep: Option<&str>) -> Vec<&'a [u8]> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // A line longer than all that was looked at is shown by its end.
    if cut && all.len() > 1 {
        all.remove(0);
    }
    let has = |line: &&[u8]| grep.is_none_or(|grep| String::from_utf8_lossy(line).contains(grep));
    all.into_iter().rev().filter(has).take(lines).collect()
}

fn text(lines: &[&[u8]]) -> String {
    let mut room = MAX_TEXT;
    let fit = lines.iter().take_while(|line| {
        let fits = line.len() < room;
        room = room.saturating_sub(line.len() + 1);
        fits
    });
    let mut picked: Vec<_> = fit.map(|line| String::from_utf8_lossy(line)).collect();
    if picked.is_empty()
        && let Some(line) = lines.first()
    {
        picked.push(String::from_utf8_lossy(&line[line.len() - MAX_TEXT..]));
    }
    picked.iter().rev().map(|line| format!("{}\n", line.strip_suffix('\r').unwrap_or(line))).collect()
}
