//! What goes into a release besides the binary: what the binary says of itself, and files of the repository.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use super::{ASK_LIMIT, Job, archive::Entry, third_party};
use crate::run;

/// The package, its program, and what files are named after it.
pub const NAME: &str = "wharf";
/// The shells, and the file in which each looks for the completions of a program.
const COMPLETIONS: [(&str, &str); 5] =
    [("bash", "wharf.bash"), ("zsh", "_wharf"), ("fish", "wharf.fish"), ("powershell", "_wharf.ps1"), ("elvish", "wharf.elv")];
/// What is in the repository, and where it is in the archive.
const FILES: [(&str, &str); 8] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("SECURITY.md", "SECURITY.md"),
    ("LICENSE", "LICENSE"),
    ("deploy/wharf.service", "systemd/wharf.service"),
    ("deploy/wharf.sysusers", "systemd/wharf.sysusers"),
    ("deploy/wharf.tmpfile", "systemd/wharf.tmpfile"),
    ("deploy/debian/wharf.toml", "systemd/wharf.toml"),
];

/// Writes the manual pages, the completions and the licences of others, where the Debian package's description looks for them.
pub fn generate(job: &Job) -> Result<()> {
    let folder = job.packaging();
    fs::create_dir(folder.join("completions"))?;
    for (shell, file) in COMPLETIONS {
        let script = run::output(Command::new(&job.program).args(["completions", shell]), ASK_LIMIT)?;
        fs::write(folder.join("completions").join(file), script)?;
    }
    run::quietly(Command::new(&job.program).arg("man").arg(folder.join("man")), ASK_LIMIT)?;
    fs::write(folder.join("THIRD-PARTY.txt"), third_party::write(&job.crates)?)?;
    Ok(())
}

/// All that is in the archive.
pub fn of_archive(job: &Job) -> Result<Vec<Entry>> {
    let data = |path: String, source: PathBuf| Entry { path, source, executable: false };
    let mut entries = vec![Entry { path: NAME.into(), source: job.binary(), executable: true }];
    entries.extend(FILES.map(|(source, path)| data(path.into(), job.repo.root.join(source))));
    let folder = job.packaging();
    entries.push(data("THIRD-PARTY.txt".into(), folder.join("THIRD-PARTY.txt")));
    for part in ["completions", "man"] {
        for file in fs::read_dir(folder.join(part)).with_context(|| format!("no {part} in {}", folder.display()))? {
            let file = file?;
            entries.push(data(format!("{part}/{}", file.file_name().to_string_lossy()), file.path()));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::repo::Repo;

    fn debian() -> (PathBuf, Value) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
        let metadata = Repo { root: root.clone() }.metadata(&root.join("host/Cargo.toml")).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let host = packages.iter().find(|package| package["name"] == NAME).unwrap();
        (root, host.clone())
    }

    #[test]
    fn every_file_that_the_packages_name_is_there_or_made() {
        let (root, host) = debian();
        let deb = &host["metadata"]["deb"];
        let assets = deb["assets"].as_array().unwrap();
        let sources: Vec<&str> = assets.iter().map(|asset| asset[0].as_str().unwrap()).collect();
        let made: Vec<String> = COMPLETIONS.iter().map(|(_, file)| format!("completions/{file}")).collect();
        for source in &sources {
            match source.strip_prefix("target/release/") {
                Some("wharf" | "packaging/man/*.1" | "packaging/THIRD-PARTY.txt") => {}
                Some(other) => assert!(made.iter().any(|file| other == format!("packaging/{file}")), "nobody makes {source}"),
                None => assert!(root.join("host").join(source).is_file(), "there is no {source}"),
            }
        }
        for key in ["changelog", "maintainer-scripts"] {
            let named = deb[key].as_str().unwrap();
            assert!(root.join("host").join(named).exists(), "{key} names {named}");
        }
        for (source, _) in FILES {
            assert!(root.join(source).is_file(), "there is no {source}");
        }
        let units = root.join("host").join(deb["systemd-units"]["unit-scripts"].as_str().unwrap());
        for kind in ["service", "sysusers", "tmpfile"] {
            assert!(units.join(format!("{NAME}.{kind}")).is_file(), "cargo-deb finds no {kind} in {}", units.display());
        }
    }

    #[test]
    fn the_changelog_of_the_debian_package_begins_with_this_version() {
        let (root, host) = debian();
        let changelog = fs::read_to_string(root.join("deploy/debian/changelog")).unwrap();
        let expected = format!("{NAME} ({}-1) ", host["version"].as_str().unwrap());
        assert!(changelog.starts_with(&expected), "it does not begin with {expected:?}");
    }

    #[test]
    fn the_unit_and_what_comes_with_it_agree() {
        let (root, host) = debian();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let unit = read("deploy/wharf.service");
        let says = |key: &str| {
            let line = unit.lines().find_map(|line| line.strip_prefix(&format!("{key}=")));
            line.unwrap_or_else(|| panic!("no {key} in the unit"))
        };
        let assets = host["metadata"]["deb"]["assets"].as_array().unwrap();
        let packaged =
            |path: &str| assets.iter().any(|asset| asset[1].as_str().is_some_and(|to| path.strip_prefix('/').unwrap().starts_with(to)));

        let command: Vec<&str> = says("ExecStart").split(' ').collect();
        assert_eq!(command[1..3], ["serve", "--config"]);
        assert!(packaged(command[0]) && packaged(command[3]), "{command:?} is not packaged");
        assert!(read("deploy/wharf.sysusers").contains(&format!("\nu {} ", says("User"))), "nobody makes the user");
        let plugins = "/var/lib/wharf/plugins";
        assert!(read("deploy/wharf.tmpfile").contains(&format!("\nd {plugins} 0755 root root")), "nobody makes the folder of components");
        assert!(read("deploy/debian/wharf.toml").contains(&format!("\nplugins = \"{plugins}\"")), "another folder of components");
        // XDG_CACHE_HOME and XDG_DATA_HOME, of which the host takes wharf/ and wharf/state.
        assert_eq!(says("Environment"), "XDG_CACHE_HOME=/var/cache XDG_DATA_HOME=/var/lib");
        assert_eq!((says("CacheDirectory"), says("StateDirectory")), ("wharf", "wharf/state"));
        assert!(
            read("deploy/debian/postrm").contains("/var/cache/wharf\" \"${DPKG_ROOT:-}/var/lib/wharf/state\""),
            "a purge leaves something"
        );
        assert_eq!(says("Type"), "notify");
        for key in ["NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectKernelModules", "RestrictSUIDSGID"] {
            assert_eq!(says(key), "yes", "{key}");
        }
        assert_eq!(says("ProtectSystem"), "strict");
        // It would end the host at its first component.
        assert!(!unit.contains("\nMemoryDenyWriteExecute"));
    }
}
