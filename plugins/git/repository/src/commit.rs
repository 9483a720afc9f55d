//! Commits and tags.

use crate::{
    error::{Error, Result},
    id::ObjectId,
};

/// Parents of one commit. Git's own octopus merges end at 16 by default.
const MAX_PARENTS: usize = 1024;

/// Bytes of a name or an address.
const MAX_NAME_BYTES: usize = 256;
/// Bytes of a subject.
const MAX_SUBJECT_BYTES: usize = 512;

/// Who did something, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Person {
    /// Name.
    pub name: String,
    /// Address.
    pub email: String,
    /// Seconds since 1970.
    pub seconds: i64,
    /// Minutes east of UTC.
    pub offset: i32,
}

impl Person {
    /// When, in the way of ISO 8601: `2026-11-30T14:05:09+01:00`.
    pub fn when(&self) -> String {
        let local = self.seconds.saturating_add(i64::from(self.offset) * 60);
        let (day, second) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        let (year, month, day) = civil(day);
        let (hours, minutes) = (self.offset.abs() / 60, self.offset.abs() % 60);
        let sign = if self.offset < 0 { '-' } else { '+' };
        format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}{sign}{hours:02}:{minutes:02}",
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    }

    /// `Name <address> seconds ±hhmm`. Old tools have written much else: what cannot be read stays empty.
    fn parse(line: &str) -> Self {
        let (name, rest) = line.split_once('<').unwrap_or((line, ""));
        let (email, time) = rest.rsplit_once('>').unwrap_or((rest, ""));
        let mut time = time.split_whitespace();
        // Year 9999 is the last that can be written.
        let seconds = time.next().and_then(|seconds| seconds.parse::<i64>().ok()).unwrap_or(0).clamp(0, 253_402_214_400);
        let zone = time.next().and_then(|zone| zone.parse::<i32>().ok()).filter(|zone| zone.abs() < 2400).unwrap_or(0);
        let cut = |text: &str| begin(text.trim(), MAX_NAME_BYTES).to_owned();
        Self { name: cut(name), email: cut(email), seconds, offset: zone / 100 * 60 + zone % 100 }
    }
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Howard Hinnant's civil_from_days: eras of 400 years that begin in March.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// What it holds.
    pub tree: ObjectId,
    /// What it follows; several for a merge.
    pub parents: Vec<ObjectId>,
    /// Who wrote the change.
    pub author: Person,
    /// Who committed it.
    pub committer: Person,
    /// The whole message. Bytes that are no UTF-8 are replaced.
    pub message: String,
}

impl Commit {
    pub(crate) fn parse(id: &ObjectId, data: &[u8]) -> Result<Self> {
        let damaged = |why: &str| Error::damaged(format!("commit {id}"), why);
        let (headers, message) = split(data);
        let (mut tree, mut parents, mut author, mut committer) = (None, Vec::new(), Person::default(), Person::default());
        for line in headers.lines() {
            match line.split_once(' ') {
                Some(("tree", hex)) if tree.is_none() => {
                    tree = Some(ObjectId::from_hex(hex).ok_or_else(|| damaged("its tree has no proper id"))?);
                }
                Some(("parent", hex)) => {
                    if parents.len() == MAX_PARENTS {
                        return Err(damaged("it has too many parents"));
                    }
                    parents.push(ObjectId::from_hex(hex).ok_or_else(|| damaged("a parent has no proper id"))?);
                }
                Some(("author", person)) => author = Person::parse(person),
                Some(("committer", person)) => committer = Person::parse(person),
                // Signatures and what else there is; a line that goes on begins with a space.
                _ => {}
            }
        }
        Ok(Self { tree: tree.ok_or_else(|| damaged("it has no tree"))?, parents, author, committer, message })
    }

    /// The first paragraph of the message, in one line, as `git log --oneline` shows it; at most 512 bytes.
    pub fn subject(&self) -> String {
        let message = begin(self.message.trim_start_matches('\n'), MAX_SUBJECT_BYTES);
        let lines: Vec<&str> = message.lines().take_while(|line| !line.trim().is_empty()).map(str::trim_end).collect();
        lines.join(" ")
    }
}

/// An annotated tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// What it stands for.
    pub target: ObjectId,
    /// Who made it.
    pub tagger: Person,
    /// Its message, without a signature.
    pub message: String,
}

impl Tag {
    pub(crate) fn parse(id: &ObjectId, data: &[u8]) -> Result<Self> {
        let (headers, message) = split(data);
        let (mut target, mut tagger) = (None, Person::default());
        for line in headers.lines() {
            match line.split_once(' ') {
                Some(("object", hex)) => target = ObjectId::from_hex(hex),
                Some(("tagger", person)) => tagger = Person::parse(person),
                _ => {}
            }
        }
        let message = message.split("-----BEGIN ").next().unwrap_or_default().to_owned();
        let target = target.ok_or_else(|| Error::damaged(format!("tag {id}"), "it stands for nothing"))?;
        Ok(Self { target, tagger, message })
    }
}

/// The text's first bytes, at most so many, cut between characters.
pub fn begin(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Headers and message.
fn split(data: &[u8]) -> (String, String) {
    let end = data.windows(2).position(|pair| pair == b"\n\n");
    let (headers, message) = match end {
        Some(end) => (data.get(..end), data.get(end + 2..)),
        None => (Some(data), None),
    };
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    (text(headers), text(message))
}
