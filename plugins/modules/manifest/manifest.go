// Package manifest reads what a project says of what it is made of: go.mod and go.sum, Cargo.lock, package-lock.json.
package manifest

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Module is one that a project needs.
type Module struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// What the project itself asks for, not what something it needs does.
	Direct bool `json:"direct"`
	// go.mod: taken from here instead.
	Replaced string `json:"replacedBy,omitempty"`
	// What the manifest itself says.
	Licence string `json:"licence,omitempty"`
	// Whether a checksum of it is kept: a module without one is not pinned.
	Checksum bool `json:"checksum"`
}

// Manifest is one file with what it requires.
type Manifest struct {
	// "go", "cargo" or "npm".
	Ecosystem string   `json:"ecosystem"`
	Project   string   `json:"project,omitempty"`
	Toolchain string   `json:"toolchain,omitempty"`
	Modules   []Module `json:"modules"`
}

// Files are the names that are manifests.
var Files = map[string]string{"go.mod": "go", "Cargo.lock": "cargo", "package-lock.json": "npm"}

// Sums is the file beside a go.mod that has the checksums.
const Sums = "go.sum"

// Parse reads a manifest; sums is the content of the go.sum beside it, if it is a go.mod.
func Parse(file, text, sums string) (Manifest, error) {
	switch path.Base(file) {
	case "go.mod":
		return goMod(text, sums), nil
	case "Cargo.lock":
		return cargoLock(text), nil
	case "package-lock.json":
		return packageLock(text)
	}
	return Manifest{}, fmt.Errorf("%s is no manifest", file)
}

// go.mod, line by line (go.dev/ref/mod#go-mod-file-grammar): directives alone or in a block.
func goMod(text, sums string) Manifest {
	m := Manifest{Ecosystem: "go"}
	kept := map[string]bool{}
	for line := range strings.Lines(sums) {
		if fields := strings.Fields(line); len(fields) == 3 {
			kept[fields[0]+"@"+strings.TrimSuffix(fields[1], "/go.mod")] = true
		}
	}
	replaced := map[string]string{}
	block := ""
	for line := range strings.Lines(text) {
		code, comment, _ := strings.Cut(line, "//")
		fields := strings.Fields(code)
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == ")":
			block = ""
			continue
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
			continue
		case block != "":
			fields = append([]string{block}, fields...)
		}
		for at := range fields {
			fields[at] = strings.Trim(fields[at], "\"`")
		}
		switch {
		case fields[0] == "module" && len(fields) > 1:
			m.Project = fields[1]
		case fields[0] == "go" && len(fields) > 1:
			m.Toolchain = "go " + fields[1]
		case fields[0] == "require" && len(fields) > 2:
			m.Modules = append(m.Modules, Module{
				Name: fields[1], Version: fields[2], Direct: strings.TrimSpace(comment) != "indirect", Checksum: kept[fields[1]+"@"+fields[2]],
			})
		case fields[0] == "replace":
			from, to, _ := strings.Cut(strings.Join(fields[1:], " "), " => ")
			replaced[from] = to
		}
	}
	for at := range m.Modules {
		module := &m.Modules[at]
		module.Replaced = replaced[module.Name]
		if of := replaced[module.Name+" "+module.Version]; of != "" {
			module.Replaced = of
		}
	}
	return m
}

// Cargo.lock is TOML as Cargo alone writes it: a table `[[package]]` each, a key a line, a dependency a line. What has no source is a part of
// the project, and what that depends on is asked for directly; its version is there only where the lock has several.
func cargoLock(text string) Manifest {
	m := Manifest{Ecosystem: "cargo"}
	asked := map[string]bool{}
	var own []string
	var of Module
	var external bool
	var needs []string
	end := func() {
		switch {
		case external:
			m.Modules = append(m.Modules, of)
		case of.Name != "":
			own = append(own, of.Name)
			for _, need := range needs {
				asked[need] = true
			}
		}
		of, external, needs = Module{}, false, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[[") {
			end()
			continue
		}
		if need, ok := strings.CutPrefix(line, `"`); ok {
			// `name`, `name version` or `name version (source)`.
			fields := strings.Fields(strings.TrimRight(need, `",`))
			needs = append(needs, strings.Join(fields[:min(len(fields), 2)], " "))
			continue
		}
		key, value, _ := strings.Cut(line, " = ")
		value = strings.Trim(value, `"`)
		switch key {
		case "name":
			of.Name = value
		case "version":
			of.Version = value
		case "source":
			external = true
		case "checksum":
			of.Checksum = true
		}
	}
	end()
	for at := range m.Modules {
		module := &m.Modules[at]
		module.Direct = asked[module.Name] || asked[module.Name+" "+module.Version]
	}
	if len(own) == 1 {
		m.Project = own[0]
	}
	return m
}

// package-lock.json of versions 2 and 3: `packages`, by the path they are installed at. The path "" is the project.
func packageLock(text string) (Manifest, error) {
	type entry struct {
		Name         string            `json:"name"`
		Version      string            `json:"version"`
		License      any               `json:"license"`
		Integrity    string            `json:"integrity"`
		Link         bool              `json:"link"`
		Engines      any               `json:"engines"`
		Dependencies map[string]string `json:"dependencies"`
		Dev          map[string]string `json:"devDependencies"`
		Optional     map[string]string `json:"optionalDependencies"`
		Peer         map[string]string `json:"peerDependencies"`
	}
	var lock struct {
		Version  int              `json:"lockfileVersion"`
		Packages map[string]entry `json:"packages"`
	}
	m := Manifest{Ecosystem: "npm"}
	if err := json.Unmarshal([]byte(text), &lock); err != nil {
		return m, fmt.Errorf("package-lock.json is no JSON: %w", err)
	}
	if lock.Version < 2 {
		return m, fmt.Errorf("package-lock.json has version %d: `npm install` of npm 7 or later writes it anew", lock.Version)
	}
	root := lock.Packages[""]
	m.Project = root.Name
	if engines, ok := root.Engines.(map[string]any); ok && engines["node"] != nil {
		m.Toolchain = fmt.Sprint("node ", engines["node"])
	}
	for at, one := range lock.Packages {
		_, name, installed := cutLast(at, "node_modules/")
		if !installed || one.Link || one.Version == "" {
			continue
		}
		direct := false
		if at == "node_modules/"+name {
			for _, asked := range []map[string]string{root.Dependencies, root.Dev, root.Optional, root.Peer} {
				_, is := asked[name]
				direct = direct || is
			}
		}
		if one.Name != "" {
			// It is installed under another name.
			name = one.Name
		}
		licence, _ := one.License.(string)
		m.Modules = append(m.Modules, Module{Name: name, Version: one.Version, Direct: direct, Licence: licence, Checksum: one.Integrity != ""})
	}
	return m, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
