//! A template's registration, and what its `list` gave.
//!
//! Invariants: a `list` that fails, panics or never ends takes nothing but its own entries: the last good ones stay, and the other
//! registrations are listed without it. It is asked again only once it has answered.

use std::{sync::Weak, time::Duration};

use parking_lot::Mutex;

use super::{Complete, Fixed, List};
use crate::{
    provider::{Error, ResourceInfo, TemplateInfo, guarded},
    uri::template::Template,
};

/// How long all direct registrations wait for the `list` of one: less than requests wait for lists.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Family {
    pub info: TemplateInfo,
    pub template: Template,
    pub list: Option<List>,
    pub complete: Option<Complete>,
    pub listed: Mutex<Listed>,
}

/// What its `list` gave.
#[derive(Default)]
pub(super) struct Listed {
    /// The last time it gave something.
    last: Vec<ResourceInfo>,
    state: State,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is to be asked.
    #[default]
    Idle,
    /// It is being asked, and nobody waits for it.
    Late,
    /// It came late, and was not looked at.
    Fresh,
}

impl Family {
    /// What it lists now, or listed last. `name` and `id` are its registration's, to get at it once it is late.
    pub(super) async fn resources(&self, fixed: Weak<Fixed>, name: &str, id: u64) -> Vec<ResourceInfo> {
        let Some(list) = self.list.clone() else { return Vec::new() };
        {
            let mut listed = self.listed.lock();
            match listed.state {
                State::Idle => {}
                State::Late => return listed.last.clone(),
                State::Fresh => {
                    listed.state = State::Idle;
                    return listed.last.clone();
                }
            }
        }
        // In a task of its own, so that it goes on when nobody waits.
        let mut asking = tokio::spawn(guarded(move || list()));
        match tokio::time::timeout(PATIENCE, &mut asking).await {
            Ok(Ok(answer)) => self.take(answer),
            Ok(Err(_)) => {}
            Err(_) => {
                tracing::warn!(template = %self.info.uri_template, "takes long to list: what it listed last stays until it has");
                self.listed.lock().state = State::Late;
                let name = name.to_owned();
                tokio::spawn(async move {
                    let answer = asking.await;
                    let Some(fixed) = fixed.upgrade() else { return };
                    let Some(entry) = fixed.get(&name, id) else { return };
                    if let (super::What::Template(family), Ok(answer)) = (&entry.what, answer) {
                        family.take(answer);
                        family.listed.lock().state = State::Fresh;
                        fixed.tell_change();
                    }
                });
            }
        }
        self.listed.lock().last.clone()
    }

    fn take(&self, answer: Result<Vec<ResourceInfo>, Error>) {
        match answer {
            Ok(resources) => self.listed.lock().last = resources,
            Err(error) => {
                tracing::warn!(template = %self.info.uri_template, kind = error.kind(), "failed to list, so its last list stays: {error}");
            }
        }
    }
}
