//! One part of a URI, such as its path: literals with variables between them.
//!
//! Invariant: after [`Section::settle`], each variable but the pivot ends, on the side of the pivot, at a character that its values cannot hold;
//! so there is one way to read a text, if any, and it is found without a second try.

use super::{Alphabet, TemplateError, Variable};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// What comes before the first variable.
    prefix: String,
    /// Each variable, with the literal after it.
    slots: Vec<Slot>,
    /// Those after it are read from the end, those before it from the beginning; it gets the rest.
    pivot: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    variable: usize,
    alphabet: Alphabet,
    /// Any number of values, with this before each.
    list: Option<char>,
    literal: String,
    /// Where the literal falls in two: what could belong to the value that ends there as well, and the rest, which could not. Before the
    /// pivot that is the value before the literal, so the soft part comes first; after it, the other way round.
    cut: usize,
}

impl Slot {
    /// Whether it takes as many segments as there are.
    fn is_long(&self) -> bool {
        self.list.is_some() || self.alphabet == Alphabet::Path
    }
}

impl Section {
    /// What a text must begin with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn push_literal(&mut self, text: &str) {
        self.slots.last_mut().map_or(&mut self.prefix, |slot| &mut slot.literal).push_str(text);
    }

    pub fn push_variable(&mut self, variable: usize, alphabet: Alphabet, list: Option<char>) {
        self.slots.push(Slot { variable, alphabet, list, literal: String::new(), cut: 0 });
    }

    /// A variable that takes several segments.
    pub fn long_variable(&self) -> Option<usize> {
        self.slots.iter().find(|slot| slot.is_long()).map(|slot| slot.variable)
    }

    /// How many times this byte, which no value here can hold, is in the text.
    pub fn count(&self, byte: u8) -> usize {
        let in_literals = self.slots.iter().flat_map(|slot| slot.literal.bytes()).filter(|own| *own == byte).count();
        self.prefix.bytes().filter(|own| *own == byte).count() + in_literals
    }

    /// Finds the pivot.
    ///
    /// # Errors
    /// The two variables that cannot be told apart.
    pub fn settle(&mut self, variables: &[Variable]) -> Result<(), TemplateError> {
        let gaps = self.slots.len().saturating_sub(1);
        let from_the_left = (0..gaps).take_while(|gap| self.ends_before(*gap)).count();
        self.pivot = self.slots.iter().position(Slot::is_long).unwrap_or(from_the_left);
        for gap in 0..gaps {
            let is_clear = if gap < self.pivot { self.ends_before(gap) } else { self.ends_after(gap) };
            if !is_clear {
                let name = |slot: &Slot| variables[slot.variable].name.clone();
                return Err(TemplateError::Ambiguous(name(&self.slots[gap]), name(&self.slots[gap + 1])));
            }
            let literal = &self.slots[gap].literal;
            self.slots[gap].cut = if gap < self.pivot {
                self.slots[gap].alphabet.run(literal)
            } else {
                literal.len() - self.slots[gap + 1].alphabet.run_back(literal)
            };
        }
        Ok(())
    }

    /// Whether the value before this gap ends in it, read from the left.
    fn ends_before(&self, gap: usize) -> bool {
        let (slot, next) = (&self.slots[gap], &self.slots[gap + 1]);
        let ends_at = |byte: u8| !slot.alphabet.holds(byte);
        // A list that follows is the pivot: what comes after it is read before this is, so it begins with its sign or there is nothing.
        slot.list.is_none()
            && (slot.literal.bytes().any(ends_at) || next.list.and_then(|sign| u8::try_from(sign).ok()).is_some_and(ends_at))
    }

    /// Whether the value after this gap ends in it, read from the right.
    fn ends_after(&self, gap: usize) -> bool {
        let (slot, next) = (&self.slots[gap], &self.slots[gap + 1]);
        next.list.is_none() && slot.literal.bytes().any(|byte| !next.alphabet.holds(byte))
    }

    /// Reads a text, and adds the variables found in it in their order.
    pub fn matches(&self, text: &str, found: &mut Vec<(usize, String)>) -> Option<()> {
        let mut rest = text.strip_prefix(&*self.prefix)?;
        let Some(last) = self.slots.last() else { return rest.is_empty().then_some(()) };
        rest = rest.strip_suffix(&*last.literal)?;
        let mut after = Vec::with_capacity(self.slots.len() - 1 - self.pivot);
        for gap in (self.pivot..self.slots.len() - 1).rev() {
            let (slot, next) = (&self.slots[gap], &self.slots[gap + 1]);
            let (hard, soft) = slot.literal.split_at(slot.cut);
            let (before, run) = rest.split_at(rest.len() - next.alphabet.run_back(rest));
            after.push(run.strip_prefix(soft)?);
            rest = before.strip_suffix(hard)?;
        }
        for slot in &self.slots[..self.pivot] {
            let (soft, hard) = slot.literal.split_at(slot.cut);
            let (run, behind) = rest.split_at(slot.alphabet.run(rest));
            found.push((slot.variable, slot.alphabet.read(run.strip_suffix(soft)?)?));
            rest = behind.strip_prefix(hard)?;
        }
        let pivot = &self.slots[self.pivot];
        match pivot.list {
            None => found.push((pivot.variable, pivot.alphabet.read(rest)?)),
            Some(_) if rest.is_empty() => {}
            Some(sign) => {
                for value in rest.strip_prefix(sign)?.split(sign) {
                    found.push((pivot.variable, pivot.alphabet.read(value)?));
                }
            }
        }
        for (slot, value) in self.slots[self.pivot + 1..].iter().zip(after.into_iter().rev()) {
            found.push((slot.variable, slot.alphabet.read(value)?));
        }
        Some(())
    }

    /// Writes it with these values, which are one list for each variable of the template.
    pub fn expand(&self, values: &[Vec<&str>], out: &mut String) {
        out.push_str(&self.prefix);
        for slot in &self.slots {
            for value in &values[slot.variable] {
                out.extend(slot.list);
                slot.alphabet.write(value, out);
            }
            out.push_str(&slot.literal);
        }
    }
}
