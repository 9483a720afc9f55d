use super::*;

fn headers(name: HeaderName, values: &[&str]) -> HeaderMap {
    values.iter().map(|value| (name.clone(), HeaderValue::from_bytes(value.as_bytes()).unwrap())).collect()
}

#[test]
fn accept_refuses_only_what_it_excludes() {
    let both = ["application/json", "text/event-stream"];
    for (values, taken) in [
        (&[][..], true),
        (&["application/json, text/event-stream"], true),
        (&["application/json"], true),
        (&["TEXT/Event-Stream;q=0.5"], true),
        (&["text/html", "*/*;q=0.1"], true),
        (&["application/*"], true),
        (&["text/html"], false),
        (&["application/json;q=0, text/event-stream; q=0.0"], false),
        (&["application/jsonp"], false),
        (&[""], false),
    ] {
        assert_eq!(accepts(&headers(header::ACCEPT, values), &both), taken, "{values:?}");
    }
    assert!(!accepts(&headers(header::ACCEPT, &["application/json"]), &["text/event-stream"]));
}

#[test]
fn content_type_is_json_whatever_its_case_and_parameters() {
    for (values, taken) in [
        (&["application/json"][..], true),
        (&["Application/JSON; charset=utf-8"], true),
        (&["text/plain"], false),
        (&["application/json-rpc"], false),
        (&["application/json", "text/plain"], false),
        (&[], false),
    ] {
        assert_eq!(is_json(&headers(header::CONTENT_TYPE, values)), taken, "{values:?}");
    }
}

#[test]
fn a_body_in_a_content_coding_is_not_taken() {
    for (values, taken) in
        [(&[][..], true), (&["identity"], true), (&["Identity"], true), (&[""], true), (&["gzip"], false), (&["identity", "gzip"], false)]
    {
        assert_eq!(is_plain(&headers(header::CONTENT_ENCODING, values)), taken, "{values:?}");
    }
}

#[test]
fn a_header_that_contradicts_itself_or_is_not_in_ascii_is_garbled() {
    assert_eq!(said(&headers(NAME, &[]), &NAME), Said::Nothing);
    assert_eq!(said(&headers(NAME, &[" a b\t"]), &NAME), Said::Text("a b"));
    assert_eq!(said(&headers(NAME, &["a", "a", "a"]), &NAME), Said::Text("a"));
    assert_eq!(said(&headers(NAME, &["a", "a", "b"]), &NAME), Said::Garbled);
    assert_eq!(said(&headers(NAME, &["a", "A"]), &NAME), Said::Garbled);
    assert_eq!(said(&headers(NAME, &["ü"]), &NAME), Said::Garbled);
}
