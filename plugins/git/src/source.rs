//! One repository, by its name and place; opened when it is asked for, and kept open as long as it is the same.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};

use git_repository::{Error, Repository, Result};

pub struct Source {
    /// As in its URIs.
    pub name: String,
    /// Where it is, as this provider sees it.
    pub folder: PathBuf,
    prefix: String,
    /// How long one question may take.
    pub time: Duration,
    open: RefCell<Option<Rc<Repository>>>,
}

impl Source {
    pub fn new(name: String, folder: PathBuf, time: Duration) -> Self {
        Self { prefix: format!("git://{name}/"), name, folder, time, open: RefCell::default() }
    }

    /// What comes before the path in its URIs and templates.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The path of a URI or template, if it is one of this repository's.
    pub fn path_of<'a>(&self, uri: &'a str) -> Option<&'a str> {
        uri.strip_prefix(&*self.prefix)
    }

    /// The repository, ready for a question.
    ///
    /// # Errors
    /// [`Error::Unreachable`] also if there is none, with the lines of wharf.toml that may be missing.
    pub fn open(&self) -> Result<Rc<Repository>> {
        let known = self.open.borrow().clone().filter(|repository| repository.is_current());
        let repository = match known {
            Some(repository) => repository,
            None => {
                let opened = Rc::new(Repository::open(&self.folder).map_err(|error| absent(error, &self.folder))?);
                *self.open.borrow_mut() = Some(opened.clone());
                opened
            }
        };
        repository.begin(self.time)?;
        Ok(repository)
    }
}

fn absent(error: Error, folder: &Path) -> Error {
    match error {
        Error::NotFound(what) => Error::Unreachable(format!(
            "there is no {what}, or it is not granted: in wharf.toml, [provider.grants] folders = [{{ host = \"/path/of/the/repository\", guest = {:?} }}]",
            folder.display().to_string()
        )),
        error => error,
    }
}
