//! `wharf dev`: builds a provider at each save, serves it, and shows what happens.
//!
//! The component a build made is put into a folder of its own, as a plugin is dropped in: from there on it is reloaded as in `wharf serve`.
//!
//! Invariants: one build at a time; what changes during a build is built after it; what fails to build or to load leaves the last good
//! version serving.

mod building;
mod npm;
mod project;
mod screen;
mod sources;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::sync::{mpsc, oneshot};
use wharf::{
    config::{Config, ConfigFile},
    host::Host,
    provider::wasm::{Compilation, Strategy},
};

pub(super) use self::screen::{Layer, is_shown};
use self::{
    building::Built,
    project::Project,
    screen::{Saved, Screen},
    sources::Change,
};
use super::{
    access, compile,
    serve::{self, run_to_end},
    signals::Signals,
    sources::{SourceArgs, Sources},
};

/// A build that changes its own sources so many times in a row would go on for ever.
const SELF_MADE: u32 = 3;

/// Arguments of `wharf dev`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The provider's folder
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8089, or what wharf.toml says]
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// The configuration [default: ./wharf.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: Args, json: bool) -> Result<()> {
    let project = Project::find(&args.dir)?;
    let Sources { mut config, plugins, file } = SourceArgs::of(args.config).read()?;
    let address = serve::address(args.http, &config)?;
    let mut file = Some(file);
    for provider in &mut config.providers {
        if provider.name != project.name && provider.path.is_none() {
            // It is where it is served from, and not where this puts its own. A wharf.toml that is read again would not say so.
            provider.path = Some(plugins.join(&provider.name).with_added_extension("wasm"));
            file = None;
        }
        if provider.name == project.name && provider.path.take().is_some() {
            file = None;
        }
    }
    let screen = Screen::new(json, &project.name);
    run_to_end(dev(project, config, file, address, screen))
}

async fn dev(project: Project, config: Config, file: Option<ConfigFile>, address: SocketAddr, screen: Screen) -> Result<()> {
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let (tls, authority) = (serve::tls(&config)?, access::authority(&config)?);
    let (listener, settings) = serve::bind(address, &config).await?;
    let (url, warning) = serve::url(listener.local_addr().context("cannot tell the address listened on")?, &config, tls.as_deref());
    screen.greet(&project, &url);
    warning.into_iter().for_each(|warning| screen.say(&warning));
    let (how, beware) = access::words(address, &config, authority.as_deref());
    how.into_iter().chain(beware).for_each(|line| screen.say(&line));
    // Until the host has ended: it watches this folder.
    let mut shelf = Shelf::new(&project.name)?;
    let report = {
        let screen = screen.clone();
        move |report| screen.report(&report)
    };
    let notice = {
        let screen = screen.clone();
        move |notice| screen.notice(&notice)
    };
    // What counts here is how soon the next version is there.
    let compilation = Compilation { strategy: Strategy::Quick, ..compile::compilation() };
    let mut builder = Host::builder().config(config).plugins(shelf.folder.path()).compilation(compilation);
    builder = builder.on_report(report).on_notice(notice);
    if let Some(file) = file {
        builder = builder.config_file(file);
    }
    if let Some(tls) = tls {
        builder = builder.tls(tls);
    }
    if let Some(authority) = authority {
        builder = builder.authority(authority);
    }
    let host = builder.start().await?;
    let changes = sources::watch(project.folder.clone()).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = host.serve(listener, settings, async { drop(stopped.await) });
    tokio::pin!(serving);
    tokio::select! {
        () = signals.next() => {}
        never = builds(project, &mut shelf, changes, &screen) => match never? {},
        // It ends by itself only if nothing can be accepted any more.
        () = &mut serving => bail!("the host has ended by itself"),
    }
    screen.say("ending; once more ends it at once");
    let _ = stop.send(());
    tokio::select! {
        () = &mut serving => Ok(()),
        again = signals.again() => Err(again),
    }
}

