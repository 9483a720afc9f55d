//! What is read.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{COUNT, FULL, SETTING, both, serving, serving_with, text};

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place)) as usize & 63;
            text.push(if place > three.len() { '=' } else { ALPHABET[sextet].into() });
        }
    }
    text
}

pub async fn every_kind_of_content_arrives_in_both_eras(language: &str) -> Result<()> {
    let host = serving(language).await?;
    let bytes: Vec<u8> = (0..=255).collect();
    let plain = |uri: &str, text: &str| json!([{ "uri": uri, "mimeType": "text/plain", "text": text }]);
    let two = json!([
        { "uri": "contract://two", "mimeType": "text/plain", "text": "one" },
        { "uri": "contract://two/part", "mimeType": "text/markdown", "text": "two", "_meta": { "contract/part": 2 } },
    ]);
    let expected: [(&str, Value); 6] = [
        (FULL, plain(FULL, "hello")),
        ("contract://utf8", plain("contract://utf8", "grüße, 世界")),
        ("contract://blob", json!([{ "uri": "contract://blob", "mimeType": "application/octet-stream", "blob": base64(&bytes) }])),
        ("contract://two", two),
        (COUNT, plain(COUNT, "0")),
        (SETTING, plain(SETTING, "none")),
    ];
    for (uri, contents) in expected {
        for answer in both(&host, "resources/read", json!({ "uri": uri })).await? {
            ensure!(answer["contents"] == contents, "{answer}\ninstead of\n{contents}");
        }
    }
    Ok(())
}

pub async fn a_template_s_variables_arrive_decoded(language: &str) -> Result<()> {
    let host = serving(language).await?;
    for (uri, says) in [
        ("contract://echo/hello", "word=hello from=- to=-"),
        ("contract://echo/hello?from=1", "word=hello from=1 to=-"),
        ("contract://echo/hello?to=2&from=1", "word=hello from=1 to=2"),
        ("contract://echo/hello?from=&to=2", "word=hello from= to=2"),
        ("contract://echo/a%20b%26c?to=%3D%25", "word=a b&c from=- to==%"),
        ("contract://echo/gr%C3%BC%C3%9Fe?from=%E4%B8%96%E7%95%8C", "word=grüße from=世界 to=-"),
        ("contract://echo/%F0%9F%9A%A2", "word=🚢 from=- to=-"),
        ("contract://path/one", "one"),
        ("contract://path/a/b%20c/%E4%B8%96", "a/b c/世"),
    ] {
        for answer in both(&host, "resources/read", json!({ "uri": uri })).await? {
            ensure!(answer["contents"][0]["text"] == says, "{uri}: {answer}");
            ensure!(answer["contents"][0]["uri"] == uri, "{uri}: {answer}");
        }
    }
    // What the template says, where the reading says nothing.
    let echo = super::read(&host, "contract://echo/hello").await?;
    ensure!(echo["contents"][0]["mimeType"] == "text/plain", "{echo}");
    Ok(())
}

pub async fn a_setting_is_read(language: &str) -> Result<()> {
    let host = serving_with(language, "settings = { greeting = \"Grüß Gott\" }\n").await?;
    ensure!(text(&host, SETTING).await? == "Grüß Gott");
    Ok(())
}

#[test]
fn base64_is_that_of_rfc_4648() {
    for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}
