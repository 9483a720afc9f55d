//! A repository: where its parts are, and what can be asked of it.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{
    budget::Budget,
    commit::{Commit, Tag},
    config::Config,
    error::{Error, Result},
    files,
    id::ObjectId,
    objects::{Kind, Object, Objects},
    refs::{Head, Reference, Refs},
    tree::{self, Entry, EntryKind},
};

/// Bytes of a `.git` file, of `commondir`, of `shallow`.
const MAX_POINTER_BYTES: u64 = 8 << 10;
const MAX_SHALLOW_BYTES: u64 = 4 << 20;
/// Folders in folders, in a tree.
pub(crate) const MAX_DEPTH: usize = 256;

/// One repository.
#[derive(Debug)]
pub struct Repository {
    /// The working tree; none if bare.
    pub(crate) work: Option<PathBuf>,
    /// The worktree's own part: HEAD, index.
    pub(crate) git: PathBuf,
    /// What all worktrees share: branches, objects.
    pub(crate) common: PathBuf,
    pub(crate) objects: Objects,
    pub(crate) refs: Refs,
    pub(crate) budget: Budget,
    config: Config,
    /// Files that say where the parts are, and when they last changed.
    stamps: Vec<(PathBuf, Stamp)>,
}

/// Size and time of a file; `None`: there is none.
type Stamp = Option<(u64, Option<SystemTime>)>;

impl Repository {
    /// Opens the repository in a folder: its working tree, or what is bare.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none, [`Error::Unreachable`] if a part of it is elsewhere and cannot be reached, [`Error::Unsupported`].
    pub fn open(folder: &Path) -> Result<Self> {
        let budget = Budget::default();
        let (work, git) = locate(folder)?;
        let common = match files::read_text(&git.join("commondir"), MAX_POINTER_BYTES)? {
            Some(text) => reachable(&normal(&git.join(text.trim_end())), &git.join("commondir"))?,
            None => git.clone(),
        };
        let config = Config::read(&common.join("config"))?;
        check_format(&config)?;
        let work = if config.is_true("core.bare") && git == common { None } else { work };
        let pointers = [folder.join(".git"), git.join("commondir"), common.join("config"), common.join("objects/info/alternates")];
        let stamps = pointers.into_iter().filter(|path| !path.is_dir()).map(|path| (path.clone(), stamp(&path))).collect();
        Ok(Self {
            stamps,
            objects: Objects::open(&common.join("objects"), budget.clone())?,
            refs: Refs::new(&git, &common, budget.clone()),
            work,
            git,
            common,
            budget,
            config,
        })
    }

    /// To be called before each question: from here on this much time may be spent, and what git did since is seen.
    ///
    /// # Errors
    /// What reading the list of packs gives.
    pub fn begin(&self, time: Duration) -> Result<()> {
        self.budget.begin(time);
        self.objects.refresh()
    }

    /// Whether it is still kept in the same places and manner. If not, it has to be opened anew.
    pub fn is_current(&self) -> bool {
        self.git.is_dir() && self.stamps.iter().all(|(path, known)| stamp(path) == *known)
    }

    /// The folder of HEAD and the index.
    pub fn git_folder(&self) -> &Path {
        &self.git
    }

    /// The folder of branches and objects; the same, unless this is a linked worktree.
    pub fn common_folder(&self) -> &Path {
        &self.common
    }

    /// The working tree; none if bare.
    pub fn work_folder(&self) -> Option<&Path> {
        self.work.as_deref()
    }

    /// What is checked out.
    pub fn head(&self) -> Result<Head> {
        self.refs.head()
    }

    /// All references below a prefix that ends with `/`, by name.
    pub fn references(&self, prefix: &str) -> Result<Vec<Reference>> {
        self.refs.list(prefix)
    }

    /// The branch at the remote that this one follows, in full: `refs/remotes/origin/main`.
    pub fn upstream(&self, branch: &str) -> Option<String> {
        let short = branch.strip_prefix("refs/heads/")?;
        let remote = self.config.get(&format!("branch.{short}.remote"))?;
        let merge = self.config.get(&format!("branch.{short}.merge"))?;
        if remote == "." {
            return Some(merge.to_owned());
        }
        Some(format!("refs/remotes/{remote}/{}", merge.strip_prefix("refs/heads/")?))
    }

    /// The object of this id.
    pub fn object(&self, id: &ObjectId) -> Result<Object> {
        self.objects.read(id)
    }

    /// Bytes of an object, where that is known without reading all of it.
    pub fn size(&self, id: &ObjectId) -> Result<Option<u64>> {
        self.objects.size(id)
    }

