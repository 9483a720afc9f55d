package content

import "testing"

func TestAGreetingHasTheNameInIt(t *testing.T) {
	if got := Greeting("Ada"); got != "Hello, Ada!" {
		t.Error(got)
	}
}

func TestSecondsAreCounted(t *testing.T) {
	for n, want := range []string{"0 seconds", "1 second", "2 seconds"} {
		if got := Seconds(n); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
