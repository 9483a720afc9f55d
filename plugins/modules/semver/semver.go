// Package semver says how two versions stand to each other (Semantic Versioning 2.0.0).
package semver

import (
	"cmp"
	"strconv"
	"strings"
)

// Version is a version that was understood.
type Version struct {
	major, minor, patch uint64
	pre                 string
	// What one says of it in words, "" of a plain release.
	Note string
}

// Parse takes versions with and without the `v` that Go puts before them.
func Parse(text string) (v Version, ok bool) {
	text = strings.TrimPrefix(text, "v")
	text, build, _ := strings.Cut(text, "+")
	text, v.pre, _ = strings.Cut(text, "-")
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return v, false
	}
	for at, number := range []*uint64{&v.major, &v.minor, &v.patch} {
		n, err := strconv.ParseUint(parts[at], 10, 64)
		if err != nil {
			return v, false
		}
		*number = n
	}
	switch {
	case isPseudo(v.pre):
		v.Note = "a commit without a version (pseudo-version)"
	case v.pre != "":
		v.Note = "a pre-release"
	case build == "incompatible":
		v.Note = "a major version from before modules (+incompatible)"
	case v.major == 0:
		v.Note = "before 1.0: any minor version may break"
	}
	return v, true
}

// A pseudo-version ends in the commit's time and hash: `0.20240102030405-abcdefabcdef` (go.dev/ref/mod#pseudo-versions).
func isPseudo(pre string) bool {
	at := strings.LastIndexByte(pre, '-')
	if at < 14 || len(pre)-at-1 != 12 {
		return false
	}
	_, err := strconv.ParseUint(pre[at-14:at], 10, 64)
	return err == nil
}

// Compare orders versions (section 11); of pre-releases it compares the identifiers one by one.
func Compare(a, b Version) int {
	if c := cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.minor, b.minor), cmp.Compare(a.patch, b.patch)); c != 0 {
		return c
	}
	if a.pre == "" || b.pre == "" {
		// A release comes after its pre-releases.
		return cmp.Compare(len(b.pre), len(a.pre))
	}
	as, bs := strings.Split(a.pre, "."), strings.Split(b.pre, ".")
	for at := range min(len(as), len(bs)) {
		an, aerr := strconv.ParseUint(as[at], 10, 64)
		bn, berr := strconv.ParseUint(bs[at], 10, 64)
		c := strings.Compare(as[at], bs[at])
		switch {
		case aerr == nil && berr == nil:
			c = cmp.Compare(an, bn)
		case aerr == nil:
			c = -1
		case berr == nil:
			c = 1
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

// Relation is what differs between two versions of one module: "same", "patch", "minor", "major" or "pre-release"; and whether one may take
// the place of the other by the rule that carets follow: before 1.0 the minor version counts as major.
func Relation(a, b Version) (what string, compatible bool) {
	switch {
	case a.major != b.major:
		return "major", false
	case a.minor != b.minor:
		return "minor", a.major > 0
	case a.patch != b.patch:
		return "patch", a.major > 0 || a.minor > 0
	case a.pre != b.pre:
		return "pre-release", false
	}
	return "same", true
}
