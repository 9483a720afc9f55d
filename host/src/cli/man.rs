//! `wharf man`.
//!
//! Invariant: what it writes follows from the commands alone, without a date, so that packages built anew are the same to the byte.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::CommandFactory;

use super::{Cli, output};

/// Arguments of `wharf man`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The folder, such as ~/.local/share/man/man1; it is made if it is not there, and files of these names in it are replaced
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(args: Args) -> Result<()> {
    let folder = args.folder;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let pages = pages()?;
    for (name, page) in &pages {
        let path = folder.join(name);
        std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    output::lines(pages.iter().map(|(name, _)| folder.join(name).display().to_string()))
}

/// Those of the program, of each command that `--help` shows, and of theirs: names as man(1) looks for them, and what is in them.
fn pages() -> Result<Vec<(String, Vec<u8>)>> {
    let mut program = Cli::command().disable_help_subcommand(true);
    // Gives each command its full name, such as wharf-config-check.
    program.build();
    let mut pages = Vec::new();
    let mut open = vec![program];
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands().filter(|command| !command.is_hide_set()).cloned());
        let page = clap_mangen::Man::new(command);
        let mut text = Vec::new();
        page.render(&mut text).context("cannot write a manual page")?;
        pages.push((page.get_filename(), text));
    }
    pages.sort();
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_help_shows_has_a_page_and_no_other() {
        let pages = pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| &**name).collect();
        let commands = Cli::command();
        for command in commands.get_subcommands() {
            let page = format!("wharf-{}.1", command.get_name());
            assert_eq!(names.contains(&&*page), !command.is_hide_set(), "{page}: {names:?}");
        }
        assert!(names.contains(&"wharf.1") && names.contains(&"wharf-config-check.1") && !names.contains(&"wharf-help.1"), "{names:?}");
    }

    #[test]
    fn the_page_of_the_program_leads_to_those_of_its_commands() {
        let pages = pages().unwrap();
        let (_, program) = pages.iter().find(|(name, _)| name == "wharf.1").unwrap();
        let program = String::from_utf8_lossy(program).replace("\\-", "-");
        for (name, _) in pages.iter().filter(|(name, _)| name.matches('-').count() == 1 && !name.contains("compile")) {
            let name = name.trim_end_matches(".1");
            assert!(program.contains(&format!("{name}(1)")), "no {name}: {program}");
        }
    }
}
