//! The example provider `clock`: a template whose resources change by themselves.

use anyhow::{Result, ensure};
use serde_json::json;
use wharf_tests::{Setup, call, listen};

#[tokio::test]
async fn a_zone_that_someone_subscribed_ticks_and_one_that_does_not_exist_never_does() -> Result<()> {
    let host = Setup::new().guest("clock").start().await?;
    let (berlin, nowhere) = ("clock://zone/Europe/Berlin", "clock://zone/Europe/Nowhere");
    let mut listener = listen(&host, &[nowhere.into(), berlin.into()]).await?;
    for _ in 0..3 {
        ensure!(listener.update().await? == berlin);
    }
    Ok(())
}

#[tokio::test]
async fn every_zone_can_be_read_and_each_has_one_uri() -> Result<()> {
    let host = Setup::new().guest("clock").start().await?;
    let read = async |uri: &str| call(&host, "resources/read", json!({ "uri": uri })).await;
    for (uri, offset, name) in [
        ("clock://zone/UTC", "+00:00", "UTC"),
        ("clock://zone/Asia/Kathmandu", "+05:45", "Asia/Kathmandu"),
        ("clock://zone/Etc/GMT+1", "-01:00", "Etc/GMT+1"),
    ] {
        let answer = read(uri).await?;
        let text = answer["contents"][0]["text"].as_str().unwrap_or_default();
        // 2026-11-30T14:05:09+01:00 Europe/Berlin
        ensure!(text.ends_with(&format!("{offset} {name}")) && text.find('T') == Some(10), "{answer}");
    }
    for unknown in ["clock://zone/europe/berlin", "clock://zone/Mars", "clock://zone/"] {
        let error = read(unknown).await.unwrap_err();
        ensure!(format!("{error:#}").contains("-32602"), "{unknown}: {error:#}");
    }
    Ok(())
}
