//! A client's file: read as it is, replaced in one step, with the text it had kept beside it.
//!
//! Invariants: the file is the old one or the new one, never a part of either; its permissions and its owner stay; a link stays a link, to
//! a file that is replaced; a file that cannot be written, or was changed meanwhile, is not touched.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// Clients keep histories in such files; more than this is none of theirs.
const LARGEST: u64 = 64 << 20;
/// What the file that is kept is called, after the name of the other.
const BACKUP: &str = ".wharf-backup";

/// What is to be kept beside a file that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The text as it is now.
    This,
    /// What is there from an earlier change.
    Earlier,
}

/// A client's file, as it was when it was read.
pub(super) struct ClientFile {
    /// As the client names it.
    pub path: PathBuf,
    /// Where links lead.
    target: PathBuf,
    /// None if there is none.
    text: Option<String>,
}

impl ClientFile {
    /// Reads it; that there is none is no failure.
    ///
    /// # Errors
    /// What is there cannot be read, is no file, is no text, or is larger than 64 MiB; a link that leads nowhere.
    pub(super) fn read(path: PathBuf) -> Result<Self> {
        let shown = path.display();
        let target = match path.canonicalize() {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_ok() => {
                bail!("{shown} is a link that leads nowhere; make the file it names, or remove it")
            }
            // Its folder may be missing as well.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Self { target: path.clone(), path, text: None });
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        };
        let about = fs::metadata(&target).with_context(|| format!("cannot read {shown}"))?;
        if !about.is_file() {
            bail!("{shown} is no file; remove it");
        }
        if about.len() > LARGEST {
            bail!("{shown} has {} bytes, more than {LARGEST}: it is not changed", about.len());
        }
        let bytes = fs::read(&target).with_context(|| format!("cannot read {shown}"))?;
        let text = String::from_utf8(bytes).ok().with_context(|| format!("{shown} is no text in UTF-8; write it anew as such"))?;
        Ok(Self { path, target, text: Some(text) })
    }

    /// What it says.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// What is kept beside it, if there is that.
    pub(super) fn backup(&self) -> Option<String> {
        fs::read_to_string(self.backup_path()).ok()
    }

    fn backup_path(&self) -> PathBuf {
        let mut name = self.target.as_os_str().to_owned();
        name.push(BACKUP);
        name.into()
    }

    /// Writes a text in its place, and keeps the old one beside it, or what is kept there already; gives where. A text that is the one
    /// kept is put back, and then nothing is kept.
    ///
    /// # Errors
    /// As [`Self::writable`]; the folder cannot be written.
    pub(super) fn replace(&self, text: &str, keep: Keep) -> Result<Option<PathBuf>> {
        let about = self.writable()?;
        let (shown, backup) = (self.path.display(), self.backup_path());
        if let Some(folder) = self.target.parent().filter(|_| about.is_none()) {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let is_kept = self.backup().is_some_and(|kept| kept == text);
        if let Some(old) = self.text.as_ref().filter(|_| !is_kept && keep == Keep::This) {
            put(&backup, old, about.as_ref()).with_context(|| format!("cannot keep {shown} as {}", backup.display()))?;
        }
        put(&self.target, text, about.as_ref()).with_context(|| format!("cannot write {shown}"))?;
        if is_kept {
            fs::remove_file(&backup).with_context(|| format!("cannot remove {}", backup.display()))?;
        }
        Ok((self.text.is_some() && !is_kept).then_some(backup))
    }

    /// Removes the file.
    ///
    /// # Errors
    /// As [`Self::writable`].
    pub(super) fn delete(&self) -> Result<()> {
        self.writable()?;
        fs::remove_file(&self.target).with_context(|| format!("cannot remove {}", self.path.display()))
    }

    /// What is known of the file, if it is there, and may be written.
    fn writable(&self) -> Result<Option<Metadata>> {
        let shown = self.path.display();
        let Some(text) = &self.text else {
            if self.target.symlink_metadata().is_ok() {
                bail!("{shown} has come meanwhile; run this again");
            }
            return Ok(None);
        };
        // A new file could take its place all the same, which is not what its owner wants.
        let opened = OpenOptions::new().write(true).open(&self.target);
        let about = fs::metadata(&self.target).with_context(|| format!("cannot read {shown}"))?;
        if about.permissions().readonly() || opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            bail!("{shown} is read-only; make it writable, or put in by hand what this prints without --write");
        }
        opened.with_context(|| format!("cannot write {shown}"))?;
        if fs::read(&self.target).is_ok_and(|now| now != text.as_bytes()) {
            bail!("{shown} was changed meanwhile; run this again");
        }
        Ok(Some(about))
    }
}

