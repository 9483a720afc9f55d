// Package files asks the host to be told of changes in the folders that wharf.toml grants. (Reading them is package os.) The world needs
// `import wharf:provider/file-watch@0.1.0` and `export wharf:provider/file-handler@0.1.0`.
package files

// Kind is what happened to a file. A rename is a Removed and a Created.
type Kind uint8

// In the order of the contract's `change`.
const (
	Created Kind = iota
	Modified
	Removed
	// Changes were lost, or the file system reports none: look at everything below Path.
	Rescan
)

// Change is what happened to one path, in the same terms as the path that is watched.
type Change struct {
	Path string
	Kind Kind
}

var (
	watched = map[string]func([]Change){}
	// What the host does. Natively, in `go test`, nothing changes: a test calls [Changed].
	watch   = func(name, path string, recursive bool) error { return nil }
	unwatch = func(name string) {}
)

// Watch calls work with what changed at path, a file or a folder, and if recursive in folders below it. The path need not exist yet, the
// granted folder must. A watch of the same name is replaced.
func Watch(name, path string, recursive bool, work func([]Change)) error {
	if err := watch(name, path, recursive); err != nil {
		return err
	}
	watched[name] = work
	return nil
}

// Unwatch stops it. Fine if there is none of that name.
func Unwatch(name string) {
	delete(watched, name)
	unwatch(name)
}

// Changed calls what is watching under this name. The host does so; a test may.
func Changed(name string, changes []Change) {
	if work := watched[name]; work != nil {
		work(changes)
	}
}
