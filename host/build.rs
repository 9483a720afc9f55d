//! Puts `templates/` into the program, for `wharf new`: a folder is a language, and adding one is adding a folder.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=templates");
    let templates = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("templates");
    let mut list = String::from("&[\n");
    for language in entries(&templates)?.into_iter().filter(|path| path.is_dir()) {
        list += &format!("({:?}, &[\n", name(&language));
        files(&language, &language, &mut list)?;
        list += "]),\n";
    }
    list += "]\n";
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("templates.rs"), list)
}

/// All files below, each as its path, with `/`, and the macro that puts its content there.
fn files(language: &Path, folder: &Path, list: &mut String) -> io::Result<()> {
    for path in entries(folder)? {
        if path.is_dir() {
            files(language, &path, list)?;
        } else {
            let relative: Vec<String> =
                path.strip_prefix(language).unwrap_or(&path).iter().map(|part| part.to_string_lossy().into()).collect();
            *list += &format!("({:?}, include_str!({:?})),\n", relative.join("/"), path);
        }
    }
    Ok(())
}

/// By name, so that the same folder makes the same program.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into()
}
