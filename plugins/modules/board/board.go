// Package board knows all manifests of the granted folders, and answers from them.
package board

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"modules/manifest"
	"modules/semver"
)

// Deeper than this, and in these, are manifests of what is installed, not of what one works on.
const depth = 6

var passed = []string{"node_modules", "vendor", "target", "testdata"}

// A manifest is some MiB at the most.
const most = 16 << 20

// Root is a folder; its Name is what paths in it begin with.
type Root struct {
	Name  string
	Files fs.FS
}

// Board is what is known. Licences are looked for in the folders that have them, and in Caches: Go's module cache by "go", Cargo's by "cargo".
type Board struct {
	Roots  []Root
	Caches map[string]fs.FS

	manifests map[string]entry
	// By ecosystem, name and version, as soon as it was looked for: a version's does not change.
	licences map[[3]string]string
}

type entry struct {
	root *Root
	// In the root.
	folder string
	manifest.Manifest
	err error
}

// Concerns says whether a file of this path can change anything here; came, whether it came or went: a folder may have manifests in it.
func Concerns(file string, came bool) bool {
	for part := range strings.SplitSeq(path.Dir(file), "/") {
		if skipped(part) {
			return false
		}
	}
	name := path.Base(file)
	return name == manifest.Sums || manifest.Files[name] != "" || came && path.Ext(name) == "" && !skipped(name)
}

func skipped(folder string) bool {
	return slices.Contains(passed, folder) || strings.HasPrefix(folder, ".") && folder != "."
}

// Scan reads everything anew, and gives the paths of the manifests that are others than before, and whether some came or went.
func (b *Board) Scan() (changed []string, listed bool) {
	before := b.manifests
	b.manifests = map[string]entry{}
	for at := range b.Roots {
		b.scan(&b.Roots[at])
	}
	for _, at := range b.Paths() {
		was, ok := before[at]
		listed = listed || !ok
		if !ok || fmt.Sprint(was.Manifest, was.err) != fmt.Sprint(b.manifests[at].Manifest, b.manifests[at].err) {
			changed = append(changed, at)
		}
	}
	for at := range before {
		if _, ok := b.manifests[at]; !ok {
			changed, listed = append(changed, at), true
		}
	}
	return changed, listed
}

func (b *Board) scan(root *Root) {
	fs.WalkDir(root.Files, ".", func(file string, found fs.DirEntry, err error) error {
		switch {
		case err != nil:
			// A folder that cannot be read has no manifests.
			return nil
		case found.IsDir():
			if skipped(found.Name()) || strings.Count(file, "/") >= depth {
				return fs.SkipDir
			}
		case manifest.Files[found.Name()] != "":
			b.manifests[path.Join(root.Name, file)] = read(root, file)
		}
		return nil
	})
}

func read(root *Root, file string) entry {
	one := entry{root: root, folder: path.Dir(file)}
	one.Ecosystem = manifest.Files[path.Base(file)]
	text, err := load(root.Files, file)
	if err != nil {
		one.err = err
		return one
	}
	sums := ""
	if one.Ecosystem == "go" {
		// It may be missing: then nothing is pinned.
		sums, _ = load(root.Files, path.Join(one.folder, manifest.Sums))
	}
	parsed, err := manifest.Parse(file, text, sums)
	one.err = err
	if err == nil {
		one.Manifest = parsed
		slices.SortFunc(one.Modules, func(a, b manifest.Module) int {
			return strings.Compare(a.Name+"\x00"+a.Version, b.Name+"\x00"+b.Version)
		})
	}
	return one
}

func load(files fs.FS, file string) (string, error) {
	if info, err := fs.Stat(files, file); err == nil && info.Size() > most {
		return "", fmt.Errorf("%s has more than %d bytes", file, most)
	}
	text, err := fs.ReadFile(files, file)
	return string(text), err
}