    /// The commit of this id.
    pub fn commit(&self, id: &ObjectId) -> Result<Commit> {
        Commit::parse(id, &self.of_kind(id, Kind::Commit)?)
    }

    /// The annotated tag of this id.
    pub fn tag(&self, id: &ObjectId) -> Result<Tag> {
        Tag::parse(id, &self.of_kind(id, Kind::Tag)?)
    }

    /// The entries of a tree.
    pub fn tree(&self, id: &ObjectId) -> Result<Vec<Entry>> {
        tree::parse(id, &self.of_kind(id, Kind::Tree)?)
    }

    /// What a tree has at a path; the tree itself for an empty one. `None`: nothing.
    pub fn entry(&self, tree: &ObjectId, path: &[u8]) -> Result<Option<Entry>> {
        let mut entry = Entry { name: Vec::new(), kind: EntryKind::Tree, id: *tree };
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if entry.kind != EntryKind::Tree {
                return Ok(None);
            }
            let Some(next) = self.tree(&entry.id)?.into_iter().find(|next| next.name == name) else { return Ok(None) };
            entry = next;
        }
        Ok(Some(entry))
    }

    fn of_kind(&self, id: &ObjectId, kind: Kind) -> Result<std::rc::Rc<Vec<u8>>> {
        let object = self.objects.read(id)?;
        if object.kind != kind {
            return Err(Error::damaged(
                format!("object {id}"),
                format!("it is a {}, and is used as a {}", object.kind.name(), kind.name()),
            ));
        }
        Ok(object.data)
    }

    /// Commits whose parents are not here, since the clone is shallow.
    ///
    /// # Errors
    /// What reading gives.
    pub fn shallow(&self) -> Result<Vec<ObjectId>> {
        let text = files::read_text(&self.common.join("shallow"), MAX_SHALLOW_BYTES)?.unwrap_or_default();
        Ok(text.lines().filter_map(ObjectId::from_hex).collect())
    }
}

/// The working tree, if any, and the folder of HEAD.
fn locate(folder: &Path) -> Result<(Option<PathBuf>, PathBuf)> {
    let dot_git = folder.join(".git");
    if let Some(text) = files::read_text(&dot_git, MAX_POINTER_BYTES)? {
        let target = text.strip_prefix("gitdir:").map(str::trim).filter(|target| !target.is_empty());
        let target = target.ok_or_else(|| Error::damaged(dot_git.display().to_string(), "a file that names no folder"))?;
        return Ok((Some(folder.to_owned()), reachable(&normal(&folder.join(target)), &dot_git)?));
    }
    if dot_git.join("HEAD").exists() || dot_git.join("objects").is_dir() {
        return Ok((Some(folder.to_owned()), dot_git));
    }
    if folder.join("HEAD").is_file() && folder.join("objects").is_dir() {
        return Ok((None, folder.to_owned()));
    }
    Err(Error::NotFound(format!("git repository in {}", folder.display())))
}

/// A worktree's parts are found by paths of the machine it was made on; here they may be elsewhere, or not granted.
fn reachable(folder: &Path, named_by: &Path) -> Result<PathBuf> {
    if folder.is_dir() {
        return Ok(folder.to_owned());
    }
    // The repository of a worktree is what has to be granted, not the worktree's entry in it.
    let whole = folder.ancestors().find(|ancestor| ancestor.file_name().is_some_and(|name| name == ".git")).unwrap_or(folder).display();
    Err(Error::Unreachable(format!(
        "{} leads to {}, which the provider cannot reach: grant that folder under the same path, folders = [{{ host = \"{whole}\", guest = \"{whole}\" }}], \
         beside the one it has",
        named_by.display(),
        folder.display(),
    )))
}

/// Without `.` and `..`, which are resolved by name: a sandbox refuses a path that walks up past what was granted and comes back.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

fn check_format(config: &Config) -> Result<()> {
    if let Some(format) = config.get("extensions.objectformat").filter(|format| !format.eq_ignore_ascii_case("sha1")) {
        return Err(Error::Unsupported(format!("the repository names its objects by {format}; only SHA-1 is supported")));
    }
    if let Some(storage) = config.get("extensions.refstorage").filter(|storage| !storage.eq_ignore_ascii_case("files")) {
        return Err(Error::Unsupported(format!(
            "the repository keeps its references as {storage}; only files are supported: `git refs migrate --ref-format=files`"
        )));
    }
    Ok(())
}

fn stamp(path: &Path) -> Stamp {
    fs::metadata(path).ok().map(|metadata| (metadata.len(), metadata.modified().ok()))
}