/// Builds now, and at each change. Ends only if the sources cannot be watched any more.
async fn builds(
    mut project: Project,
    shelf: &mut Shelf,
    mut changes: mpsc::Receiver<Change>,
    screen: &Screen,
) -> Result<std::convert::Infallible> {
    let mut change: Option<Change> = None;
    let mut repeated: (Vec<PathBuf>, u32) = Default::default();
    loop {
        let saved = change.as_ref().map(|change| change.saved);
        let (built, mut queued) = {
            match Project::find(&project.folder) {
                // It keeps its name: that is what clients and wharf.toml know it by.
                Ok(found) => project = found.called(std::mem::take(&mut project.name)),
                Err(error) => screen.failed(&format!("{error:#}")),
            }
            screen.building(&project);
            let building = building::build(&project);
            tokio::pin!(building);
            let mut queued: Option<Change> = None;
            loop {
                tokio::select! {
                    built = &mut building => break (built, queued),
                    change = changes.recv() => queued = Some(joined(queued, change.context("the sources cannot be watched any more")?)),
                }
            }
        };
        match built {
            Ok(Built { took, component: Ok(component) }) => shelve(shelf, &component, Saved { at: saved, build: took }, screen),
            Ok(Built { component: Err(reason), .. }) => screen.failed(&reason),
            Err(error) => screen.failed(&format!("{error:#}")),
        }
        // The first build of many languages writes a lock file.
        queued = queued.filter(|queued| !queued.is_of_lock_files());
        repeated = match &queued {
            Some(queued) if queued.paths == repeated.0 => (repeated.0, repeated.1 + 1),
            Some(queued) => (queued.paths.clone(), 1),
            None => Default::default(),
        };
        if repeated.1 > SELF_MADE {
            screen.self_made(&repeated.0);
            queued = None;
        }
        let next = match queued {
            Some(queued) => queued,
            None => changes.recv().await.context("the sources cannot be watched any more")?,
        };
        screen.changed(&next);
        change = Some(next);
    }
}

/// Two changes, one after the other, as one.
fn joined(earlier: Option<Change>, later: Change) -> Change {
    let mut paths = earlier.map(|earlier| earlier.paths).unwrap_or_default();
    paths.extend(later.paths);
    paths.sort();
    paths.dedup();
    Change { paths, saved: later.saved }
}

fn shelve(shelf: &mut Shelf, component: &Path, saved: Saved, screen: &Screen) {
    let took = saved.build;
    screen.expect(saved);
    match shelf.put(component) {
        Ok(true) => screen.built(component, took),
        Ok(false) => screen.same(took),
        Err(error) => screen.failed(&format!("{error:#}")),
    }
}

/// The folder from which the host loads the provider.
struct Shelf {
    folder: TempDir,
    name: String,
    holds: Option<blake3::Hash>,
}

impl Shelf {
    fn new(name: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("wharf-dev-").tempdir().context("cannot make a temporary folder")?;
        Ok(Self { folder, name: name.to_owned(), holds: None })
    }

    /// False if it is there already.
    fn put(&mut self, component: &Path) -> Result<bool> {
        let content = fs::read(component).with_context(|| format!("cannot read {}", component.display()))?;
        let hash = blake3::hash(&content);
        if self.holds == Some(hash) {
            return Ok(false);
        }
        let there = self.folder.path().join(&self.name).with_added_extension("wasm");
        // Hidden, and put in place by a rename: the host never sees half of it.
        let partial = self.folder.path().join(".partial");
        fs::write(&partial, content)
            .and_then(|()| fs::rename(&partial, &there))
            .with_context(|| format!("cannot write {}", there.display()))?;
        self.holds = Some(hash);
        Ok(true)
    }
}

/// For people: `0.4 s`, `37 ms`.
fn seconds(time: Duration) -> String {
    if time >= Duration::from_secs(1) { format!("{:.1} s", time.as_secs_f64()) } else { format!("{} ms", time.as_millis()) }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn the_same_component_is_not_put_there_twice() {
        let folder = tempfile::tempdir().unwrap();
        let component = folder.path().join("a.wasm");
        let mut shelf = Shelf::new("my.notes").unwrap();
        fs::write(&component, "1").unwrap();
        assert!(shelf.put(&component).unwrap());
        assert!(!shelf.put(&component).unwrap());
        fs::write(&component, "2").unwrap();
        assert!(shelf.put(&component).unwrap());
        assert_eq!(fs::read(shelf.folder.path().join("my.notes.wasm")).unwrap(), b"2");
        assert!(shelf.put(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn changes_during_a_build_are_one() {
        let change = |paths: &[&str], seconds: u64| Change {
            paths: paths.iter().map(PathBuf::from).collect(),
            saved: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
        };
        let both = joined(Some(change(&["b", "a"], 1)), change(&["b", "c"], 2));
        assert_eq!(both.paths, ["a", "b", "c"].map(PathBuf::from));
        assert_eq!(both.saved, SystemTime::UNIX_EPOCH + Duration::from_secs(2));
    }
}
