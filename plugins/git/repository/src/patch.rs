//! Differences as text, in the unified format that `git apply` takes.

use std::fmt::Write;

use imara_diff::{Algorithm, Diff, InternedInput, sources::byte_lines};

/// Lines around a change.
const CONTEXT: u32 = 3;
/// Bytes that git looks at to tell text from anything else.
const LOOKED_AT: usize = 8000;

/// What became of two contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Patch {
    /// The hunks, from the first `@@` on; lines added, and removed.
    Text {
        /// Empty, if nothing differs.
        hunks: String,
        /// How many lines came.
        added: usize,
        /// How many went.
        removed: usize,
    },
    /// One of them is no text.
    Binary,
}

/// Compares two contents line by line. Bytes that are no UTF-8 are replaced in what is shown.
pub fn patch(old: &[u8], new: &[u8]) -> Patch {
    if is_binary(old) || is_binary(new) {
        return Patch::Binary;
    }
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let line = |tokens: &[imara_diff::Token], at: u32| tokens.get(at as usize).map(|token| input.interner[*token]).unwrap_or_default();
    let (old_lines, new_lines) = (input.before.len() as u32, input.after.len() as u32);

    let mut text = String::new();
    let (mut added, mut removed) = (0, 0);
    let mut hunks = diff.hunks().peekable();
    while let Some(first) = hunks.next() {
        // Hunks whose context would touch are one.
        let mut group = vec![first];
        while let (Some(last), Some(next)) = (group.last(), hunks.peek()) {
            if next.before.start > last.before.end + 2 * CONTEXT {
                break;
            }
            group.extend(hunks.next());
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let before = CONTEXT.min(first.before.start);
        let after = CONTEXT.min(old_lines - last.before.end);
        let old_range = first.before.start - before..last.before.end + after;
        let new_range = first.after.start - before..last.after.end + after;
        let _ = writeln!(text, "@@ -{} +{} @@", range(&old_range), range(&new_range));
        let mut at = old_range.start;
        for hunk in &group {
            (at..hunk.before.start).for_each(|at| push(&mut text, ' ', line(&input.before, at)));
            hunk.before.clone().for_each(|at| push(&mut text, '-', line(&input.before, at)));
            hunk.after.clone().for_each(|at| push(&mut text, '+', line(&input.after, at)));
            at = hunk.before.end;
            removed += hunk.before.len();
            added += hunk.after.len();
        }
        (at..old_range.end).for_each(|at| push(&mut text, ' ', line(&input.before, at)));
        debug_assert!(new_range.end <= new_lines);
    }
    Patch::Text { hunks: text, added, removed }
}

/// Whether this is no text: git's own way to tell.
pub fn is_binary(content: &[u8]) -> bool {
    content.iter().take(LOOKED_AT).any(|byte| *byte == 0)
}

fn range(lines: &std::ops::Range<u32>) -> String {
    match lines.len() {
        // Of no lines, the number is that of the line before.
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        length => format!("{},{length}", lines.start + 1),
    }
}

fn push(text: &mut String, mark: char, line: &[u8]) {
    text.push(mark);
    text.push_str(&String::from_utf8_lossy(line));
    if !line.ends_with(b"\n") {
        text.push_str("\n\\ No newline at end of file\n");
    }
}
