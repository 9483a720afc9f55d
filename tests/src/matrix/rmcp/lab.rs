//! rmcp under `wharf lab`: a full round with its one resource.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};

use super::{Connection, Heard, rmcp};
use crate::matrix::player::Target;

const STATUS: &str = "test://review/status";
/// Far more than the lab's delay.
const WAIT: Duration = Duration::from_secs(15);

/// Makes the round; gives the name of the package, and its version.
pub async fn full_round(protocol: &str, url: &str) -> Result<(String, String)> {
    let heard = Arc::<Heard>::default();
    let mut connection = Connection::open(protocol, &Target::Url(url.into()), heard.clone()).await?;
    ensure!(connection.list().await? == [STATUS], "another list");
    let before = connection.read(STATUS).await?;
    connection.subscribe(&[STATUS]).await?;
    heard.until("an update", WAIT, |counts| counts.updates(STATUS) > 0).await?;
    ensure!(connection.read(STATUS).await? != before, "the resource is as it was");
    connection.unsubscribe(&[STATUS]).await?;
    connection.close().await?;
    let rmcp = rmcp();
    Ok((rmcp.name, rmcp.version))
}