/// Writes a file in one step, with the permissions and the owner of another.
fn put(path: &Path, text: &str, like: Option<&Metadata>) -> Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().context("a path without a name")?);
    name.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = create(&temporary, like.is_some()).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        if let Some(like) = like {
            own(&temporary, like)?;
            fs::set_permissions(&temporary, like.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    Ok(written?)
}

/// A new file. One that takes the place of another is nobody else's to read until it has the permissions of that one.
fn create(path: &Path, is_private: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = is_private;
    options.open(path)
}

#[cfg(unix)]
fn own(path: &Path, like: &Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let now = fs::metadata(path)?;
    if (now.uid(), now.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    chown(path, Some(like.uid()), Some(like.gid()))
}

#[cfg(not(unix))]
fn own(_path: &Path, _like: &Metadata) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("a.json");
        fs::write(&path, text).unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_old_text_is_kept_until_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "old");
        let kept = ClientFile::read(path.clone()).unwrap().replace("new", Keep::This).unwrap().unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap(), fs::read_to_string(&kept).unwrap()), ("new".into(), "old".into()));
        let again = ClientFile::read(path.clone()).unwrap().replace("newer", Keep::Earlier).unwrap().unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap(), fs::read_to_string(&again).unwrap()), ("newer".into(), "old".into()));
        assert_eq!(ClientFile::read(path.clone()).unwrap().replace("old", Keep::This).unwrap(), None);
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn a_new_file_comes_with_its_folder_and_keeps_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b/c/a.json");
        assert_eq!(ClientFile::read(path.clone()).unwrap().replace("new", Keep::This).unwrap(), None);
        assert_eq!(names(path.parent().unwrap()), ["a.json"]);
        ClientFile::read(path.clone()).unwrap().delete().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "old");
        let read = ClientFile::read(path.clone()).unwrap();
        fs::write(&path, "newer").unwrap();
        assert!(read.replace("new", Keep::This).unwrap_err().to_string().contains("changed meanwhile"));
        let missing = ClientFile::read(folder.path().join("b.json")).unwrap();
        fs::write(folder.path().join("b.json"), "came").unwrap();
        assert!(missing.replace("new", Keep::This).unwrap_err().to_string().contains("come meanwhile"));
        assert_eq!(names(folder.path()), ["a.json", "b.json"]);
        assert_eq!(fs::read_to_string(path).unwrap(), "newer");
    }

    #[test]
    fn what_is_too_large_or_no_text_or_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "");
        File::options().write(true).open(&path).unwrap().set_len(LARGEST + 1).unwrap();
        let refused = |path: &Path| ClientFile::read(path.to_owned()).err().unwrap().to_string();
        assert!(refused(&path).contains("more than 67108864"));
        fs::write(&path, b"\xff").unwrap();
        assert!(refused(&path).contains("UTF-8"));
        assert!(refused(folder.path()).contains("is no file"));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay_and_read_only_is_said() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "old");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.json");
        symlink("a.json", &link).unwrap();
        let kept = ClientFile::read(link.clone()).unwrap().replace("new", Keep::This).unwrap().unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!((fs::read_to_string(&path).unwrap(), mode(&path), mode(&kept)), ("new".into(), 0o640, 0o640));
        assert!(kept.ends_with("a.json.wharf-backup"), "{}", kept.display());

        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let refused = ClientFile::read(link.clone()).unwrap().replace("newer", Keep::This).unwrap_err().to_string();
        assert!(refused.contains("is read-only"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");

        symlink("nowhere", folder.path().join("lost.json")).unwrap();
        assert!(ClientFile::read(folder.path().join("lost.json")).err().unwrap().to_string().contains("leads nowhere"));
    }
}
