//! URI templates on templates and URIs made to be slow: `cargo bench -p wharf --bench template`.
//!
//! Each case runs at three sizes, 16 times apart from the first to the last. Matching is linear, so the time for a byte stays what it is, or
//! falls as what is done once weighs less. A reader that tries again would show 16 times as much for a byte in the last column.
#![allow(clippy::expect_used)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use wharf::uri::template::{TEMPLATE_BYTES, TEMPLATE_VARIABLES, Template};

/// Bytes of the longest URI; templates have as many at most.
const LONGEST: usize = TEMPLATE_BYTES;
/// Long enough for a clock with a resolution of microseconds, and short enough to run all in some seconds.
const MEASURED_FOR: Duration = Duration::from_millis(20);
/// The best of so many counts: what disturbs a measurement only adds to it.
const ROUNDS: usize = 5;

/// A case at one size: what is read, and how many bytes of template and URI that is.
struct Case {
    bytes: usize,
    run: Box<dyn Fn() -> bool>,
}

fn main() {
    let sizes = [LONGEST / 16, LONGEST / 4, LONGEST];
    println!("{:<64}{:>8} | ns for each byte of template and URI, at", "", "matches");
    println!("{:<64}{:>8} | {}", "", "", sizes.map(|size| format!("{size:>8}")).join(" "));
    for (name, case) in cases() {
        let row = sizes.map(case);
        let per_byte = row.each_ref().map(|case| format!("{:>8.2}", time(&case.run) / bytes(case)));
        println!("{name:<64}{:>8} | {}", (row[2].run)(), per_byte.join(" "));
    }
    misses();
}

#[allow(clippy::cast_precision_loss)]
fn bytes(case: &Case) -> f64 {
    case.bytes as f64
}

/// Nanoseconds of one run.
fn time(run: &dyn Fn() -> bool) -> f64 {
    let round = || {
        let (began, mut count) = (Instant::now(), 0_u32);
        while began.elapsed() < MEASURED_FOR {
            black_box(run());
            count += 1;
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(count)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

type Make = fn(usize) -> Case;

fn cases() -> [(&'static str, Make); 15] {
    [
        ("{a}/{b}: one long run without the /", |size| matches("x:{a}/{b}", fill("x:", "a", size))),
        ("{a}: all of it percent triplets", |size| matches("x:{a}", fill("x:", "%41", size))),
        ("{a}: a broken triplet at the end", |size| matches("x:{a}", fill("x:", "%41", size - 1) + "%")),
        ("{+a}/at/{b}: the literal again and again", |size| matches("x:{+a}/at/{b}", fill("x:", "/at", size - 2) + "/1")),
        ("{+a}/at/{b}/at/{c}: likewise, and no match at the end", |size| matches("x:{+a}/at/{b}/at/{c}", fill("x:", "/at", size))),
        ("{+a}: .. in the last segment", |size| matches("x:{+a}", fill("x:", "a/", size - 2) + "..")),
        ("{a}{/b*}/{c}: segments of one character", |size| matches("x:{a}{/b*}/{c}", fill("x:a", "/b", size))),
        ("{/b*}: %2F in the last segment", |size| matches("x:{/b*}", fill("x:", "/b", size - 4) + "/%2F")),
        ("{a}{.b}: dots only", |size| matches("x:{a}{.b}", fill("x:a", ".", size - 1) + "b")),
        ("{?a*}: pairs of three characters", |size| matches("x:{?a*}", fill("x:?a=", "&a=", size))),
        ("256 of {v}a/: each value ends like the literal after it", |size| {
            let count = variables(size);
            let uri = format!("x:{}", format!("{}/", "a".repeat(size / count - 2)).repeat(count));
            matches(&format!("x:{}", list(count, |n| format!("{{v{n:x}}}a/"))), uri)
        }),
        ("256 of /{v} after {+a}: no / but one at the end", |size| {
            matches(&format!("x:{{+a}}{}", list(variables(size) - 1, |n| format!("/{{v{n:x}}}"))), fill("x:", "a", size - 2) + "/a")
        }),
        ("{?v0,v1,…}: 256 pairs, the last first", |size| {
            let count = variables(size);
            let pairs: Vec<_> = (0..count).rev().map(|n| format!("v{n:x}={}", "a".repeat(size / count - 5))).collect();
            matches(&format!("x:{{?{}}}", names(count)), format!("x:?{}", pairs.join("&")))
        }),
        ("parse: 256 of {v}a/", |size| parse(list(variables(size), |n| format!("{{v{n:x}}}{}/", "a".repeat(24))))),
        ("parse: { only", |size| parse("{".repeat(size - 2))),
    ]
}

fn variables(size: usize) -> usize {
    TEMPLATE_VARIABLES * size / LONGEST
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect()
}

fn names(count: usize) -> String {
    (0..count).map(|n| format!("v{n:x}")).collect::<Vec<_>>().join(",")
}

/// As often as it fits into the size.
fn fill(begin: &str, again: &str, size: usize) -> String {
    begin.to_owned() + &again.repeat((size - begin.len()) / again.len())
}

fn matches(template: &str, uri: String) -> Case {
    let bytes = template.len() + uri.len();
    let template = Template::parse(template).expect("it can be matched");
    Case { bytes, run: Box::new(move || template.matches(black_box(&uri)).is_some()) }
}

fn parse(rest: String) -> Case {
    let text = format!("x:{rest}");
    Case { bytes: text.len(), run: Box::new(move || Template::parse(black_box(&text)).is_ok()) }
}

/// What a lookup costs in templates that have nothing to do with the URI.
fn misses() {
    for count in [1, 100, 10_000] {
        let templates: Vec<_> =
            (0..count).map(|n| Template::parse(&format!("x://provider-{n}/{{+path}}{{?a,b}}")).expect("it can be matched")).collect();
        let uri = "x://other/notes/2026/11/30?a=1";
        let nanoseconds = time(&|| templates.iter().any(|template| template.matches(black_box(uri)).is_some()));
        println!("a lookup that misses {count} templates: {:.1} ns for each", nanoseconds / f64::from(count));
    }
}
