"""What this provider has to say. There is no WebAssembly in this file: `python3 -m unittest` tests it on your own machine."""

# What `{{scheme}}://sentence` holds. Change it and save while `wharf dev` runs: whoever is subscribed reads the new one.
SENTENCE = "The tide is coming in."


def greeting(name):
    """What `{{scheme}}://greeting/{name}` holds."""
    return f"Hello, {name}!"


class Seconds:
    """What `{{scheme}}://seconds` holds: for how long somebody has been subscribed to it."""

    def __init__(self):
        self.passed = 0

    def tick(self):
        """One more has passed."""
        self.passed += 1

    def text(self):
        return "1 second" if self.passed == 1 else f"{self.passed} seconds"
