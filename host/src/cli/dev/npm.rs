//! What a project with a package.json needs before its first build.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

const MANIFEST: &str = "package.json";
const PACKAGES: &str = "node_modules";
const BUILD: &str = "npm run build";
const INSTALL_AND_BUILD: &str = "npm install && npm run build";
/// Programs in a build script that are no packages.
const PLAIN: [&str; 14] = ["bash", "cat", "cd", "cp", "echo", "exit", "mkdir", "mv", "node", "npm", "npx", "rm", "sh", "wharf"];

/// Scripts that run scripts, so deep; one may run itself.
const DEPTH: usize = 8;

/// The command that builds it: where its packages are not there, it installs them first. They are not needed where all programs that the
/// build script runs are on the `PATH`, as in a shell that was set up for several projects.
pub(super) fn build(folder: &Path) -> &'static str {
    let path: Vec<PathBuf> = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    if needs_packages(folder, &path) { INSTALL_AND_BUILD } else { BUILD }
}

fn needs_packages(folder: &Path, path: &[PathBuf]) -> bool {
    let manifest = fs::read_to_string(folder.join(MANIFEST)).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    // What is wrong with it, npm says better.
    let Some(manifest) = manifest else { return false };
    let has = |key: &str| manifest[key].as_object().is_some_and(|packages| !packages.is_empty());
    if !(has("dependencies") || has("devDependencies")) {
        return false;
    }
    // Node looks for packages above as well.
    if folder.ancestors().any(|folder| folder.join(PACKAGES).is_dir()) {
        return false;
    }
    let scripts = &manifest["scripts"];
    let mut found = Vec::new();
    ["prebuild", "build"].iter().for_each(|name| programs_of(scripts, name, DEPTH, &mut found));
    found.retain(|program| !PLAIN.contains(program));
    found.is_empty() || !found.iter().all(|program| path.iter().any(|folder| folder.join(program).is_file()))
}

/// The programs that the script of this name runs, itself or by another script.
fn programs_of<'a>(scripts: &'a Value, name: &str, depth: usize, found: &mut Vec<&'a str>) {
    for command in commands(scripts[name].as_str().unwrap_or_default()) {
        match program(command) {
            Some("npm") if depth > 0 => {
                let mut words = command.split_whitespace().skip_while(|word| !["run", "run-script"].contains(word)).skip(1);
                if let Some(other) = words.find(|word| !word.starts_with('-')) {
                    programs_of(scripts, other, depth - 1, found);
                }
            }
            program => found.extend(program),
        }
    }
}

fn commands(script: &str) -> impl Iterator<Item = &str> {
    script.split(['&', '|', ';', '\n', '(', ')'])
}

/// The first word of a command, after what it sets in its environment. One that the shell makes is not known.
fn program(command: &str) -> Option<&str> {
    let first = command.split_whitespace().find(|word| !word.contains('='));
    first.filter(|word| !word.contains(['$', '"', '\'', '`']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(manifest: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), manifest).unwrap();
        folder
    }

    const MANIFEST_OF_TWO: &str = r#"{ "devDependencies": { "a": "1" }, "scripts": { "build": "MODE=x tsc -p . && \"${WHARF:-wharf}\" bindings; componentize-it x" } }"#;

    #[test]
    fn packages_are_installed_before_the_first_build_and_no_other() {
        let project = project(MANIFEST_OF_TWO);
        assert!(needs_packages(project.path(), &[]));
        let below = project.path().join("deep/down");
        fs::create_dir_all(&below).unwrap();
        fs::copy(project.path().join(MANIFEST), below.join(MANIFEST)).unwrap();
        fs::create_dir(project.path().join(PACKAGES)).unwrap();
        assert!(!needs_packages(project.path(), &[]) && !needs_packages(&below, &[]), "they are there, or above");
    }

    #[test]
    fn packages_are_not_needed_where_all_tools_are_on_the_path() {
        let (project, tools) = (project(MANIFEST_OF_TWO), tempfile::tempdir().unwrap());
        let path = [tools.path().to_owned()];
        fs::write(tools.path().join("tsc"), "").unwrap();
        assert!(needs_packages(project.path(), &path), "one is missing");
        fs::write(tools.path().join("componentize-it"), "").unwrap();
        assert!(!needs_packages(project.path(), &path));
    }

    #[test]
    fn a_project_without_packages_needs_none_and_one_that_hides_its_tools_does() {
        assert!(!needs_packages(project(r#"{ "scripts": { "build": "tool" } }"#).path(), &[]));
        assert!(!needs_packages(project("no json").path(), &[]));
        assert!(needs_packages(project(r#"{ "dependencies": { "a": "1" }, "scripts": { "build": "node build.js" } }"#).path(), &[]));
    }

    #[test]
    fn the_programs_of_a_script_are_its_first_words_and_those_of_the_scripts_it_runs() {
        let scripts = serde_json::json!({
            "build": "mkdir -p a && X=1 asc b.ts | (sed s/a/b/); \"$WHARF\" componentize && npm run -s check && npm run build",
            "check": "tsc",
        });
        let mut found = Vec::new();
        programs_of(&scripts, "build", 1, &mut found);
        assert_eq!(found, ["mkdir", "asc", "sed", "tsc", "mkdir", "asc", "sed", "npm", "npm"], "and the last one, as deep as it goes");
    }
}
