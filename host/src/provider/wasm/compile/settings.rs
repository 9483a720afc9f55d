//! How components are to be compiled: where, how well, within which limits, and where the work is kept.

use std::{ffi::OsString, path::PathBuf, time::Duration};

/// How components become machine code. The default is for programs that embed the host: in this process, and without a cache.
#[derive(Debug, Clone, Default)]
pub struct Compilation {
    /// Where the compiler runs.
    pub compiler: Compiler,
    /// Which compiler.
    pub strategy: Strategy,
    /// Where its work is kept.
    pub cache: CacheFolder,
    /// What it may use.
    pub limits: Limits,
}

/// What matters more: how fast machine code is, or how soon it is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Code that runs fast (Cranelift).
    #[default]
    Thorough,
    /// Code that is there soon (Winch): for whoever changes a component all the time. Compiling takes a tenth of the time, and a guest that
    /// computes a lot takes two to five times as long. What Winch cannot compile is compiled thoroughly.
    Quick,
}

/// Where the compiler runs.
#[derive(Debug, Clone, Default)]
pub enum Compiler {
    /// On threads of this process. Nothing can stop it, and its limits do not hold.
    #[default]
    InProcess,
    /// In a process of its own for each component, with a low priority and limits that hold. Unix only; elsewhere as
    /// [`InProcess`](Self::InProcess), and so too where the process cannot be started.
    Process {
        /// The `wharf` binary, of the same version: it is started as `wharf compile-component`.
        program: PathBuf,
    },
}

/// What compiling one component may take, in a process of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Computing time, over all threads, in whole seconds. The default of 240 s is some 12 times what the largest providers seen need.
    pub work: Duration,
    /// Time on the clock. The default is 10 min: on a busy machine, low priority makes of 10 s easily 50 s.
    pub time: Duration,
    /// Address space, in bytes. The default is 4 GiB; the largest providers seen need 350 MiB of memory.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { work: Duration::from_secs(240), time: Duration::from_secs(600), memory: 4 << 30 }
    }
}

/// The folder of the compile cache. Unix only; elsewhere there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CacheFolder {
    /// Nothing is kept.
    #[default]
    Off,
    /// Machine code is kept here, and loaded from here. It has to belong to this user, and nobody else may write to it.
    At(PathBuf),
}

impl CacheFolder {
    /// What the environment says: `WHARF_CACHE_DIR` (`off` for none) with `components` in it, else `wharf/components` in
    /// `XDG_CACHE_HOME` or in `~/.cache` (XDG Base Directory Specification).
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        match set("WHARF_CACHE_DIR") {
            Some(value) if value.as_os_str() == "off" => return Self::Off,
            Some(folder) => return Self::At(folder.join("components")),
            None => {}
        }
        // The specification has relative paths ignored.
        let absolute = |name| set(name).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        caches.map_or(Self::Off, |caches| Self::At(caches.join("wharf").join("components")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_folder_is_where_the_environment_says() {
        let folder = |variables: &[(&str, &str)]| {
            CacheFolder::from_variables(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        let at = |path: &str| CacheFolder::At(path.into());
        let home = ("HOME", "/home/a");
        assert_eq!(folder(&[home]), at("/home/a/.cache/wharf/components"));
        assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "/caches")]), at("/caches/wharf/components"));
        assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "caches")]), at("/home/a/.cache/wharf/components"));
        assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "")]), at("/home/a/.cache/wharf/components"));
        assert_eq!(folder(&[home, ("WHARF_CACHE_DIR", "mine")]), at("mine/components"));
        assert_eq!(folder(&[home, ("WHARF_CACHE_DIR", "off")]), CacheFolder::Off);
        assert_eq!(folder(&[]), CacheFolder::Off);
    }
}