// Paths are those of all manifests, sorted.
func (b *Board) Paths() []string { return slices.Sorted(maps.Keys(b.manifests)) }

// Project is how the project of a manifest calls itself.
func (b *Board) Project(at string) string { return b.manifests[at].Project }

// Row is one module of a manifest.
type Row struct {
	manifest.Module
	// What its version is, beside a plain release.
	Note string `json:"note,omitempty"`
}

// Sheet is a manifest as it is shown.
type Sheet struct {
	Path      string `json:"path"`
	Ecosystem string `json:"ecosystem"`
	Project   string `json:"project,omitempty"`
	Toolchain string `json:"toolchain,omitempty"`
	Direct    []Row  `json:"direct"`
	Indirect  []Row  `json:"indirect"`
	// How many modules have which licence; "unknown" where none was found.
	Licences map[string]int `json:"licences"`
	// Modules whose licence was not looked for yet, as that would take too long: the next read goes on.
	Pending int     `json:"licencesNotLookedForYet,omitempty"`
	Twice   []Twice `json:"inSeveralVersions,omitempty"`
}

// Twice is a module that is there in more than one version.
type Twice struct {
	Ecosystem string   `json:"ecosystem"`
	Name      string   `json:"name"`
	Versions  []string `json:"versions"`
	// What differs most between them: "patch", "minor", "major", "pre-release".
	Differ string `json:"differ,omitempty"`
	// Whether the newest could take the place of all others.
	OneWouldDo bool `json:"oneWouldDo"`
}

// Sheet is what a manifest says, and false if there is none.
func (b *Board) Sheet(at string) (Sheet, bool, error) {
	one, ok := b.manifests[at]
	if !ok || one.err != nil {
		return Sheet{}, ok, one.err
	}
	until := time.Now().Add(patience)
	sheet := Sheet{Path: at, Ecosystem: one.Ecosystem, Project: one.Project, Toolchain: one.Toolchain, Licences: map[string]int{}}
	sheet.Direct, sheet.Indirect = []Row{}, []Row{}
	for _, module := range one.Modules {
		row, pending := b.row(one, module, until)
		switch {
		case pending:
			sheet.Pending++
		case row.Licence == "":
			sheet.Licences["unknown"]++
		default:
			sheet.Licences[row.Licence]++
		}
		if module.Direct {
			sheet.Direct = append(sheet.Direct, row)
		} else {
			sheet.Indirect = append(sheet.Indirect, row)
		}
	}
	sheet.Twice = twice(map[string]entry{at: one})
	return sheet, true, nil
}

// Use is where a module is needed.
type Use struct {
	Manifest string `json:"manifest"`
	Row
	// How the version stands to the newest one here: "same", "patch", "minor", "major", "pre-release"; "unknown" where one is no version.
	BehindNewest string `json:"behindNewest"`
}

// Module is where and in which versions a module is needed; nothing if it is not.
func (b *Board) Module(ecosystem, name string) []Use {
	until := time.Now().Add(patience)
	var uses []Use
	var versions []string
	for _, at := range b.Paths() {
		one := b.manifests[at]
		for _, module := range one.Modules {
			if one.Ecosystem == ecosystem && module.Name == name {
				row, _ := b.row(one, module, until)
				uses = append(uses, Use{at, row, ""})
				versions = append(versions, module.Version)
			}
		}
	}
	newest, known := newest(versions)
	for at := range uses {
		version, ok := semver.Parse(uses[at].Version)
		uses[at].BehindNewest = "unknown"
		if ok && known {
			uses[at].BehindNewest, _ = semver.Relation(version, newest)
		}
	}
	return uses
}

// Names are the modules of an ecosystem that begin with prefix, sorted.
func (b *Board) Names(ecosystem, prefix string) []string {
	names := map[string]bool{}
	for _, one := range b.manifests {
		for _, module := range one.Modules {
			if one.Ecosystem == ecosystem && strings.HasPrefix(module.Name, prefix) {
				names[module.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
