// modules, a Wharf provider: what the projects of a folder are made of, in which versions and under which licences.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"wharf"
	_ "wharf/component"
	"wharf/files"

	"modules/board"
)

const (
	overview         = "modules://overview"
	manifestTemplate = "modules://manifest/{+path}"
	moduleTemplate   = "modules://module/{ecosystem}/{+name}"
	mimeType         = "application/json"
	// Where the folder is, unless the setting `folders` says otherwise.
	folder = "/project"
)

var (
	known board.Board
	// Why nothing is known; asked for again until it is nil.
	problem error = wharf.Unavailable("not looked yet")
	// The URIs of modules that somebody is subscribed to.
	subscribed = map[string]wharf.Variables{}
)

func init() { wharf.Serve(provider()) }

// Never run: a provider is called by the host.
func main() {}

func provider() *wharf.Provider {
	p := &wharf.Provider{}
	p.Resource(wharf.Resource{
		URI: overview, Title: "Modules", MIMEType: mimeType, Subscribable: true,
		Description: "All go.mod, Cargo.lock and package-lock.json, and what is required in several versions.",
		Read: func(wharf.Request) (wharf.Reading, error) {
			if err := look(); err != nil {
				return wharf.Reading{}, err
			}
			return wharf.JSON(known.Overview())
		},
	})
	p.Template(wharf.Template{
		URI: manifestTemplate, Name: "manifest", Title: "What one project requires", MIMEType: mimeType, Subscribable: true,
		Description: "Modules by name with version, licence and whether it is asked for directly.",
		Read:        readManifest,
		List:        listManifests,
		Complete:    map[string]func(string, wharf.Variables) []string{"path": paths},
	})
	p.Template(wharf.Template{
		URI: moduleTemplate, Name: "module", Title: "Where a module is required", MIMEType: mimeType,
		Description:   "In which projects and versions, and how those stand to each other. The ecosystem is go, cargo or npm.",
		Read:          readModule,
		OnSubscribe:   func(r wharf.Request) error { subscribed[r.URI] = r.Variables; return look() },
		OnUnsubscribe: func(r wharf.Request) { delete(subscribed, r.URI) },
		Complete:      map[string]func(string, wharf.Variables) []string{"ecosystem": ecosystems, "name": names},
	})
	return p
}

// Looks for the first time, and has the host tell of changes from then on.
func look() error {
	if problem == nil {
		return nil
	}
	folders := []string{folder}
	if text, ok := wharf.Setting("folders"); ok {
		if err := json.Unmarshal([]byte(text), &folders); err != nil {
			return wharf.Failed(`the setting folders is a list: folders = ["/project"]`)
		}
	}
	known = board.Board{Caches: caches()}
	for _, at := range folders {
		if err := files.Watch(at, at, true, changed); err != nil {
			problem = fmt.Errorf("%s: %w", at, err)
			return problem
		}
		known.Roots = append(known.Roots, board.Root{Name: strings.Trim(at, "/"), Files: os.DirFS(at)})
	}
	known.Scan()
	problem = nil
	return nil
}

// Licences are in there, where they are granted and the settings say so.
func caches() map[string]fs.FS {
	found := map[string]fs.FS{}
	for ecosystem, setting := range map[string]string{"go": "go-modules", "cargo": "cargo-registry"} {
		if at, ok := wharf.Setting(setting); ok {
			found[ecosystem] = os.DirFS(at)
		}
	}
	return found
}

func changed(changes []files.Change) {
	concerns := func(change files.Change) bool {
		return change.Kind == files.Rescan || board.Concerns(change.Path, change.Kind != files.Modified)
	}
	if problem != nil || !slices.ContainsFunc(changes, concerns) {
		return
	}
	before := moduleTexts()
	paths, listed := known.Scan()
	if listed {
		wharf.ListChanged()
	}
	if len(paths) == 0 {
		return
	}
	uris := []string{overview}
	for _, at := range paths {
		uris = append(uris, wharf.Expand(manifestTemplate, wharf.Variables{"path": {at}}))
	}
	for uri, text := range moduleTexts() {
		if text != before[uri] {
			uris = append(uris, uri)
		}
	}
	wharf.Updated(uris...)
}

func moduleTexts() map[string]string {
	texts := map[string]string{}
	for uri, variables := range subscribed {
		texts[uri] = fmt.Sprint(known.Module(variables.Get("ecosystem"), variables.Get("name")))
	}
	return texts
}

func listManifests() ([]wharf.Entry, error) {
	if look() != nil {
		// The overview says why.
		return nil, nil
	}
	var entries []wharf.Entry
	for _, at := range known.Paths() {
		entries = append(entries, wharf.Entry{Variables: wharf.Variables{"path": {at}}, Name: at, Title: known.Project(at)})
	}
	return entries, nil
}

func readManifest(r wharf.Request) (wharf.Reading, error) {
	if err := look(); err != nil {
		return wharf.Reading{}, err
	}
	sheet, ok, err := known.Sheet(r.Variable("path"))
	switch {
	case !ok:
		return wharf.Reading{}, wharf.ErrNotFound
	case err != nil:
		return wharf.Reading{}, err
	}
	return wharf.JSON(sheet)
}

func readModule(r wharf.Request) (wharf.Reading, error) {
	if err := look(); err != nil {
		return wharf.Reading{}, err
	}
	uses := known.Module(r.Variable("ecosystem"), r.Variable("name"))
	if len(uses) == 0 {
		return wharf.Reading{}, wharf.ErrNotFound
	}
	return wharf.JSON(uses)
}

func paths(value string, _ wharf.Variables) []string {
	look()
	return slices.DeleteFunc(known.Paths(), func(at string) bool { return !strings.HasPrefix(at, value) })
}

func ecosystems(value string, _ wharf.Variables) []string {
	return slices.DeleteFunc([]string{"go", "cargo", "npm"}, func(one string) bool { return !strings.HasPrefix(one, value) })
}

func names(value string, filled wharf.Variables) []string {
	look()
	return known.Names(filled.Get("ecosystem"), value)
}
