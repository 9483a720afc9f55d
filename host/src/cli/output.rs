//! Printing: what a person sees in a terminal, and what another program gets from a pipe.
//!
//! Invariants: stdout has the answer and nothing else; what a component wrote cannot steer the terminal; a reader that goes away early, as
//! `head` does, is no failure.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a terminal that does not say how wide it is.
const WIDTH: usize = 80;
/// A column is not made narrower than this as long as another can be.
const NARROWEST: usize = 8;
/// Between two columns.
const GAP: &str = "  ";
/// What ends a cell that was cut.
const CUT: char = '…';

/// Prints a line on stderr. It may hold what a component, or whoever named a file, wrote: that must not steer the terminal.
pub(super) fn say(line: &str) {
    eprintln!("{}", inert(line));
}

/// The text on one line, without anything that a terminal obeys.
pub(super) fn inert(line: &str) -> String {
    line.chars().flat_map(|c| if steers(c) { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Control characters, and those that turn the direction of text (Unicode Standard Annex 9), with which one line can look like another.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// "1 resource", "2 resources".
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Whether a person reads stdout.
pub(super) fn for_people() -> bool {
    io::stdout().is_terminal()
}

/// Writes to stdout as it is.
pub(super) fn write(bytes: &[u8]) -> Result<()> {
    write_if_read(bytes).map(|_| ())
}

/// Writes to stdout as it is; false if nobody reads it any more.
pub(super) fn write_if_read(bytes: &[u8]) -> Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).context("cannot write to stdout"),
    }
}

/// Writes a text that may come from a component: to a terminal without what steers it, but with its lines; else as it is.
pub(super) fn text(text: &str) -> Result<()> {
    if for_people() { write(shown(text).as_bytes()) } else { write(text.as_bytes()) }
}

/// The text with its lines, the last of which has an end, and without anything else that a terminal obeys.
pub(super) fn shown(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| line.split('\t').map(inert).collect::<Vec<_>>().join("\t")).collect();
    let mut shown = lines.join("\n");
    if !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown
}

/// Writes lines, each of them inert.
pub(super) fn lines<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> Result<()> {
    let mut all = String::new();
    for line in lines {
        all += &inert(line.as_ref());
        all.push('\n');
    }
    write(all.as_bytes())
}

/// Writes a value as JSON: over several lines for people, else on one.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> Result<()> {
    let people = for_people();
    let written = if people { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    let mut json = written.context("cannot write JSON")?;
    if people {
        // serde_json escapes control characters up to U+001F, but not those after DEL; within JSON text they stand in strings only.
        json = json.chars().flat_map(|c| if c != '\n' && steers(c) { escaped(c) } else { vec![c] }).collect();
    }
    json.push('\n');
    write(json.as_bytes())
}

fn escaped(c: char) -> Vec<char> {
    format!("\\u{:04x}", u32::from(c)).chars().collect()
}

/// Rows of cells: a table that fits the terminal, or for a pipe lines with a tab between cells, and without the head.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> Result<()> {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| inert(cell))).collect();
    if for_people() {
        let all: Vec<[String; N]> = std::iter::once(head.map(Into::into)).chain(rows).collect();
        return write(fit(&all, width()).as_bytes());
    }
    write(rows.iter().map(|row| row.join("\t") + "\n").collect::<String>().as_bytes())
}

/// Pads and cuts so that no line is wider than that. The last columns are cut first: the first is what the user copies.
fn fit<const N: usize>(rows: &[[String; N]], width: usize) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (cell, width) in row.iter().zip(&mut widths) {
            *width = (*width).max(cell.width());
        }
    }
    let room = width.saturating_sub(GAP.len() * N.saturating_sub(1));
    let mut over = widths.iter().sum::<usize>().saturating_sub(room);
    for narrowest in [NARROWEST, 1] {
        for column in widths.iter_mut().rev() {
            let less = over.min(column.saturating_sub(narrowest));
            *column -= less;
            over -= less;
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            if at > 0 {
                line += GAP;
            }
            let shown = clip(cell, width);
            line += &shown;
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(shown.width())));
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// As much of the text as fits into so many columns.
fn clip(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = CUT.width().unwrap_or(1);
    let mut kept: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect();
    kept.push(CUT);
    kept
}

/// Columns of the terminal on stdout.
fn width() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(io::stdout())
        && size.ws_col > 0
    {
        return size.ws_col.into();
    }
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0).unwrap_or(WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_cannot_steer_a_terminal() {
        assert_eq!(inert("a \u{1b}[2Jé\nb\u{202e}c"), "a \\u{1b}[2Jé\\nb\\u{202e}c");
    }

    #[test]
    fn a_table_fits_and_cuts_the_last_columns_first() {
        let rows = [["x://one", "a title that is long"], ["x://three", "短い題"]].map(|row| row.map(String::from));
        assert_eq!(fit(&rows, 80), "x://one    a title that is long\nx://three  短い題\n");
        assert_eq!(fit(&rows, 22), "x://one    a title th…\nx://three  短い題\n");
        assert_eq!(fit(&rows, 17), "x://one   a titl…\nx://thr…  短い題\n", "then those before it, and the last one to nothing");
        for width in 4..40 {
            assert!(fit(&rows, width).lines().all(|line| line.width() <= width), "{width}: {}", fit(&rows, width));
        }
    }

    #[test]
    fn a_wide_character_is_not_cut_in_half() {
        assert_eq!(clip("短い題", 6), "短い題");
        assert_eq!(clip("短い題", 5), "短い…");
        assert_eq!(clip("短い題", 4), "短…");
    }
}
