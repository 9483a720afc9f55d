// Package content is what this provider has to say. There is no WebAssembly here: `make test` tests it on your own machine.
package content

import "fmt"

// Sentence is what `{{scheme}}://sentence` holds. Change it and save while `wharf dev` runs: whoever is subscribed reads the new one.
const Sentence = "The tide is coming in."

// Greeting is what `{{scheme}}://greeting/{name}` holds.
func Greeting(name string) string { return "Hello, " + name + "!" }

// Seconds is what `{{scheme}}://seconds` holds: for how long somebody has been subscribed to it.
func Seconds(n int) string {
	if n == 1 {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", n)
}
