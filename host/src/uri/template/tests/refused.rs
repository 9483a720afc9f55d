//! Templates that cannot be matched, and what is said of them.

use super::*;

#[test]
fn a_template_that_cannot_be_matched_is_refused_by_name() {
    use TemplateError::*;
    let ambiguous = |a: &str, b: &str| Ambiguous(a.into(), b.into());
    for (template, error) in [
        ("x://{a", Unbalanced),
        ("x://a}", Unbalanced),
        ("x://{a{b}}", Unbalanced),
        ("x://{a}{b}", ambiguous("a", "b")),
        ("x://{a}-{b}", ambiguous("a", "b")),
        ("x://{a}.{b}", ambiguous("a", "b")),
        ("x://{a}%2F{b}", ambiguous("a", "b")),
        ("x://{a}{+b}", ambiguous("a", "b")),
        ("x://{+a}{b}", ambiguous("a", "b")),
        ("x://{+a}.{b}", ambiguous("a", "b")),
        ("x://{a}{.b*}", ambiguous("a", "b")),
        ("x://a{/a*}{b}", ambiguous("a", "b")),
        ("x://{a}{.b}{c}", ambiguous("b", "c")),
        ("x://a?{a}{b}", ambiguous("a", "b")),
        ("x://a#{a}{b}", ambiguous("a", "b")),
        ("x://{+a}/{+b}", TwoLong("a".into(), "b".into())),
        ("x://{+a}/b{/c*}", TwoLong("a".into(), "c".into())),
        ("x://a{/a*,b*}", TwoLong("a".into(), "b".into())),
        ("x://{+a}#{+b}", TwoLong("a".into(), "b".into())),
        ("x://{a}/{a}", Twice("a".into())),
        ("x://{a}{?b,a}", Twice("a".into())),
        ("x://{;a}", Operator(";a".into())),
        ("x://{=a}", Operator("=a".into())),
        ("x://{|a}", Operator("|a".into())),
        ("x://{a:3}", Prefix("a:3".into())),
        ("x://{+a:3}", Prefix("+a:3".into())),
        ("x://{a*}", Explode("a*".into())),
        ("x://{+a*}", Explode("+a*".into())),
        ("x://a{#a*}", Explode("#a*".into())),
        ("x://{+a,b}", Several("+a,b".into())),
        ("x://a{#a,b}", Several("#a,b".into())),
        ("x://{}", Name(String::new())),
        ("x://{?}", Name("?".into())),
        ("x://{a,}", Name("a,".into())),
        ("x://{a b}", Name("a b".into())),
        ("x://{a%20b}", Name("a%20b".into())),
        ("x://{a..b}", Name("a..b".into())),
        ("x://{a**}", Name("a**".into())),
        ("x://{é}", Name("é".into())),
        ("x://a b/{c}", Literal(' ')),
        ("x://é", Literal('é')),
        ("x://a\\b", Literal('\\')),
        ("x://50%{a}", Percent),
        ("x://%4", Percent),
        ("{scheme}://a", NoScheme),
        ("{+uri}", NoScheme),
        ("a/{b}", NoScheme),
        ("x?y:{b}", NoScheme),
        ("", NoScheme),
        ("x://a/[b]", NoUri("it has a character that must be percent-encoded")),
        ("x://a#b#c", NoUri("it has two `#`")),
    ] {
        assert_eq!(Template::parse(template), Err(error), "{template}");
    }
}

#[test]
fn what_stands_in_the_wrong_place_is_refused_by_name() {
    for (template, piece, what_to_do) in [
        ("x://a?b=1{?c}", "{?c}", "write {&…}"),
        ("x://a{&c}", "{&c}", "write {?…}"),
        ("x://a{?b}{&c}", "{&c}", "as in {?a,b}"),
        ("x://a{?b}{?c}", "{?c}", "as in {?a,b}"),
        ("x://a?b=1{&c}{&d}", "{&d}", "as in {?a,b}"),
        ("x://a{?b}&c=1", "&c=1", "as in ?x=1{&v}"),
        ("x://a{?b}/{c}", "/", "as in ?x=1{&v}"),
        ("x://a{?b}{c}", "{c}", "as in ?x=1{&v}"),
        ("x://a{#b}c", "c", "move it"),
        ("x://a{#b}{c}", "{c}", "move it"),
        ("x://a{#b}{?c}", "{?c}", "move it"),
        ("x://a#b{?c}", "{?c}", "move it"),
        ("x://a#b{#c}", "{#c}", "write {+v}"),
        ("x://a?b={+c}{&d}", "{&d}", "without the +"),
    ] {
        let Err(TemplateError::Misplaced(named, why)) = Template::parse(template) else { panic!("{template}") };
        assert_eq!(named, piece, "{template}");
        assert!(why.contains(what_to_do), "{template}: {why}");
    }
}

#[test]
fn messages_say_what_to_change() {
    for (template, message) in [
        ("x://{a}-{b}", "between {a} and {b} there must be a character that no value can hold, such as /"),
        ("x://{a:3}", "{a:3} cannot be matched, since a URI holds only the beginning of the value: leave out the colon and the number"),
        ("x://a{?b}{&c}", "{&c} comes after another {?…} or {&…}: name all variables in one, as in {?a,b}"),
        ("x://{a}/{a}", "the variable a comes twice: give one of them another name"),
    ] {
        assert_eq!(Template::parse(template).unwrap_err().to_string(), message);
    }
}

#[test]
fn long_templates_and_many_variables_are_refused() {
    let many = |n: usize| format!("x://{}", (0..n).map(|n| format!("{{v{n}}}/")).collect::<String>());
    assert!(Template::parse(&many(TEMPLATE_VARIABLES)).is_ok());
    assert_eq!(Template::parse(&many(TEMPLATE_VARIABLES + 1)), Err(TemplateError::TooManyVariables));
    assert_eq!(Template::parse(&many(1000)), Err(TemplateError::TooManyVariables));
    let names: Vec<_> = (0..=TEMPLATE_VARIABLES).map(|n| format!("v{n}")).collect();
    assert_eq!(Template::parse(&format!("x://a{{?{}}}", names.join(","))), Err(TemplateError::TooManyVariables));
    assert!(Template::parse(&format!("x://{}", "a".repeat(TEMPLATE_BYTES - 4))).is_ok());
    assert_eq!(Template::parse(&format!("x://{}", "a".repeat(TEMPLATE_BYTES - 3))), Err(TemplateError::TooLong));
}
