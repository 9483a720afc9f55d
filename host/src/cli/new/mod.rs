//! `wharf new`: makes a provider's project from a template.
//!
//! The templates are `host/templates/LANGUAGE/`, which the build puts into the program. In their files `{{name}}` stands for the
//! provider's name, `{{crate}}` for the same with `_` for `-`, and `{{scheme}}` for the scheme of its URIs. A file `X.in` becomes `X`: so
//! that what is a manifest in the project is none in this repository. The contract goes into `wit/` whatever the language.
//!
//! Invariant: nothing that is there already is touched.

mod name;

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::json;

use super::{output, wit};

/// Languages, and of each its files: path and content.
static TEMPLATES: &[(&str, &[(&str, &str)])] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));
/// What there is to be known of a template before it is one: not a file of the project.
const ABOUT: &str = "template.toml";
/// Where the contract goes.
const CONTRACT: &str = "wit/deps/provider";

/// Arguments of `wharf new`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The provider's name, and the scheme of its URIs
    #[arg(value_parser = name::parse)]
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
    let about = About::of(template)?;
    let mut written = Vec::new();
    for (path, content) in template.iter().filter(|(path, _)| *path != ABOUT) {
        let path = folder.join(fill(path.strip_suffix(".in").unwrap_or(path), &name));
        write(&path, &fill(content, &name))?;
        written.push(path);
    }
    for (path, content) in wit::FILES {
        let path = folder.join(CONTRACT).join(path);
        write(&path, content)?;
        written.push(path);
    }
    if json {
        return output::json(&json!({ "name": name, "language": language, "folder": folder, "files": written, "needs": about.needs }));
    }
    let shown = folder.display();
    let title = about.title.as_deref().unwrap_or(language);
    let needs = about.needs.map(|needs| format!(" It takes {needs}.")).unwrap_or_default();
    output::lines([
        format!("{shown} is a provider in {title}.{needs} To work on it:"),
        format!("  wharf dev {shown}"),
        "and in another terminal, to see what changes:".into(),
        format!("  wharf watch --read --url http://127.0.0.1:8089/mcp {name}://sentence"),
        format!("{} has the rest.", folder.join("README.md").display()),
    ])
}

/// What a template says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    title: Option<String>,
    needs: Option<String>,
}

impl About {
    fn of(template: &[(&str, &str)]) -> Result<Self> {
        let Some((_, content)) = template.iter().find(|(path, _)| *path == ABOUT) else { return Ok(Self::default()) };
        toml::from_str(content).with_context(|| format!("the template's {ABOUT} is wrong"))
    }
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
            let about = About::of(files).unwrap();
            assert!(about.title.is_some() && about.needs.is_some(), "{language} has no {ABOUT} with title and needs");
            for (path, content) in *files {
                for text in [fill(path, "my-notes"), fill(content, "my-notes")] {
                    assert_eq!(unknown(&text), [""; 0], "{language}/{path}");
                }
            }
        }
    }
}
