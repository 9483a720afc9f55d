//! What is listed, and the templates.

use git_repository::Repository;

use crate::{
    bindings::wharf::provider::types::{Annotations, ResourceInfo, TemplateInfo},
    source::Source,
    uri,
};

const TEXT: &str = "text/plain";

struct Listed {
    path: &'static str,
    title: &'static str,
    description: &'static str,
    priority: f64,
    /// Only where there is a working tree.
    of_work: bool,
}

const LISTED: [Listed; 6] = [
    Listed {
        path: uri::STATUS,
        title: "Status",
        description: "What is not committed: staged, changed and untracked files, the branch, conflicts. Subscribe to be told when it changes.",
        priority: 0.9,
        of_work: true,
    },
    Listed {
        path: uri::DIFF,
        title: "Uncommitted changes",
        description: "What is not committed, as a patch against HEAD.",
        priority: 0.8,
        of_work: true,
    },
    Listed {
        path: uri::HEAD_LOG,
        title: "Log",
        description: "The latest commits of what is checked out, newest first.",
        priority: 0.7,
        of_work: false,
    },
    Listed {
        path: uri::BRANCHES,
        title: "Branches",
        description: "All branches, local and remote, each with its latest commit.",
        priority: 0.6,
        of_work: false,
    },
    Listed { path: uri::TAGS, title: "Tags", description: "All tags, each with its commit.", priority: 0.4, of_work: false },
    Listed { path: uri::HEAD_TREE, title: "Files", description: "The root folder of the latest commit.", priority: 0.5, of_work: false },
];

struct Template {
    template: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    mime_type: Option<&'static str>,
}

const TEMPLATES: [Template; 6] = [
    Template {
        template: uri::FILE,
        name: "file",
        title: "A file at a revision",
        description: "The revision is a branch, tag or commit id, HEAD~2 too; a branch with a slash is written as it is: file/feature/x/README.md.",
        mime_type: None,
    },
    Template {
        template: uri::TREE,
        name: "tree",
        title: "The root folder at a revision",
        description: "Names, kinds and sizes.",
        mime_type: Some(TEXT),
    },
    Template {
        template: uri::TREE_BELOW,
        name: "folder",
        title: "A folder at a revision",
        description: "Names, kinds and sizes.",
        mime_type: Some(TEXT),
    },
    Template {
        template: uri::LOG,
        name: "log",
        title: "The log of a revision",
        description: "Newest first; limit is 30 unless given, at most 1000; with path, the commits that changed that file or folder.",
        mime_type: Some(TEXT),
    },
    Template {
        template: uri::COMMIT,
        name: "commit",
        title: "A commit",
        description: "Message, author, changed files, and the changes as a patch.",
        mime_type: Some(TEXT),
    },
    Template {
        template: uri::COMPARE,
        name: "compare",
        title: "A comparison",
        description: "The range main...feature/x is what feature/x changed since it left main, a..b how b differs from a; HEAD where one is left out.",
        mime_type: Some(TEXT),
    },
];

/// What a repository has listed.
pub fn resources(source: &Source) -> Vec<ResourceInfo> {
    // One that cannot be opened is listed all the same: whoever reads it is told why.
    let bare = Repository::open(&source.folder).is_ok_and(|repository| repository.work_folder().is_none());
    let listed = LISTED.iter().filter(|listed| !(bare && listed.of_work));
    let info = |listed: &Listed| ResourceInfo {
        uri: format!("{}{}", source.prefix(), listed.path),
        name: format!("{}/{}", source.name, listed.path),
        title: Some(format!("{} of {}", listed.title, source.name)),
        description: Some(listed.description.into()),
        mime_type: Some(TEXT.into()),
        size: None,
        icons: None,
        annotations: Some(Annotations { audience: None, priority: Some(listed.priority), last_modified: None }),
        meta_json: None,
    };
    listed.map(info).collect()
}

/// The templates of a repository.
pub fn templates(source: &Source) -> Vec<TemplateInfo> {
    let info = |template: &Template| TemplateInfo {
        uri_template: format!("{}{}", source.prefix(), template.template),
        name: format!("{}/{}", source.name, template.name),
        title: Some(format!("{} of {}", template.title, source.name)),
        description: Some(template.description.into()),
        mime_type: template.mime_type.map(Into::into),
        icons: None,
        annotations: None,
        meta_json: None,
    };
    TEMPLATES.iter().map(info).collect()
}
