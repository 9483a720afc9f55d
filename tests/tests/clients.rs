//! The client matrix: each client, by each way it has to the host, through one whole round.

use anyhow::Result;
use wharf_tests::matrix::{CLIENTS, whole_rounds};

macro_rules! rounds {
    ($($name:ident: $id:literal,)*) => {
        const TESTED: &[&str] = &[$($id),*];
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() -> Result<()> {
                whole_rounds($id).await
            }
        )*
    };
}

rounds! {
    the_first_typescript_sdk_gets_whole_rounds: "ts-sdk",
    the_typescript_client_gets_whole_rounds_in_the_legacy_era: "ts-client-legacy",
    the_typescript_client_that_asks_first_gets_whole_rounds: "ts-client-auto",
    the_typescript_client_pinned_to_the_modern_era_gets_whole_rounds: "ts-client-pinned",
    the_first_python_sdk_gets_whole_rounds: "py-mcp1",
    the_python_client_gets_whole_rounds_in_the_legacy_era: "py-mcp2-legacy",
    the_python_client_that_asks_first_gets_whole_rounds: "py-mcp2-auto",
    fastmcp_gets_whole_rounds_in_the_legacy_era: "py-fastmcp-legacy",
    fastmcp_that_asks_first_gets_whole_rounds: "py-fastmcp-auto",
    rmcp_gets_whole_rounds_in_the_legacy_era: "rmcp-legacy",
    rmcp_gets_whole_rounds_in_the_modern_era: "rmcp-modern",
    the_inspector_gets_whole_rounds: "inspector-cli",
    mcpdo_gets_whole_rounds_in_the_legacy_era: "mcpdo-legacy",
    mcpdo_gets_whole_rounds_in_the_modern_era: "mcpdo-modern",
    mcp_remote_gets_whole_rounds_in_the_legacy_era: "mcp-remote",
    mcp_remote_gets_whole_rounds_in_the_modern_era: "mcp-remote-modern",
    supergateway_gets_whole_rounds: "supergateway",
}

#[test]
fn every_client_of_the_matrix_is_tested() {
    let all: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    assert_eq!(TESTED, all);
}
