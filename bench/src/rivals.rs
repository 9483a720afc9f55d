//! The servers that Wharf is measured against, each a process of its own: `wharf-bench rival NAME FOLDER`. They serve what the host serves,
//! which the bench has read from it before: texts as `NAME.txt`, each a resource `texts://NAME`; and whole answers as `NAME.json`.
//!
//! All of them run on tokio's threads as the host does, and send small answers at once (`TCP_NODELAY`).

mod bare;
mod native;

use std::{collections::HashMap, ffi::OsStr, fs, path::Path, sync::Arc};

use anyhow::{Context, Result, bail};
use axum::{Router, serve::ListenerExt};
use tokio::net::TcpListener;

/// Serves until it is killed. Says on stdout where.
pub fn serve(name: &str, folder: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let router = match name {
            "axum" => bare::router(read(folder, "json")?, read(folder, "txt")?)?,
            "rmcp" => native::router(&read(folder, "txt")?, read(folder, "list")?)?,
            _ => bail!("there is no rival `{name}`"),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening {}", listener.local_addr()?);
        serve_on(listener, router).await
    })
}

async fn serve_on(listener: TcpListener, router: Router) -> Result<()> {
    let listener = listener.tap_io(|stream| {
        // It fails only on a connection that is gone already.
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, router).await?)
}

/// Names and contents of the files with this extension.
fn read(folder: &Path, extension: &str) -> Result<HashMap<String, Arc<str>>> {
    let mut files = HashMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().and_then(OsStr::to_str) == Some(extension) {
            let name = path.file_stem().and_then(OsStr::to_str).context("a file without a name")?;
            files.insert(name.to_owned(), fs::read_to_string(&path)?.into());
        }
    }
    Ok(files)
}
