// Package export_wharf_provider_file_handler is what generated code calls when files changed.
package export_wharf_provider_file_handler

import (
	"wharf/collector"
	"wharf/files"
	"wit_component/imports/wharf_provider_file_handler"
)

func Changed(changes []wharf_provider_file_handler.FileChange) {
	collector.Allow()
	defer collector.Hold()
	var names []string
	byName := map[string][]files.Change{}
	for _, change := range changes {
		if byName[change.Name] == nil {
			names = append(names, change.Name)
		}
		byName[change.Name] = append(byName[change.Name], files.Change{Path: change.Path, Kind: files.Kind(change.Change)})
	}
	for _, name := range names {
		files.Changed(name, byName[name])
	}
}
