//! The text of a template to a [`Template`], or to the reason why it cannot be matched.

use std::collections::HashSet;

use super::{
    Alphabet, Fragment, Pairs, Section, TEMPLATE_BYTES, TEMPLATE_VARIABLES, Template, TemplateError, Variable, alphabet::is_triplet, expand,
};
use crate::uri;

/// How far we are in the URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Path,
    /// After a literal `?`.
    Query,
    /// After `{?…}` or `{&…}`.
    Pairs,
    /// After a literal `#`.
    Fragment,
    /// After `{#v}`.
    End,
}

struct Parser<'a> {
    stage: Stage,
    template: Template,
    fragment: Section,
    seen: HashSet<&'a str>,
    /// The variable that takes several segments, if there is one.
    long: Option<usize>,
}

pub(super) fn parse(text: &str) -> Result<Template, TemplateError> {
    if text.len() > TEMPLATE_BYTES {
        return Err(TemplateError::TooLong);
    }
    let template = Template { variables: Vec::new(), path: Section::default(), query: None, pairs: None, fragment: Fragment::None };
    let mut parser = Parser { stage: Stage::Path, template, fragment: Section::default(), seen: HashSet::new(), long: None };
    let mut pieces = text.split('{');
    parser.literal(pieces.next().unwrap_or_default())?;
    for piece in pieces {
        let (expression, after) = piece.split_once('}').ok_or(TemplateError::Unbalanced)?;
        parser.expression(expression)?;
        parser.literal(after)?;
    }
    parser.finish()
}

