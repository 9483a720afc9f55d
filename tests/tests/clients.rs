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
    rmcp_gets_whole_rounds_in_the_legacy_era: "rmcp-legacy",
    rmcp_gets_whole_rounds_in_the_modern_era: "rmcp-modern",
}

#[test]
fn every_client_of_the_matrix_is_tested() {
    let all: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    assert_eq!(TESTED, all);
}
