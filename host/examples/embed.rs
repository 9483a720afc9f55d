//! A program with a host of its own: two resources, a family of them, and the plugins folder. `cargo run -p wharf --example embed`

use std::{
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use wharf::{
    host::Host,
    provider::{Completion, Error, ResourceInfo},
};

const CITIES: [&str; 3] = ["Amsterdam", "Hamburg", "Oslo"];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder().plugins("plugins").start().await?;

    // A resource that changes: whoever subscribed is told by the handle.
    let ticks = Arc::new(AtomicU64::new(0));
    let counter = host.resource("counter").uri("app://counter").title("A counter").mime_type("text/plain").read({
        let ticks = ticks.clone();
        move |_| {
            let count = ticks.load(Relaxed);
            async move { Ok(format!("{count} ticks")) }
        }
    })?;

    // A family of resources: listed, completed, and read by their variables.
    host.template("harbour", "app://harbours/{city}")
        .list(|| async { Ok(CITIES.iter().map(|city| ResourceInfo::new(format!("app://harbours/{city}"), *city)).collect()) })
        .complete(|request| async move {
            let values = CITIES.iter().filter(|city| city.starts_with(&request.value)).map(|city| (*city).to_owned());
            Ok(Completion { values: values.collect(), ..Completion::default() })
        })
        .read(|request| async move {
            let city = request.matched.and_then(|matched| matched.variables.first().map(|(_, city)| city.clone()));
            let city = city.filter(|city| CITIES.contains(&city.as_str())).ok_or(Error::NotFound)?;
            Ok(format!("The harbour of {city}"))
        })?;

    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            ticks.fetch_add(1, Relaxed);
            counter.notify_updated();
        }
    });

    let listener = tokio::net::TcpListener::bind("127.0.0.1:8090").await?;
    println!("serving MCP at http://{}/mcp", listener.local_addr()?);
    host.serve(listener, Default::default(), async { drop(tokio::signal::ctrl_c().await) }).await;
    Ok(())
}
