//! rmcp's own server: what a provider costs that is a program of its own. JSON answers where rmcp has them, which is in the modern era; a
//! legacy session's answers are event streams.

use std::{collections::HashMap, sync::Arc};

use anyhow::{Context, Result};
use axum::Router;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
        ResourceContents, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    },
    service::RequestContext,
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager},
};
use serde_json::Value;

/// `/mcp`, with these texts and the first page of this list.
pub fn router(texts: &HashMap<String, Arc<str>>, lists: HashMap<String, Arc<str>>) -> Result<Router> {
    let texts: HashMap<String, Arc<str>> = texts.iter().map(|(name, text)| (format!("texts://{name}"), text.clone())).collect();
    let page: Value = serde_json::from_str(lists.values().next().context("no list")?)?;
    let page = Page { resources: serde_json::from_value(page["resources"].clone())?, next: page["nextCursor"].as_str().map(str::to_owned) };
    let (texts, page) = (Arc::new(texts), Arc::new(page));
    let make = move || Ok(Native { texts: texts.clone(), page: page.clone() });
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let service = StreamableHttpService::new(make, Arc::new(LocalSessionManager::default()), config);
    Ok(Router::new().nest_service("/mcp", service))
}

struct Page {
    resources: Vec<Resource>,
    next: Option<String>,
}

struct Native {
    texts: Arc<HashMap<String, Arc<str>>>,
    page: Arc<Page>,
}

impl ServerHandler for Native {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder().enable_resources().enable_resources_subscribe().enable_resources_list_changed().build(),
        )
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut result = ListResourcesResult::with_all_items(self.page.resources.clone());
        result.next_cursor.clone_from(&self.page.next);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(text) = self.texts.get(&request.uri) else { return Err(ErrorData::resource_not_found("Resource not found", None)) };
        let contents = ResourceContents::text(&**text, request.uri).with_mime_type("text/plain");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    #[allow(deprecated, reason = "the legacy era has no other")]
    async fn subscribe(&self, _request: SubscribeRequestParams, _context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }
}
