//! What a provider may be called: it is the scheme of URIs, a package in every language that has a template, and a world in WIT.

/// Nobody wants to type more.
const MAX_NAME: usize = 40;
/// Schemes that have a meaning of their own.
const SCHEMES: [&str; 8] = ["wharf", "file", "http", "https", "data", "ws", "wss", "urn"];
/// Who keeps which words for itself. A project may change its language, so none of them is a name in any.
const RESERVED: [(&str, &str); 12] = [
    (
        "Rust",
        "abstract alloc as async await become box break const continue core crate do dyn else enum extern false final fn for gen if impl \
         in let loop macro match mod move mut override priv proc-macro pub ref return self std static struct super test trait true try \
         type typeof unsafe unsized use virtual where while wit-bindgen yield",
    ),
    (
        "JavaScript",
        "arguments case catch class debugger default delete eval export extends finally function import instanceof new null switch this \
         throw undefined var void with",
    ),
    (
        "TypeScript",
        "any boolean declare implements interface module namespace never number package private protected public string symbol unknown",
    ),
    ("Python", "and assert def del elif except from global is lambda nonlocal not or pass raise"),
    ("Go", "chan defer fallthrough func go goto init main map range select"),
    ("C", "auto char double float inline int long register restrict short signed sizeof union unsigned volatile"),
    (
        "C++",
        "alignas alignof bool concept constexpr decltype explicit friend mutable noexcept nullptr operator requires template thread typeid \
         typename using",
    ),
    (
        "Zig",
        "align allowzero anyframe anytype asm comptime errdefer error noalias nosuspend opaque orelse packed resume suspend unreachable usingnamespace",
    ),
    ("AssemblyScript", "abort idof memory"),
    (
        "WIT",
        "borrow constructor f32 f64 flags future include list option own record resource result s16 s32 s64 s8 stream tuple u16 u32 u64 u8 \
         variant world",
    ),
    ("Windows", "aux con nul prn"),
    ("every template", "app bindings content local provider"),
];

pub(super) fn parse(name: &str) -> Result<String, String> {
    // As WIT has it: words of letters and digits that begin with a letter, with one `-` between them.
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if name.len() > MAX_NAME || !name.split('-').all(is_word) {
        return Err(format!(
            "a name is 1 to {MAX_NAME} small letters, digits and `-`, begins with a letter, has a letter after each `-`, and does not end with one"
        ));
    }
    if SCHEMES.contains(&name) {
        return Err(format!("`{name}:` is a scheme with a meaning of its own: choose another name, such as my-{name}"));
    }
    let keeper = RESERVED.iter().find(|(_, words)| words.split_whitespace().any(|word| word == name));
    match keeper {
        Some((keeper, _)) => Err(format!("`{name}` is a word that {keeper} keeps for itself: choose another name, such as my-{name}")),
        None => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use wit_bindgen_core::wit_parser::Resolve;

    use super::*;

    /// Whether a package and a world can be called so.
    fn is_in_wit(name: &str) -> bool {
        Resolve::default().push_source("world.wit", &format!("package local:{name};\nworld {name} {{}}\n")).is_ok()
    }

    #[test]
    fn a_name_that_is_no_scheme_or_no_package_is_refused_with_the_rule() {
        for name in ["hello", "a", "my-notes2", "a1-b2"] {
            assert_eq!(parse(name).as_deref(), Ok(name));
            assert!(is_in_wit(name), "{name}");
        }
        for name in ["", "Hello", "2notes", "-a", "a-", "a--b", "a-2", "a_b", "a.b", "a b", "ä", &"a".repeat(MAX_NAME + 1)] {
            assert!(parse(name).unwrap_err().contains("begins with a letter"), "{name}");
        }
        assert!(parse("wharf").unwrap_err().contains("my-wharf"));
    }

    #[test]
    fn a_word_that_any_language_keeps_is_refused_with_who_keeps_it() {
        for (name, keeper) in
            [("match", "Rust"), ("lambda", "Python"), ("chan", "Go"), ("comptime", "Zig"), ("record", "WIT"), ("nul", "Windows")]
        {
            let said = parse(name).unwrap_err();
            assert!(said.contains(keeper) && said.contains(&format!("my-{name}")), "{said}");
        }
    }

    #[test]
    fn what_wit_keeps_is_refused() {
        let words = "use type func u8 u16 u32 u64 s8 s16 s32 s64 f32 f64 char resource own borrow record flags variant enum bool string \
                     option result future stream list as from static interface tuple world import export package constructor include \
                     with async";
        for word in words.split_whitespace().filter(|word| !is_in_wit(word)) {
            assert!(parse(word).is_err(), "{word}");
        }
    }
}
