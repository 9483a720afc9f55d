package board

import (
	"maps"
	"slices"
	"strings"

	"modules/semver"
)

// Line is a manifest in the overview.
type Line struct {
	Path      string `json:"path"`
	Ecosystem string `json:"ecosystem"`
	Project   string `json:"project,omitempty"`
	Direct    int    `json:"direct"`
	Indirect  int    `json:"indirect"`
	// Why it could not be read.
	Error string `json:"error,omitempty"`
}

// Overview is everything in short.
type Overview struct {
	Manifests []Line  `json:"manifests"`
	Twice     []Twice `json:"inSeveralVersions"`
}

// Overview is everything in short.
func (b *Board) Overview() Overview {
	view := Overview{Manifests: []Line{}, Twice: twice(b.manifests)}
	for _, at := range b.Paths() {
		one := b.manifests[at]
		line := Line{Path: at, Ecosystem: one.Ecosystem, Project: one.Project}
		if one.err != nil {
			line.Error = one.err.Error()
		}
		for _, module := range one.Modules {
			if module.Direct {
				line.Direct++
			} else {
				line.Indirect++
			}
		}
		view.Manifests = append(view.Manifests, line)
	}
	return view
}

func twice(manifests map[string]entry) []Twice {
	versions := map[[2]string]map[string]bool{}
	for _, one := range manifests {
		for _, module := range one.Modules {
			key := [2]string{one.Ecosystem, module.Name}
			if versions[key] == nil {
				versions[key] = map[string]bool{}
			}
			versions[key][module.Version] = true
		}
	}
	found := []Twice{}
	for key, all := range versions {
		if len(all) > 1 {
			found = append(found, compared(key[0], key[1], slices.Collect(maps.Keys(all))))
		}
	}
	slices.SortFunc(found, func(a, b Twice) int { return strings.Compare(a.Ecosystem+a.Name, b.Ecosystem+b.Name) })
	return found
}

// What differs more comes later.
var order = []string{"same", "pre-release", "patch", "minor", "major"}

func compared(ecosystem, name string, versions []string) Twice {
	slices.SortFunc(versions, func(a, b string) int {
		va, aok := semver.Parse(a)
		vb, bok := semver.Parse(b)
		if !aok || !bok {
			return strings.Compare(a, b)
		}
		return semver.Compare(va, vb)
	})
	one := Twice{Ecosystem: ecosystem, Name: name, Versions: versions, OneWouldDo: true}
	newest, known := newest(versions)
	most := 0
	for _, text := range versions {
		version, ok := semver.Parse(text)
		if !ok || !known {
			one.OneWouldDo = false
			continue
		}
		what, compatible := semver.Relation(version, newest)
		most = max(most, slices.Index(order, what))
		one.OneWouldDo = one.OneWouldDo && compatible
	}
	if most > 0 {
		one.Differ = order[most]
	}
	return one
}

func newest(versions []string) (newest semver.Version, known bool) {
	for _, text := range versions {
		if version, ok := semver.Parse(text); ok && (!known || semver.Compare(version, newest) > 0) {
			newest, known = version, true
		}
	}
	return newest, known
}
