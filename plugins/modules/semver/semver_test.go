package semver

import "testing"

func parsed(t *testing.T, text string) Version {
	v, ok := Parse(text)
	if !ok {
		t.Fatalf("%s is not understood", text)
	}
	return v
}

func TestVersionsAreOrderedAsTheSpecificationSays(t *testing.T) {
	// The example of section 11, and Go's pseudo-versions.
	order := []string{
		"v0.0.0-20240102030405-abcdefabcdef", "0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
		"1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "v1.2.0", "v1.10.0+incompatible", "2.0.0",
	}
	for i := range order {
		for j := range order {
			got := Compare(parsed(t, order[i]), parsed(t, order[j]))
			if want := min(max(i-j, -1), 1); got != want {
				t.Errorf("%s and %s: %d, not %d", order[i], order[j], got, want)
			}
		}
	}
}

func TestRelationsFollowTheCaret(t *testing.T) {
	for _, c := range []struct {
		a, b, what string
		compatible bool
	}{
		{"1.2.3", "v1.2.3", "same", true},
		{"1.2.3", "1.2.4", "patch", true},
		{"1.2.3", "1.9.0", "minor", true},
		{"1.2.3", "2.0.0", "major", false},
		{"0.2.3", "0.3.0", "minor", false},
		{"0.2.3", "0.2.9", "patch", true},
		{"0.0.3", "0.0.4", "patch", false},
		{"1.0.0-rc.1", "1.0.0", "pre-release", false},
	} {
		what, compatible := Relation(parsed(t, c.a), parsed(t, c.b))
		if what != c.what || compatible != c.compatible {
			t.Errorf("%s and %s: %s, %v", c.a, c.b, what, compatible)
		}
	}
}

func TestWhatIsNoVersionIsNotUnderstood(t *testing.T) {
	for _, text := range []string{"", "1", "1.2", "v1.2.x", "latest", "1.2.3.4"} {
		if _, ok := Parse(text); ok {
			t.Error(text)
		}
	}
	if note := parsed(t, "v0.0.0-20240102030405-abcdefabcdef").Note; note != "a commit without a version (pseudo-version)" {
		t.Error(note)
	}
}
