use super::{TEMPLATE_BYTES, TEMPLATE_VARIABLES};

/// Why a template is refused. Expressions are given without their braces.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Longer than [`TEMPLATE_BYTES`].
    #[error("it is longer than {TEMPLATE_BYTES} bytes")]
    TooLong,
    /// More than [`TEMPLATE_VARIABLES`].
    #[error("it has more than {TEMPLATE_VARIABLES} variables")]
    TooManyVariables,
    /// A brace without its other half.
    #[error("a brace is not closed, or was not opened")]
    Unbalanced,
    /// An operator that is not known here: `{;v}`, or one that RFC 6570 reserves.
    #[error("{{{0}}}: this operator is not supported; those that are: {{v}}, {{+v}}, {{#v}}, {{/v}}, {{.v}}, {{?v}} and {{&v}}")]
    Operator(String),
    /// What stands there is no name. RFC 6570 would allow percent triplets in one as well.
    #[error("{{{0}}}: a variable needs a name of letters, digits and _, maybe with dots between them")]
    Name(String),
    /// `{v:3}`.
    #[error("{{{0}}} cannot be matched, since a URI holds only the beginning of the value: leave out the colon and the number")]
    Prefix(String),
    /// A list where its values could not be told apart, or where nobody expects one.
    #[error("{{{0}}}: only {{/v*}}, {{.v*}}, {{?v*}} and {{&v*}} can take a list: leave out the *")]
    Explode(String),
    /// `{+a,b}` or `{#a,b}`.
    #[error("{{{0}}}: a value can hold the comma between them: write one variable only")]
    Several(String),
    /// A variable that comes twice.
    #[error("the variable {0} comes twice: give one of them another name")]
    Twice(String),
    /// Two variables that cannot be told apart.
    #[error("between {{{0}}} and {{{1}}} there must be a character that no value can hold, such as /")]
    Ambiguous(String, String),
    /// Two variables that take several segments.
    #[error("{{{0}}} and {{{1}}} could both take several segments: only one variable of a template may be a {{+v}}, {{/v*}} or {{.v*}}")]
    TwoLong(String, String),
    /// An expression or a literal where it cannot be; says what to write.
    #[error("{0} {1}")]
    Misplaced(String, &'static str),
    /// A literal character that no URI can hold.
    #[error("{0:?} cannot stand in a URI: percent-encode it")]
    Literal(char),
    /// A `%` that begins no triplet.
    #[error("a % in it is not followed by two hexadecimal digits: write %25")]
    Percent,
    /// It does not begin with a scheme, so that what it gives is no absolute URI.
    #[error("it must begin with a scheme, as in notes://{{name}}")]
    NoScheme,
    /// Whatever the values, it gives no URI; says why.
    #[error("what it gives is no URI: {0}")]
    NoUri(&'static str),
}

/// Why values give no URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The template has no such variable.
    #[error("there is no variable {0} in the template")]
    Unknown(String),
    /// A variable that must have a value has none.
    #[error("the variable {0} needs a value")]
    Missing(String),
    /// More than one value for a variable that takes no list.
    #[error("the variable {0} has more than one value")]
    Twice(String),
    /// A value outside the variable's domain; says why.
    #[error("the value of {0} cannot be used: {1}")]
    Value(String, &'static str),
    /// What comes out is no URI, or too long; says why.
    #[error("what comes out is no URI: {0}")]
    NoUri(&'static str),
}
