//! Media types, by the end of a file's name.

const TYPES: [(&str, &str); 52] = [
    ("avif", "image/avif"),
    ("c", "text/x-c"),
    ("cc", "text/x-c++"),
    ("cpp", "text/x-c++"),
    ("cs", "text/x-csharp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("h", "text/x-c"),
    ("hpp", "text/x-c++"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("jsx", "text/javascript"),
    ("kt", "text/x-kotlin"),
    ("lua", "text/x-lua"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("php", "text/x-php"),
    ("png", "image/png"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("swift", "text/x-swift"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsv", "text/tab-separated-values"),
    ("tsx", "text/x-typescript"),
    ("ttf", "font/ttf"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zig", "text/x-zig"),
    ("zip", "application/zip"),
];

/// Of a file of this name; where the name says nothing, by whether it is text.
pub fn of(path: &str, is_text: bool) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    let known = end.and_then(|end| TYPES.iter().find(|(known, _)| *known == end)).map(|(_, mime_type)| *mime_type);
    known.unwrap_or(if is_text { "text/plain" } else { "application/octet-stream" })
}