impl<'a> Parser<'a> {
    fn literal(&mut self, text: &'a str) -> Result<(), TemplateError> {
        check_literal(text)?;
        let mut rest = text;
        while !rest.is_empty() {
            let sign = match self.stage {
                Stage::Path => rest.find(['?', '#']),
                Stage::Query | Stage::Pairs => rest.find('#'),
                Stage::Fragment | Stage::End => None,
            };
            let (own, after) = rest.split_at(sign.unwrap_or(rest.len()));
            if !own.is_empty() {
                self.section(own)?.push_literal(own);
            }
            if after.starts_with('?') {
                self.template.query = Some(Section::default());
                self.stage = Stage::Query;
            } else if after.starts_with('#') {
                self.stage = Stage::Fragment;
            }
            rest = after.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    /// Where this piece of the template belongs.
    fn section(&mut self, piece: &str) -> Result<&mut Section, TemplateError> {
        match self.stage {
            Stage::Path => Ok(&mut self.template.path),
            Stage::Query => Ok(self.template.query.get_or_insert_default()),
            Stage::Fragment => Ok(&mut self.fragment),
            Stage::Pairs => Err(TemplateError::Misplaced(
                piece.to_owned(),
                "comes after {?…} or {&…}, where only a fragment can: put what is always there first, as in ?x=1{&v}",
            )),
            Stage::End => Err(TemplateError::Misplaced(piece.to_owned(), "comes after {#v}, where nothing can: move it before that")),
        }
    }

    fn expression(&mut self, expression: &'a str) -> Result<(), TemplateError> {
        let (operator, names) = match expression.chars().next() {
            Some(sign @ ('+' | '#' | '/' | '.' | '?' | '&')) => (Some(sign), &expression[1..]),
            Some(';' | '=' | ',' | '!' | '@' | '|') => return Err(TemplateError::Operator(expression.to_owned())),
            _ => (None, expression),
        };
        let mut variables = Vec::new();
        for specification in names.split(',') {
            if specification.contains(':') {
                return Err(TemplateError::Prefix(expression.to_owned()));
            }
            let (name, exploded) = specification.strip_suffix('*').map_or((specification, false), |name| (name, true));
            if !is_name(name) {
                return Err(TemplateError::Name(expression.to_owned()));
            }
            if exploded && matches!(operator, None | Some('+' | '#')) {
                return Err(TemplateError::Explode(expression.to_owned()));
            }
            if !self.seen.insert(name) {
                return Err(TemplateError::Twice(name.to_owned()));
            }
            if self.seen.len() > TEMPLATE_VARIABLES {
                return Err(TemplateError::TooManyVariables);
            }
            let alphabet = match operator {
                None | Some('/') => Alphabet::Segment,
                Some('.') => Alphabet::Label,
                Some('+') => Alphabet::Path,
                Some('#') => Alphabet::Fragment,
                _ => Alphabet::Query,
            };
            let optional = exploded || matches!(operator, Some('#' | '?' | '&'));
            variables.push(Variable { name: name.to_owned(), alphabet, exploded, optional });
        }
        if matches!(operator, Some('+' | '#')) && variables.len() > 1 {
            return Err(TemplateError::Several(expression.to_owned()));
        }
        match operator {
            Some('?' | '&') => self.pairs(expression, variables),
            Some('#') => self.fragment_variable(expression, variables),
            _ => self.segments(expression, operator, variables),
        }
    }

    /// `{v}`, `{+v}`, `{/v}`, `{.v}`.
    fn segments(&mut self, expression: &str, operator: Option<char>, variables: Vec<Variable>) -> Result<(), TemplateError> {
        let sign = operator.filter(|sign| *sign != '+');
        let piece = format!("{{{expression}}}");
        for (number, variable) in variables.into_iter().enumerate() {
            let place = self.template.variables.len();
            let Variable { alphabet, exploded, .. } = variable;
            if (exploded || alphabet == Alphabet::Path)
                && let Some(other) = self.long.replace(place)
            {
                return Err(TemplateError::TwoLong(self.template.variables[other].name.clone(), variable.name));
            }
            let section = self.section(&piece)?;
            match sign {
                Some(sign) if !exploded => section.push_literal(sign.encode_utf8(&mut [0; 4])),
                None if number > 0 => section.push_literal(","),
                _ => {}
            }
            section.push_variable(place, alphabet, sign.filter(|_| exploded));
            self.template.variables.push(variable);
        }
        Ok(())
    }

    /// `{?a,b}`, `{&a,b}`.
    fn pairs(&mut self, expression: &str, variables: Vec<Variable>) -> Result<(), TemplateError> {
        let misplaced = |why| Err(TemplateError::Misplaced(format!("{{{expression}}}"), why));
        let begins = expression.starts_with('?');
        match self.stage {
            Stage::Path if !begins => return misplaced("comes where no query has begun: write {?…}"),
            Stage::Query if begins => return misplaced("comes where the query has begun: write {&…}"),
            Stage::Pairs => return misplaced("comes after another {?…} or {&…}: name all variables in one, as in {?a,b}"),
            Stage::Fragment | Stage::End => return misplaced("comes in the fragment: move it before the #"),
            Stage::Path | Stage::Query => {}
        }
        let query = self.template.query.as_ref();
        if let Some(long) = query.and_then(Section::long_variable)
            && self.template.variables[long].alphabet == Alphabet::Path
        {
            return misplaced("comes after a {+v} in the query, whose value can hold an &: write that one without the +");
        }
        let fixed = query.map_or(0, |query| query.count(b'&'));
        let places = self.template.variables.len()..;
        let pairs = places.zip(&variables).map(|(place, variable)| (place, variable.name.clone(), variable.exploded)).collect();
        self.template.pairs = Some(Pairs::new(pairs, fixed));
        self.template.variables.extend(variables);
        self.stage = Stage::Pairs;
        Ok(())
    }

    /// `{#v}`.
    fn fragment_variable(&mut self, expression: &str, variables: Vec<Variable>) -> Result<(), TemplateError> {
        if matches!(self.stage, Stage::Fragment | Stage::End) {
            let why = "comes where the fragment has begun: write {+v}, or leave out the #";
            return Err(TemplateError::Misplaced(format!("{{{expression}}}"), why));
        }
        self.template.fragment = Fragment::Variable(self.template.variables.len());
        self.template.variables.extend(variables);
        self.stage = Stage::End;
        Ok(())
    }

    fn finish(self) -> Result<Template, TemplateError> {
        let Self { stage, mut template, mut fragment, .. } = self;
        if !has_scheme(template.path.prefix()) {
            return Err(TemplateError::NoScheme);
        }
        template.path.settle(&template.variables)?;
        if let Some(query) = &mut template.query {
            query.settle(&template.variables)?;
        }
        if stage == Stage::Fragment {
            fragment.settle(&template.variables)?;
            template.fragment = Fragment::Fixed(fragment);
        }
        // The shortest URI it can give; what is wrong with it is wrong with all.
        let values: Vec<_> = template.variables.iter().map(|variable| if variable.optional { vec![] } else { vec!["a"] }).collect();
        uri::check(&expand::write(&template, &values)).map_err(TemplateError::NoUri)?;
        Ok(template)
    }
}

fn check_literal(text: &str) -> Result<(), TemplateError> {
    match text.chars().find(|c| !c.is_ascii_graphic() || "\"<>\\^`{|}".contains(*c)) {
        Some('}') => return Err(TemplateError::Unbalanced),
        Some(other) => return Err(TemplateError::Literal(other)),
        None => {}
    }
    let broken = text.match_indices('%').any(|(at, _)| !is_triplet(text.as_bytes(), at));
    if broken { Err(TemplateError::Percent) } else { Ok(()) }
}

/// RFC 6570 §2.3, without percent triplets.
fn is_name(name: &str) -> bool {
    name.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

/// RFC 3986 §3.1.
fn has_scheme(prefix: &str) -> bool {
    prefix.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}
