//! Media types by a file's extension, and else by its content.

/// Names and extensions in lower case.
const TYPES: &[(&str, &[&str])] = &[
    ("text/plain", &["txt", "log", "text", "conf", "cfg", "ini", "env", "lock", "gitignore"]),
    ("text/markdown", &["md", "markdown"]),
    ("text/html", &["html", "htm"]),
    ("text/css", &["css", "scss", "less"]),
    ("text/csv", &["csv"]),
    ("text/tab-separated-values", &["tsv"]),
    ("text/javascript", &["js", "mjs", "cjs", "jsx"]),
    ("text/x-typescript", &["ts", "tsx", "mts", "cts"]),
    ("text/x-rust", &["rs"]),
    ("text/x-python", &["py", "pyi"]),
    ("text/x-go", &["go"]),
    ("text/x-c", &["c", "h"]),
    ("text/x-c++", &["cc", "cpp", "cxx", "hpp", "hh"]),
    ("text/x-java", &["java"]),
    ("text/x-kotlin", &["kt", "kts"]),
    ("text/x-csharp", &["cs"]),
    ("text/x-ruby", &["rb"]),
    ("text/x-php", &["php"]),
    ("text/x-swift", &["swift"]),
    ("text/x-zig", &["zig"]),
    ("text/x-lua", &["lua"]),
    ("text/x-sh", &["sh", "bash", "zsh", "fish"]),
    ("text/x-sql", &["sql"]),
    ("text/x-diff", &["diff", "patch"]),
    ("text/x-rst", &["rst"]),
    ("text/x-tex", &["tex"]),
    ("text/x-wit", &["wit"]),
    ("application/json", &["json", "map"]),
    ("application/jsonl", &["jsonl", "ndjson"]),
    ("application/yaml", &["yaml", "yml"]),
    ("application/toml", &["toml"]),
    ("application/xml", &["xml", "xsd", "xsl"]),
    ("application/pdf", &["pdf"]),
    ("application/wasm", &["wasm"]),
    ("application/zip", &["zip"]),
    ("application/gzip", &["gz", "tgz"]),
    ("application/x-tar", &["tar"]),
    ("image/png", &["png"]),
    ("image/jpeg", &["jpg", "jpeg"]),
    ("image/gif", &["gif"]),
    ("image/webp", &["webp"]),
    ("image/avif", &["avif"]),
    ("image/svg+xml", &["svg"]),
    ("image/x-icon", &["ico"]),
    ("audio/mpeg", &["mp3"]),
    ("audio/wav", &["wav"]),
    ("audio/ogg", &["ogg", "opus"]),
    ("video/mp4", &["mp4"]),
    ("video/webm", &["webm"]),
    ("font/woff2", &["woff2"]),
    ("font/ttf", &["ttf"]),
];

/// Whether these bytes are text: UTF-8, and no zeros.
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// The media type of a file; `is_text`, if its content is known. None if nothing tells.
pub fn of(path: &str, is_text: Option<bool>) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let known =
        extension.and_then(|extension| TYPES.iter().find(|(_, known)| known.contains(&&*extension))).map(|(media_type, _)| *media_type);
    match (known, is_text) {
        // An extension may lie.
        (Some(known), Some(false)) if known.starts_with("text/") => Some("application/octet-stream"),
        (None, Some(true)) => Some("text/plain"),
        (None, Some(false)) => Some("application/octet-stream"),
        (known, _) => known,
    }
}
