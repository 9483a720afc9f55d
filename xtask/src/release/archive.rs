//! Archives that are the same to the byte whenever, wherever and by whomever they are made of the same files.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::PACK_LIMIT;
use crate::run;

/// A file of an archive.
pub struct Entry {
    /// Below the archive's one folder.
    pub path: String,
    pub source: PathBuf,
    pub executable: bool,
}

/// Writes `NAME.tar.gz`, with everything in a folder of that name.
pub fn write(out: &Path, name: &str, entries: &[Entry], epoch: u64) -> Result<()> {
    let staging = tempfile::tempdir()?;
    let root = staging.path().join(name);
    for Entry { path, source, executable } in entries {
        let to = root.join(path);
        fs::create_dir_all(to.parent().context("a file without a folder")?)?;
        fs::copy(source, &to).with_context(|| format!("cannot copy {}", source.display()))?;
        set_mode(&to, if *executable { 0o755 } else { 0o644 })?;
    }
    let tar = out.join(format!("{name}.tar"));
    let mut pack = Command::new("tar");
    // The oldest form that has all of it: no header says when a file was read. Folders as root makes them, whatever the umask here.
    pack.args(["--format=ustar", "--sort=name", "--owner=root:0", "--group=root:0", "--mode=u=rwX,go=rX"]);
    pack.arg(format!("--mtime=@{epoch}")).arg("--file").arg(&tar).arg("--directory").arg(staging.path()).args(["--create", name]);
    run::quietly(pack.env("LC_ALL", "C"), PACK_LIMIT).context("GNU tar 1.28 or later is needed")?;
    // Without a name and a time.
    run::quietly(Command::new("gzip").args(["--no-name", "--best", "--force"]).arg(&tar).env_remove("GZIP"), PACK_LIMIT)
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// What is released is made on Linux.
#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_make_the_same_archive_whatever_their_times_and_rights_are() {
        let folder = tempfile::tempdir().unwrap();
        let made: Vec<Vec<u8>> = [("one", 0o600, 1), ("two", 0o777, 2)]
            .map(|(at, mode, time)| {
                let at = folder.path().join(at);
                fs::create_dir(&at).unwrap();
                let entries = ["b", "a/c", "a/b"].map(|path| {
                    let source = at.join(path.replace('/', "-"));
                    fs::write(&source, path).unwrap();
                    set_mode(&source, mode).unwrap();
                    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(time);
                    fs::File::options().write(true).open(&source).unwrap().set_modified(time).unwrap();
                    Entry { path: path.into(), source, executable: path == "b" }
                });
                let mut entries: Vec<Entry> = entries.into();
                if time == 2 {
                    entries.reverse();
                }
                write(&at, "it-1.0", &entries, 1_000_000_000).unwrap();
                fs::read(at.join("it-1.0.tar.gz")).unwrap()
            })
            .into();
        assert_eq!(made[0], made[1]);

        let list = run::output(
            Command::new("tar").args(["--utc", "--numeric-owner", "-tvf"]).arg(folder.path().join("one/it-1.0.tar.gz")),
            PACK_LIMIT,
        );
        let list = list.unwrap();
        let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
        let shown: Vec<(&str, &str)> = lines.iter().map(|line| (line[0], line[5])).collect();
        let expected = [
            ("drwxr-xr-x", "it-1.0/"),
            ("drwxr-xr-x", "it-1.0/a/"),
            ("-rw-r--r--", "it-1.0/a/b"),
            ("-rw-r--r--", "it-1.0/a/c"),
            ("-rwxr-xr-x", "it-1.0/b"),
        ];
        assert_eq!(shown, expected);
        assert!(lines.iter().all(|line| line[1] == "0/0" && line[3] == "2001-09-09"), "{list}");
    }
}
