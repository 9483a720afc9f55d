//! `wharf completions`.
//!
//! Invariant: what it writes follows from the commands alone, so that packages built anew are the same to the byte.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::{Cli, output};

/// Arguments of `wharf completions`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: Args) -> Result<()> {
    output::write(&script(args.shell))
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    // Not to stdout: the generators panic when nobody reads it any more.
    generate(shell, &mut Cli::command(), env!("CARGO_PKG_NAME"), &mut script);
    script
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn each_shell_completes_every_command_that_help_shows() {
        let commands = Cli::command();
        let shown: Vec<&str> =
            commands.get_subcommands().filter(|command| !command.is_hide_set()).map(|command| command.get_name()).collect();
        assert!(shown.contains(&"completions"), "{shown:?}");
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).unwrap();
            let words: std::collections::HashSet<&str> = script.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
            let missing: Vec<&&str> = shown.iter().filter(|name| !words.contains(**name)).collect();
            assert!(missing.is_empty(), "{shell} knows nothing of {missing:?}");
        }
    }

    #[test]
    fn the_same_program_writes_the_same_script() {
        assert!(Shell::value_variants().iter().all(|shell| script(*shell) == script(*shell)));
    }
}
