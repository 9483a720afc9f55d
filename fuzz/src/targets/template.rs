//! A template on the first line, a URI on the second.

use wharf::uri::{self, template::Template};

pub fn run(data: &[u8]) {
    let Some((template, uri)) = super::line_and_rest(data) else { return };
    let Ok(template) = Template::parse(template) else { return };
    let Some(values) = template.matches(uri) else { return };
    // Values that cannot be written back are no promise; what is written must be the URI that was read, or one that reads as the same.
    let Ok(written) = template.expand(&values) else { return };
    assert_eq!(template.matches(&written).as_ref(), Some(&values), "{uri:?} was written as {written:?}");
    assert!(uri::check(uri).is_err() || uri::check(&written).is_ok(), "{written:?} is no URI");
}
