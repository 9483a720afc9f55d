//! What this provider has to say. There is no WebAssembly in this file: `cargo test` tests it on your own machine.

/// What `{{scheme}}://sentence` holds. Change it and save while `wharf dev` runs: whoever is subscribed reads the new one.
pub const SENTENCE: &str = "The tide is coming in.";

/// What `{{scheme}}://greeting/{name}` holds.
pub fn greeting(name: &str) -> String {
    format!("Hello, {name}!")
}

/// What `{{scheme}}://seconds` holds: for how long somebody has been subscribed to it.
#[derive(Default)]
pub struct Seconds(u32);

impl Seconds {
    /// One more has passed.
    pub fn tick(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    pub fn text(&self) -> String {
        match self.0 {
            1 => "1 second".into(),
            seconds => format!("{seconds} seconds"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_has_the_name_in_it() {
        assert_eq!(greeting("Ada"), "Hello, Ada!");
    }

    #[test]
    fn seconds_are_counted() {
        let mut seconds = Seconds::default();
        assert_eq!(seconds.text(), "0 seconds");
        seconds.tick();
        assert_eq!(seconds.text(), "1 second");
    }
}
