package board

import (
	"io/fs"
	"path"
	"strings"
	"time"

	"modules/licence"
	"modules/manifest"
	"modules/semver"
)

// How long a read looks for licences: a provider that does not answer within some seconds is stopped.
const patience = time.Second

func (b *Board) row(in entry, module manifest.Module, until time.Time) (row Row, pending bool) {
	version, _ := semver.Parse(module.Version)
	row = Row{module, version.Note}
	if row.Licence != "" {
		return row, false
	}
	key := [3]string{in.Ecosystem, module.Name, module.Version}
	found, ok := b.licences[key]
	if !ok && time.Now().After(until) {
		return row, true
	}
	if !ok {
		if b.licences == nil {
			b.licences = map[[3]string]string{}
		}
		found = b.licence(in, module)
		b.licences[key] = found
	}
	row.Licence = found
	return row, false
}

func (b *Board) licence(in entry, module manifest.Module) string {
	vendored := "vendor"
	if in.Ecosystem == "npm" {
		vendored = "node_modules"
	}
	if found := licence.In(in.root.Files, path.Join(in.folder, vendored, module.Name)); found != "" {
		return found
	}
	cache := b.Caches[in.Ecosystem]
	switch {
	case cache == nil:
		return ""
	case in.Ecosystem == "go":
		return licence.In(cache, escaped(module.Name)+"@"+escaped(module.Version))
	}
	// Cargo's has a folder for each registry.
	registries, _ := fs.ReadDir(cache, ".")
	for _, registry := range registries {
		if found := licence.In(cache, path.Join(registry.Name(), module.Name+"-"+module.Version)); found != "" {
			return found
		}
	}
	return ""
}

// Names in Go's module cache: `!` and a small letter for a capital (go.dev/ref/mod#module-cache).
func escaped(name string) string {
	var text strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			text.WriteByte('!')
			c += 'a' - 'A'
		}
		text.WriteRune(c)
	}
	return text.String()
}
