//! Child processes: each with a time limit, each failure with the command that failed.
//!
//! A child stays in xtask's own process group, so that Ctrl-C in a terminal ends it too.

use std::{
    fs::File,
    io::{ErrorKind, Read, Seek},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// How often a running child is looked at: short beside what any of them takes.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Of a quiet child's output, so much is shown when it fails.
const TAIL_LINES: usize = 30;

/// Runs a command whose output is for the user.
pub fn run(command: &mut Command, limit: Duration) -> Result<()> {
    let status = wait(spawn(command.stdin(Stdio::null()))?, command, limit)?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a command whose output matters only if it fails.
pub fn quietly(command: &mut Command, limit: Duration) -> Result<()> {
    // A file and no pipe: a grandchild that outlives the command cannot hold up the reading of it.
    let mut log = tempfile::tempfile().context("cannot make a temporary file")?;
    command.stdin(Stdio::null()).stdout(clone(&log)?).stderr(clone(&log)?);
    let ended = wait(spawn(command)?, command, limit);
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("`{}` failed ({status}){}", line(command), tail(&mut log)?),
        Err(error) => bail!("{error}{}", tail(&mut log)?),
    }
}

/// Runs a command for what it writes to stdout. Its stderr is shown only if it fails.
pub fn output(command: &mut Command, limit: Duration) -> Result<String> {
    let (mut out, mut log) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(clone(&out)?).stderr(clone(&log)?);
    let status = wait(spawn(command)?, command, limit)?;
    if !status.success() {
        bail!("`{}` failed ({status}){}", line(command), tail(&mut log)?);
    }
    let mut text = String::new();
    out.rewind()?;
    out.read_to_string(&mut text).with_context(|| format!("`{}` wrote something that is not UTF-8", line(command)))?;
    Ok(text)
}

/// Runs a command that says with its exit code what it found, for all it writes, to stdout and stderr alike.
pub fn transcript(command: &mut Command, limit: Duration) -> Result<String> {
    let mut log = tempfile::tempfile().context("cannot make a temporary file")?;
    command.stdin(Stdio::null()).stdout(clone(&log)?).stderr(clone(&log)?);
    let ended = wait(spawn(command)?, command, limit);
    if let Err(error) = ended {
        bail!("{error}{}", tail(&mut log)?);
    }
    let mut bytes = Vec::new();
    log.rewind()?;
    log.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Says what is being done, does it, and says how long it took.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("  {what} …");
    let began = Instant::now();
    let done = work().with_context(|| format!("could not {what}"))?;
    eprintln!("  {what}: {:.1} s", began.elapsed().as_secs_f64());
    Ok(done)
}

/// A command as one would type it.
pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// xtask becomes the command: a signal meant for the one then reaches the other, and the exit code is the command's. Comes back only if it
/// could not be started.
#[cfg(unix)]
pub fn become_child(mut command: Command) -> Result<()> {
    use std::os::unix::process::CommandExt;

    let error = command.exec();
    Err(error).with_context(|| format!("cannot run `{}`", line(&command)))
}

#[cfg(not(unix))]
pub fn become_child(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run `{}`", line(&command)))?;
    std::process::exit(status.code().unwrap_or(1))
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|error| {
        let program = command.get_program().to_string_lossy();
        if error.kind() == ErrorKind::NotFound {
            anyhow::anyhow!("`{}` cannot be run: there is no `{program}` on this machine; install it and try again", line(command))
        } else {
            anyhow::anyhow!("`{}` cannot be run: {error}", line(command))
        }
    })
}

fn wait(mut child: Child, command: &Command, limit: Duration) -> Result<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("`{}` was ended: it took longer than {} s", line(command), limit.as_secs_f64());
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn clone(file: &File) -> Result<File> {
    file.try_clone().context("cannot share a temporary file")
}

fn tail(log: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    log.rewind()?;
    log.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    Ok(if shown.is_empty() { String::new() } else { format!(":\n    {}", shown.join("\n    ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMPLE: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_child_over_its_limit_is_ended_and_named() {
        let error = quietly(Command::new("sleep").arg("3600"), Duration::from_millis(50)).unwrap_err().to_string();
        assert!(error.starts_with("`sleep 3600` was ended: it took longer than 0.05 s"), "{error}");
    }

    #[test]
    fn a_grandchild_that_lives_on_holds_up_nobody() {
        let grandchild = output(&mut shell("sleep 3600 & echo $!"), AMPLE).unwrap();
        let ended = Command::new("kill").arg(grandchild.trim()).status().unwrap();
        assert!(ended.success(), "the grandchild was gone before its parent's output was read");
    }

    #[test]
    fn a_failure_shows_the_command_and_the_end_of_its_output() {
        let error = quietly(&mut shell("echo one; echo two >&2; exit 3"), AMPLE).unwrap_err().to_string();
        assert!(error.contains("exit 3` failed (exit status: 3):\n    one\n    two"), "{error}");
    }

    #[test]
    fn a_transcript_has_all_that_was_written_whatever_the_exit_code() {
        assert_eq!(transcript(&mut shell("echo one; echo two >&2; exit 3"), AMPLE).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_missing_program_is_named_with_what_to_do() {
        let error = run(&mut Command::new("no-such-program"), AMPLE).unwrap_err().to_string();
        assert!(error.contains("there is no `no-such-program` on this machine; install it"), "{error}");
    }
}
