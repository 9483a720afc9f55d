//! A host with something of everything, made once a thread.

use std::{cell::RefCell, future::Future, path::Path};

use serde_json::json;
use wharf::{
    config::Config,
    host::Host,
    mcp::{Envelope, Reply},
};

const CONFIG: &str = r#"
[[resource]]
name = "text"
uri = "fuzz://text"
text = "a text"

[[resource]]
name = "other"
uri = "fuzz://other"
mime-type = "text/markdown"
text = "another"
"#;

/// The host, and what runs it.
pub struct World {
    runtime: tokio::runtime::Runtime,
    pub host: Host,
    session: RefCell<String>,
}

impl World {
    /// Does this with the thread's own.
    pub fn with(does: impl FnOnce(&Self)) {
        thread_local! {
            static WORLD: Option<World> = World::made();
        }
        WORLD.with(|world| match world {
            Some(world) => does(world),
            None => panic!("the host does not start"),
        });
    }

    fn made() -> Option<Self> {
        // The clock stands still while something runs, and leaps when nothing does.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().ok()?;
        let config = Config::parse(CONFIG, Path::new("/srv")).ok()?;
        let host = runtime.block_on(async {
            let host = Host::builder().config(config).tools(true).start().await.ok()?;
            let echo = host.template("echo", "fuzz://echo/{+text}").read(|request| async move { Ok(request.uri.to_string()) });
            echo.is_ok().then_some(host)
        })?;
        Some(Self { runtime, host, session: RefCell::default() })
    }

    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// The id of a legacy session; another if the last one has ended.
    pub fn session(&self) -> String {
        if self.host.server().session_count() == 0 {
            let info = json!({ "name": "fuzz", "version": "0" });
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
            let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
            if let Reply::Session(id, _) = self.block_on(self.host.server().post(opening.as_bytes(), &Envelope::default())) {
                self.session.replace(id);
            }
        }
        self.session.borrow().clone()
    }
}
