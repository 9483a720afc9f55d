//! One entry in one file of an agent: printed, written, taken out.
//!
//! Invariants: another server of the same name is never touched; what is shown of a change is the entry as this host writes it, so that
//! nothing else of the file is.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    super::output,
    clients::{Client, Scope},
    file::{ClientFile, Keep},
    format::{self, At},
    server::Server,
};

/// What was done, for people and programs.
pub(super) struct Outcome {
    client: &'static Client,
    scope: Scope,
    file: PathBuf,
    /// One word.
    done: &'static str,
    /// The configuration, or what came and went.
    lines: Vec<String>,
    backup: Option<PathBuf>,
    pub notes: Vec<String>,
}

/// One entry in one file.
pub(super) struct Job<'a> {
    pub client: &'static Client,
    pub scope: Scope,
    pub name: &'a str,
    /// Where the host serves, by which an entry is known as this one's.
    pub url: &'a str,
}

impl Job<'_> {
    fn outcome(&self, file: PathBuf, done: &'static str) -> Outcome {
        let note = self.client.note.filter(|_| self.scope == Scope::Project && matches!(done, "written" | "printed"));
        Outcome {
            client: self.client,
            scope: self.scope,
            file,
            done,
            lines: Vec::new(),
            backup: None,
            notes: note.map(Into::into).into_iter().collect(),
        }
    }

    /// What would go where.
    pub(super) fn print(&self, path: PathBuf, server: &Server) -> Result<Outcome> {
        // Where the entry goes can depend on what the file has.
        let text = ClientFile::read(path.clone()).ok().and_then(|file| file.text().map(String::from)).unwrap_or_default();
        let says = self.client.format.parse(&text).unwrap_or_default();
        let at = self.client.path(&says);
        let entry = server.entry(self.name, self.client.shape(server));
        let mut outcome = self.outcome(path, "printed");
        outcome.lines = lines(&self.client.format.document(At { path: &at, name: self.name }, &entry)?);
        if says.as_object().is_some_and(|fields| !fields.is_empty()) {
            outcome.notes.push("the file is there already: --write puts this into it, and keeps the rest".into());
        }
        Ok(outcome)
    }

    /// Puts the entry in.
    ///
    /// # Errors
    /// The file cannot be read or changed, or has another server of this name.
    pub(super) fn write(&self, path: PathBuf, server: &Server) -> Result<Outcome> {
        let (client, name) = (self.client, self.name);
        let file = ClientFile::read(path)?;
        let text = file.text().unwrap_or_default();
        let says = self.parse(&file, text)?;
        let path = client.path(&says);
        let at = At { path: &path, name };
        let old = format::get(&says, at);
        let known = old.and_then(Server::read);
        if old.is_some() && !known.as_ref().is_some_and(|known| known == server || known.is_ours(name, self.url)) {
            bail!("{} has another server named {name}; choose another name with --name, such as --name {name}-2", file.path.display());
        }
        let entry = server.entry(name, client.shape(server));
        let new = client.format.insert(text, at, &entry).with_context(|| file.path.display().to_string())?;
        let mut outcome = self.outcome(file.path.clone(), if new == text { "unchanged" } else { "written" });
        outcome.notes.extend(strict(client, &new));
        if new != text {
            // As it was before this host came: that is what --remove goes back to.
            let earlier = known.as_ref().zip(file.backup()).is_some_and(|(known, backup)| {
                let old = known.entry(name, client.shape(known));
                client.format.lacks(&backup, at) && client.format.insert(&backup, at, &old).is_ok_and(|made| made == text)
            });
            outcome.backup = file.replace(&new, if earlier { Keep::Earlier } else { Keep::This })?;
            outcome.lines.push(format!("@@ line {} @@", first_change(text, &new)));
            if let Some(known) = known {
                let piece = client.format.piece(at, &known.entry(name, client.shape(&known)));
                outcome.lines.extend(piece.lines().map(|line| format!("- {line}")));
            }
            outcome.lines.extend(client.format.piece(at, &entry).lines().map(|line| format!("+ {line}")));
        }
        Ok(outcome)
    }

    /// Takes the entry out.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(super) fn remove(&self, path: PathBuf) -> Result<Outcome> {
        let (client, name) = (self.client, self.name);
        let file = ClientFile::read(path)?;
        let text = file.text().unwrap_or_default();
        let says = self.parse(&file, text)?;
        let path = client.path(&says);
        let at = At { path: &path, name };
        let Some(old) = format::get(&says, at) else { return Ok(self.outcome(file.path, "absent")) };
        let Some(known) = Server::read(old).filter(|known| known.is_ours(name, self.url)) else {
            bail!("{} has another server named {name}: it stays. If it is a host of yours, give its --url", file.path.display());
        };
        let entry = known.entry(name, client.shape(&known));
        let without = client.format.remove(text, at, &entry, file.backup().as_deref()).with_context(|| file.path.display().to_string())?;
        let mut outcome = self.outcome(file.path.clone(), "removed");
        outcome.lines.push(format!("@@ line {} @@", first_change(text, without.as_deref().unwrap_or_default())));
        outcome.lines.extend(client.format.piece(at, &entry).lines().map(|line| format!("- {line}")));
        match without {
            Some(without) => outcome.backup = file.replace(&without, Keep::This)?,
            None => {
                file.delete()?;
                outcome.notes.push("the file is gone: it had nothing else".into());
            }
        }
        Ok(outcome)
    }

    fn parse(&self, file: &ClientFile, text: &str) -> Result<Value> {
        let read = self.client.format.parse(text);
        read.with_context(|| format!("{} cannot be read, and was not changed; mend it first", file.path.display()))
    }
}

/// The first line in which these differ, from 1.
fn first_change(old: &str, new: &str) -> usize {
    old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count() + 1
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(Into::into).collect()
}

/// Said of a file that this client does not read, whatever this did.
fn strict(client: &Client, text: &str) -> Option<String> {
    let wrong = client.format == format::Format::Json && !client.comments && !format::is_strict_json(text);
    wrong.then(|| format!("the file has comments or trailing commas, which {} is not known to read", client.name))
}

impl Outcome {
    /// Prints it.
    pub(super) fn say(self, json: bool) -> Result<()> {
        let Self { client, scope, file, done, lines, backup, notes } = self;
        if json {
            let text = lines.join("\n");
            let text = if done == "printed" {
                json!({ "configuration": text + "\n", "language": client.format.language() })
            } else {
                json!({ "diff": lines })
            };
            let mut all =
                json!({ "client": client.id, "scope": scope.as_str(), "file": file, "done": done, "backup": backup, "notes": notes });
            if let (Value::Object(all), Value::Object(text)) = (&mut all, text) {
                all.extend(text);
            }
            return output::json(&all);
        }
        let (name, scope, shown) = (client.name, scope.as_str(), file.display());
        match done {
            // The configuration alone is the answer.
            "printed" => output::say(&format!("{name}, {scope}: this goes into {shown}, or say --write")),
            "unchanged" => output::lines([format!("{name}, {scope}: {shown} has it already")])?,
            "absent" => output::lines([format!("{name}, {scope}: {shown} does not have it")])?,
            _ => output::lines([format!("{name}, {scope}: {done} in {shown}")])?,
        }
        output::lines(lines)?;
        if let Some(backup) = backup {
            output::lines([format!("as it was: {}", backup.display())])?;
        }
        for note in notes {
            output::say(&format!("note: {note}"));
        }
        Ok(())
    }
}
