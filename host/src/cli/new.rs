//! `wharf new`: makes a provider's project from a template.
//!
//! The templates are `host/templates/LANGUAGE/`, which the build puts into the program. In their files `{{name}}` stands for the
//! provider's name, `{{crate}}` for the same with `_` for `-`, and `{{scheme}}` for the scheme of its URIs. A file `X.in` becomes `X`: so
//! that what is a manifest in the project is none in this repository. The contract goes into `wit/` whatever the language.
//!
//! Invariant: nothing that is there already is touched.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::{output, wit};

/// Languages, and of each its files: path and content.
static TEMPLATES: &[(&str, &[(&str, &str)])] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));
/// A name is the scheme of URIs, too, and nobody wants to type more.
const MAX_NAME: usize = 40;
/// Schemes that have a meaning of their own.
const SCHEMES: [&str; 8] = ["wharf", "file", "http", "https", "data", "ws", "wss", "urn"];
/// Names that a language with a template keeps for itself: Rust's keywords, and crates that are always there.
const RESERVED: [&str; 60] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "self",
    "std",
    "static",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "wit-bindgen",
    "yield",
    "bindings",
    "content",
    "provider",
];

/// Arguments of `wharf new`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The provider's name, and the scheme of its URIs
    #[arg(value_parser = parse_name)]
    name: String,
    /// The language it is written in
    #[arg(long, value_parser = parse_language)]
    lang: usize,
    /// The project's folder [default: ./NAME]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// For programs
    #[arg(long)]
    json: bool,
}

fn parse_name(name: &str) -> Result<String, String> {
    let rule = format!("a name is 1 to {MAX_NAME} small letters, digits and `-`, begins with a letter and does not end with `-`");
    let well = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > MAX_NAME || !name.starts_with(|c: char| c.is_ascii_lowercase()) || name.ends_with('-') || !name.chars().all(well) {
        return Err(rule);
    }
    if SCHEMES.contains(&name) {
        return Err(format!("`{name}:` is a scheme with a meaning of its own: choose another name, such as my-{name}"));
    }
    if RESERVED.contains(&name) {
        return Err(format!("`{name}` is a word that a language keeps for itself: choose another name, such as my-{name}"));
    }
    Ok(name.to_owned())
}

fn parse_language(language: &str) -> Result<usize, String> {
    TEMPLATES.iter().position(|(known, _)| *known == language).ok_or_else(|| {
        let known: Vec<&str> = TEMPLATES.iter().map(|(known, _)| *known).collect();
        format!("there is no template for it; there is one for {}", known.join(", "))
    })
}

pub(super) fn run(args: Args) -> Result<()> {
    let Args { name, lang, dir, json } = args;
    let folder = dir.unwrap_or_else(|| PathBuf::from(&name));
    make_room(&folder)?;
    let (language, template) = TEMPLATES[lang];
    let mut written = Vec::new();
    for (path, content) in template {
        let path = folder.join(fill(path.strip_suffix(".in").unwrap_or(path), &name));
        write(&path, &fill(content, &name))?;
        written.push(path);
    }
    for (path, content) in wit::FILES {
        let path = folder.join("wit").join(path);
        write(&path, content)?;
        written.push(path);
    }
    if json {
        return output::json(&json!({ "name": name, "language": language, "folder": folder, "files": written }));
    }
    let shown = folder.display();
    output::lines([
        format!("{shown} is a provider in {language}. To work on it:"),
        format!("  wharf dev {shown}"),
        "and in another terminal, to see what changes:".into(),
        format!("  wharf watch --read --url http://127.0.0.1:8089/mcp {name}://sentence"),
        format!("{} has the rest.", folder.join("README.md").display()),
    ])
}

/// The folder is there now, and nothing is in it.
fn make_room(folder: &Path) -> Result<()> {
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                bail!("{} is there already and not empty: name another folder with --dir", folder.display());
            }
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => bail!("{} is a file: name another folder with --dir", folder.display()),
        Err(error) => Err(error).with_context(|| format!("cannot look into {}", folder.display())),
    }
}

fn fill(text: &str, name: &str) -> String {
    text.replace("{{name}}", name).replace("{{crate}}", &name.replace('-', "_")).replace("{{scheme}}", name)
}

fn write(path: &Path, content: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    // A file that came in between is not overwritten.
    let written = fs::File::create_new(path).and_then(|mut file| std::io::Write::write_all(&mut file, content.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_scheme_or_no_package_is_refused_with_the_rule() {
        for name in ["hello", "a", "my-notes2"] {
            assert_eq!(parse_name(name).as_deref(), Ok(name));
        }
        for name in ["", "Hello", "2notes", "-a", "a-", "a_b", "a.b", "a b", "ä", &"a".repeat(MAX_NAME + 1)] {
            assert!(parse_name(name).unwrap_err().contains("begins with a letter"), "{name}");
        }
        assert!(parse_name("wharf").unwrap_err().contains("my-wharf"));
        assert!(parse_name("match").unwrap_err().contains("my-match"));
    }

    #[test]
    fn an_unknown_language_is_refused_with_the_known_ones() {
        assert!(parse_language("cobol").unwrap_err().contains("rust"));
    }

    #[test]
    fn every_placeholder_of_every_template_is_known() {
        let unknown = |text: &str| {
            let names = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(name, _)| name.to_owned());
            names.filter(|name| name.chars().all(|c| c.is_ascii_lowercase())).collect::<Vec<_>>()
        };
        for (language, files) in TEMPLATES {
            assert!(!files.is_empty(), "{language}");
            for (path, content) in *files {
                for text in [fill(path, "my-notes"), fill(content, "my-notes")] {
                    assert_eq!(unknown(&text), [""; 0], "{language}/{path}");
                }
            }
        }
    }
}
