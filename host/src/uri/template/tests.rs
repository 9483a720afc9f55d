use proptest::prelude::*;

use super::*;

mod refused;
mod round_trip;

type Values = Vec<(String, String)>;

fn matched(template: &str, uri: &str) -> Option<Values> {
    Template::parse(template).unwrap_or_else(|error| panic!("{template}: {error}")).matches(uri)
}

fn values<const N: usize>(values: [(&str, &str); N]) -> Values {
    values.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

#[test]
fn a_variable_is_handed_on_decoded_once() {
    assert_eq!(matched("x://a/{name}", "x://a/caf%C3%A9%2520"), Some(values([("name", "café%20")])));
    assert_eq!(matched("x://a/{+path}", "x://a/b%2520/%252e%252e"), Some(values([("path", "b%20/%2e%2e")])));
    assert_eq!(matched("x://a{?q}", "x://a?q=%2526%26+"), Some(values([("q", "%26&+")])));
    assert_eq!(matched("x://a{#f}", "x://a#%2523"), Some(values([("f", "%23")])));
}

#[test]
fn every_operator_matches_what_it_expands_to() {
    for (template, uri, expected) in [
        ("x://fixed", "x://fixed", values([])),
        ("x://{a}/b/{c}.json", "x://1/b/2.json.json", values([("a", "1"), ("c", "2.json")])),
        ("x://{a,b}", "x://1,2", values([("a", "1"), ("b", "2")])),
        ("x://{a}:{b}@{c}", "x://1:2@3", values([("a", "1"), ("b", "2"), ("c", "3")])),
        ("file://{+path}", "file:///etc/hosts", values([("path", "/etc/hosts")])),
        ("x://r/{+path}/at/{line}", "x://r/a/at/b/at/7", values([("path", "a/at/b"), ("line", "7")])),
        ("x://r/{owner}/{+path}", "x://r/me/a/b:c@d,e", values([("owner", "me"), ("path", "a/b:c@d,e")])),
        ("proxy:{+uri}", "proxy:https://a.example//b", values([("uri", "https://a.example//b")])),
        ("x://{host}{/seg*}", "x://h/a/b%20c/d", values([("host", "h"), ("seg", "a"), ("seg", "b c"), ("seg", "d")])),
        ("x://{host}{/seg*}", "x://h", values([("host", "h")])),
        ("x://{host}{/seg*}.txt", "x://h.txt", values([("host", "h")])),
        ("x://{host}{/seg*}/raw/{rev}", "x://h/a/raw/raw/1", values([("host", "h"), ("seg", "a"), ("seg", "raw"), ("rev", "1")])),
        ("x://{host}{/seg*}/raw/{rev}", "x://h/raw/1", values([("host", "h"), ("rev", "1")])),
        ("x://a{/b,c}", "x://a/1/2", values([("b", "1"), ("c", "2")])),
        ("x://a{/b,c*}", "x://a/1/2/3", values([("b", "1"), ("c", "2"), ("c", "3")])),
        ("x://a{/b*,c}", "x://a/1/2/3", values([("b", "1"), ("b", "2"), ("c", "3")])),
        ("x://{name}{.ext}", "x://a.tar.gz", values([("name", "a.tar"), ("ext", "gz")])),
        ("x://{+path}{.ext}", "x://a.b/c.d", values([("path", "a.b/c"), ("ext", "d")])),
        ("x://a{.b,c}", "x://a.1.2", values([("b", "1"), ("c", "2")])),
        ("x://a{.b*}", "x://a.1.2", values([("b", "1"), ("b", "2")])),
        ("x://{a}{?b,c}", "x://1?b=2&c=3", values([("a", "1"), ("b", "2"), ("c", "3")])),
        ("x://{a}{?b,c}", "x://1?c=3&b=", values([("a", "1"), ("b", ""), ("c", "3")])),
        ("x://{a}{?b,c}", "x://1?c=3", values([("a", "1"), ("c", "3")])),
        ("x://{a}{?b,c}", "x://1", values([("a", "1")])),
        ("x://a{?b*,c}", "x://a?b=2&c=3&b=1", values([("b", "2"), ("b", "1"), ("c", "3")])),
        ("x://a?q={q}&r=1{&b,c}", "x://a?q=2&r=1&c=3", values([("q", "2"), ("c", "3")])),
        ("x://a?q={q}{&b}", "x://a?q=2", values([("q", "2")])),
        ("x://a?{+q}", "x://a?q=2&r=3", values([("q", "q=2&r=3")])),
        ("x://{a}{#f}", "x://1#/a/b?c", values([("a", "1"), ("f", "/a/b?c")])),
        ("x://{a}{#f}", "x://1", values([("a", "1")])),
        ("x://{a}{?b}#L{line}", "x://1?b=2#L3", values([("a", "1"), ("b", "2"), ("line", "3")])),
        ("x://{a}{?b}{#f}", "x://1#f", values([("a", "1"), ("f", "f")])),
    ] {
        assert_eq!(matched(template, uri), Some(expected), "{template} {uri}");
    }
}

#[test]
fn what_no_expansion_gives_is_no_match() {
    for (template, uris) in [
        ("x://a/{name}", &["x://a/", "x://a/b/c", "x://a/b?c", "x://a/b#c", "x://a/b:c", "x://b/c", "X://a/c", "x://a", ""][..]),
        ("x://a/{name}", &["x://a/%4", "x://a/%zz", "x://a/%ff", "x://a/%", "x://a/é", "x://a/b%00"]),
        ("x://a{/b}", &["x://a", "x://a/", "x://a/1/2", "x://ab"]),
        ("x://a{/b*}", &["x://a/", "x://a//b", "x://a/b/", "x://a/b//c", "x://ab"]),
        ("x://a{.b}", &["x://a", "x://a.", "x://a.b.c", "x://a.b%2Ec"]),
        ("x://a/{+b}", &["x://a/", "x://a", "x://a/b?c", "x://a/b#c", "x://a/b%0"]),
        ("x://a{#b}", &["x://a#", "x://a#b#c", "x://a?#b"]),
        ("x://{a}:{b}", &["x://1", "x://1:", "x://:1", "x://1:2:3"]),
        ("x://fixed", &["x://fixed/", "x://fixed?", "x://fixed#", "x://fixe"]),
    ] {
        for uri in uris {
            assert_eq!(matched(template, uri), None, "{template} {uri}");
        }
    }
}

#[test]
fn a_query_variable_is_optional_and_unordered_and_no_other_may_be_there() {
    for uri in ["?", "?a", "?a=1&", "?&a=1", "?a=1&a=2", "?c=1", "?a=1&c=1", "?A=1", "?%61=1", "?a=1?b=2#", "?a=1;b=2&b", "/?a=1"] {
        assert_eq!(matched("x://q{?a,b}", &format!("x://q{uri}")), None, "{uri}");
    }
    assert_eq!(matched("x://q{?a,b}", "x://q?b=x/y:z?=&a=../.."), Some(values([("a", "../.."), ("b", "x/y:z?=")])));
    for uri in ["x://q?b=2", "x://q?fix=2", "x://q?b=2&fix=1", "x://q?fix=1&fix=1", "x://q"] {
        assert_eq!(matched("x://q?fix=1{&b}", uri), None, "{uri}");
    }
}

#[test]
fn no_value_walks_up_or_hides_a_slash() {
    for hidden in ["..", ".", "%2e%2e", "%2E.", ".%2e", "%2e", "..%2F..", "b%2Fc", "b%2f..", "%2F", "%2e%2e%2fetc", "..%00"] {
        for template in ["x://a/{v}", "x://a{/v}", "x://a{/v*}"] {
            assert_eq!(matched(template, &format!("x://a/{hidden}")), None, "{template} {hidden}");
        }
        assert_eq!(matched("x://a{/v*}", &format!("x://a/b/{hidden}/c")), None, "{hidden}");
        assert_eq!(matched("x://a{.v}", &format!("x://a.{hidden}")), None, "{hidden}");
    }
    for hidden in
        ["..", ".", "%2e%2e", "b/..", "../b", "b/../c", "/..", "b/.", "./b", "b/%2E%2e/c", "..%2Fb", "b%2F..%2Fc", "b/..%2f", "b%00"]
    {
        assert_eq!(matched("x://a/{+v}", &format!("x://a/{hidden}")), None, "{hidden}");
        assert_eq!(matched("x://a{#v}", &format!("x://a#{hidden}")), None, "{hidden}");
    }
    assert_eq!(matched("x://a/{+v}", "x://a/...%2F..b/c.."), Some(values([("v", ".../..b/c..")])));
}

#[test]
fn what_a_long_value_cannot_hold_itself_it_holds_encoded() {
    assert_eq!(matched("file://{+path}", "file:///what%3F%23%5B1%5D"), Some(values([("path", "/what?#[1]")])));
    assert_eq!(matched("x://a{#f}", "x://a#b%23c"), Some(values([("f", "b#c")])));
}

#[test]
fn a_uri_that_is_too_long_is_no_match() {
    let uri = |length: usize| format!("x://{}", "a".repeat(length - 4));
    assert!(matched("x://{a}", &uri(uri::MAX_BYTES)).is_some());
    assert_eq!(matched("x://{a}", &uri(uri::MAX_BYTES + 1)), None);
}

#[test]
fn the_variables_are_named_in_order() {
    let template = Template::parse("x://{z}/{+a}{?c,b*}{#y}").unwrap();
    assert_eq!(template.variables().collect::<Vec<_>>(), ["z", "a", "c", "b", "y"]);
}

#[test]
fn values_that_cannot_be_expanded_are_named() {
    use ExpandError::*;
    let expand = |template: &str, assignment: &Values| Template::parse(template).unwrap().expand(assignment);
    let long = "a".repeat(uri::MAX_BYTES);
    for (template, assignment, error) in [
        ("x://{a}", values([]), Missing("a".into())),
        ("x://{a}", values([("a", "1"), ("b", "2")]), Unknown("b".into())),
        ("x://{a}", values([("a", "1"), ("a", "2")]), Twice("a".into())),
        ("x://{a}", values([("a", "")]), Value("a".into(), "it is empty")),
        ("x://{a}", values([("a", "b/c")]), Value("a".into(), "it has a `/` in it, and the template allows one segment only")),
        ("x://{a}", values([("a", "..")]), Value("a".into(), "a segment of it is `.` or `..`")),
        ("x://{a}", values([("a", "\0")]), Value("a".into(), "it has a NUL in it")),
        ("x://a{.a}", values([("a", "b.c")]), Value("a".into(), "it has a `.` in it")),
        ("x://{+a}", values([("a", "b?c")]), Value("a".into(), "it has a `?` in it, where a query would begin")),
        ("x://{+a}", values([("a", "b#c")]), Value("a".into(), "it has a `#` in it, where a fragment would begin")),
        (
            "x://{+a}",
            values([("a", "50%25")]),
            Value("a".into(), "it has a percent triplet in it, which would be read as the character it stands for"),
        ),
        ("x://b/{+a}", values([("a", "[1]")]), NoUri("it has a character that must be percent-encoded")),
        ("x://{a}", values([("a", &long)]), NoUri("it is longer than 8192 bytes")),
    ] {
        assert_eq!(expand(template, &assignment), Err(error), "{template} {assignment:?}");
    }
    assert_eq!(expand("x://{b}{?a*}", &values([("a", "1"), ("b", "é%"), ("a", "&")])), Ok("x://%C3%A9%25?a=1&a=%26".into()));
    assert_eq!(expand("x:{+a}{#b}", &values([("b", "é?"), ("a", "/é%:\u{202e}")])), Ok("x:/%C3%A9%25:%E2%80%AE#%C3%A9?".into()));
}

proptest! {
    #[test]
    fn no_template_and_no_uri_makes_it_panic(template in "(x:)?(\\{[+#/.?&;]?[a-c](\\*|,[d-f])?\\}|[a-z/%.?#&=,{}é]){0,8}", uri in "(x:)?\\PC{0,40}") {
        if let Ok(template) = Template::parse(&template) {
            let _ = template.matches(&uri);
        }
    }

    #[test]
    fn what_is_matched_is_safe_to_hand_on(uri in "x:(\\.|/|%2[eEfF]|a|%00){0,12}") {
        for template in ["x:{a}", "x:{a}/{b}", "x:{+a}", "x:{a}{/b*}", "x:{+a}{.b}"] {
            let template = Template::parse(template).unwrap();
            for (_, value) in template.matches(&uri).unwrap_or_default() {
                prop_assert!(!value.split('/').any(|segment| segment == "." || segment == "..") && !value.contains('\0') && !value.is_empty());
            }
        }
    }
}
