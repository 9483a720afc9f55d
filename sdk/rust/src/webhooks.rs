//! What someone sends to a webhook that wharf.toml gives the provider. Needs `webhooks` in [`export!`](crate::export).

pub use crate::bindings::webhooks::exports::wharf::provider::webhook_handler::{WebhookRequest, WebhookResponse};
use crate::provider::Provider;

/// The name, `None` for all that have no function of their own, and what is called.
pub(crate) type Webhook<S> = (Option<String>, Box<dyn Fn(&mut S, WebhookRequest) -> WebhookResponse>);

/// There is no such webhook here (RFC 9110 section 15.5.5).
const NOT_FOUND: u16 = 404;

impl WebhookRequest {
    /// The first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl WebhookResponse {
    /// Of this status, 200 to 599; 204 is usual.
    pub fn status(status: u16) -> Self {
        Self { status, headers: None, body: None }
    }

    /// With a body, which the sender can show.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// One header more.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.get_or_insert_default().push((name.into(), value.into()));
        self
    }
}

impl<S> Provider<S> {
    /// What is sent to the webhook that wharf.toml gives this name.
    pub fn webhook(&mut self, name: impl Into<String>, receive: impl Fn(&mut S, WebhookRequest) -> WebhookResponse + 'static) -> &mut Self {
        self.webhooks.push((Some(name.into()), Box::new(receive)));
        self
    }

    /// What is sent to any other.
    pub fn any_webhook(&mut self, receive: impl Fn(&mut S, WebhookRequest) -> WebhookResponse + 'static) -> &mut Self {
        self.webhooks.push((None, Box::new(receive)));
        self
    }

    pub(crate) fn receive(&mut self, request: WebhookRequest) -> WebhookResponse {
        let own = |(name, _): &&Webhook<S>| name.as_ref() == Some(&request.name);
        match self.webhooks.iter().find(own).or_else(|| self.webhooks.iter().find(|(name, _)| name.is_none())) {
            Some((_, receive)) => receive(&mut self.state, request),
            None => WebhookResponse::status(NOT_FOUND).body("the provider has no such webhook"),
        }
    }
}
