//! Grants that give nearly everything, which hardly anybody means: warned of by name.

use std::path::{Path, PathBuf};

use crate::config::{
    Grants,
    grants::{HostGrant, Hosts},
};

/// The user's home folder.
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().and_then(|home| home.canonicalize().ok())
}

/// A warning for each grant that gives nearly everything. Blocks: it looks where links lead.
pub fn broad(grants: &Grants, home: Option<&Path>) -> Vec<String> {
    let folders = grants.folders.iter().filter_map(|folder| {
        let real = folder.host.canonicalize().ok()?;
        let has = if real.parent().is_none() {
            "all files of this machine"
        } else if home.is_some_and(|home| home.starts_with(&real)) {
            "your home folder, with the keys and passwords that programs keep there"
        } else {
            return None;
        };
        let may = if folder.write { "read and change" } else { "read" };
        Some(format!(
            "folders = [{{ host = {:?} }}] lets it {may} {has}: grant the folders that it needs",
            folder.host.display().to_string()
        ))
    });
    let hosts = grants.hosts.iter().filter(|host| is_all(host));
    let hosts = hosts.map(|host| format!("hosts = [\"{host}\"] lets it send what it knows to anybody: grant the hosts that it needs"));
    folders.chain(hosts).collect()
}

fn is_all(host: &HostGrant) -> bool {
    match &host.hosts {
        Hosts::All => true,
        Hosts::Network(network) => network.prefix_len() == 0,
        Hosts::Name(_) | Hosts::Below(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::grants::Folder;

    #[test]
    fn a_grant_of_nearly_everything_is_warned_of_by_name_and_another_is_not() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().canonicalize().unwrap().join("home/user");
        std::fs::create_dir_all(home.join("project")).unwrap();
        let folder = |host: &Path, write| Folder { host: host.to_owned(), guest: "/x".into(), write };
        let of = |host: &Path| broad(&Grants { folders: vec![folder(host, false)], ..Grants::default() }, Some(&home));
        assert!(of(Path::new("/"))[0].contains("all files of this machine"));
        assert!(of(&home)[0].contains("home folder") && of(&home.join("project/.."))[0].contains("home folder"));
        assert!(of(home.parent().unwrap())[0].contains("home folder"), "one that has the home folder in it");
        assert_eq!(of(&home.join("project")), [""; 0]);
        assert_eq!(of(&home.join("none")), [""; 0]);
        let written = broad(&Grants { folders: vec![folder(&home, true)], ..Grants::default() }, Some(&home));
        assert!(written[0].contains("read and change"), "{written:?}");
    }

    #[test]
    fn a_star_for_all_hosts_and_a_network_of_all_addresses_are_warned_of() {
        let host = |hosts| HostGrant { hosts, port: None };
        let network = |text: &str| host(Hosts::Network(text.parse().unwrap()));
        let hosts = vec![host(Hosts::All), network("0.0.0.0/0"), network("10.0.0.0/8"), host(Hosts::Below("example.org".into()))];
        let warned = broad(&Grants { hosts, ..Grants::default() }, None);
        assert!(warned.len() == 2 && warned[0].starts_with("hosts = [\"*\"]"), "{warned:?}");
    }
}
