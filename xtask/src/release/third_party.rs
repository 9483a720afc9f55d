//! THIRD-PARTY.txt: whose work is in the binary, and under which licences, with the texts that come with it.

use std::{collections::BTreeMap, fmt::Write, fs};

use anyhow::{Context, Result};

use super::{
    contents::NAME,
    crates::{Crate, Crates, Key},
};

/// What is linked and is no crate.
const BESIDES: &str = include_str!("../../../deploy/third-party.txt");
/// How files with a licence's text, or with what it wants to be passed on, are named.
const TEXTS: [&str; 6] = ["license", "licence", "copying", "notice", "copyright", "unlicense"];
/// A text that is longer is no licence.
const LONGEST: u64 = 256 * 1024;

/// All of it. Equal texts stand there once.
pub fn write(crates: &Crates) -> Result<String> {
    let mut text = String::from("Wharf is under the Apache License 2.0 (LICENSE). In its binary is the work of others too:\n\n");
    let others: Vec<(&Key, &Crate)> = crates.0.iter().filter(|(key, _)| key.0 != NAME).collect();
    // By what they say, in the order in which they first come.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for ((name, version), one) in &others {
        let licence = one.licence.as_deref().unwrap_or("a licence of its own");
        writeln!(text, "{name} {version}: {licence}{}", one.repository.as_ref().map(|at| format!(", {at}")).unwrap_or_default())?;
        let found = texts_of(one)?;
        if found.is_empty() {
            without.push(format!("{name} {version} ({licence})"));
        }
        for found in found {
            texts.entry(found).or_default().push(format!("{name} {version}"));
        }
    }
    write!(text, "\n{BESIDES}")?;
    if !without.is_empty() {
        writeln!(text, "\nWithout a text of their own:\n{}", without.join("\n"))?;
    }
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|(a_text, a), (b_text, b)| a.first().cmp(&b.first()).then_with(|| a_text.cmp(b_text)));
    for (licence, of) in texts {
        writeln!(text, "\n{}\n{}\n\n{licence}", "-".repeat(80), of.join(", "))?;
    }
    Ok(text)
}

fn texts_of(one: &Crate) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let folder = fs::read_dir(&one.folder).with_context(|| format!("cannot read {}", one.folder.display()))?;
    for entry in folder {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let is_text = TEXTS.iter().any(|text| name.starts_with(text)) && !name.ends_with(".rs");
        if !is_text || !fs::metadata(entry.path()).is_ok_and(|file| file.is_file() && file.len() <= LONGEST) {
            continue;
        }
        let bytes = fs::read(entry.path())?;
        // Line ends and spaces at them differ where the words do not.
        let lines: Vec<String> = String::from_utf8_lossy(&bytes).lines().map(|line| line.trim_end().to_owned()).collect();
        let text = lines.join("\n").trim_matches('\n').to_owned();
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn equal_texts_stand_there_once_and_what_has_none_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let one = |name: &str, files: &[(&str, &str)]| {
            let at = folder.path().join(name);
            fs::create_dir(&at).unwrap();
            files.iter().for_each(|(file, text)| fs::write(at.join(file), text).unwrap());
            let one = Crate { licence: Some("MIT".into()), repository: None, folder: at, checksum: None, uses: BTreeSet::new() };
            ((name.to_owned(), "1.0.0".to_owned()), one)
        };
        let crates = Crates(BTreeMap::from([
            one(NAME, &[("LICENSE", "ours")]),
            one("a", &[("LICENSE-MIT", "the words\nof it\n"), ("lib.rs", "no licence")]),
            one("b", &[("licence.txt", "the words \r\nof it"), ("NOTICE", "notice of b")]),
            one("c", &[("license.rs", "code")]),
        ]));
        let text = write(&crates).unwrap();
        assert_eq!(text.matches("the words\nof it").count(), 1, "{text}");
        assert!(text.contains("a 1.0.0, b 1.0.0\n\nthe words"), "{text}");
        assert!(text.contains("notice of b") && text.contains("Without a text of their own:\nc 1.0.0 (MIT)"), "{text}");
        assert!(!text.contains("ours") && !text.contains("code"), "{text}");
    }
}
