package wharf

// The one that is served.
var served = &Provider{}

// Serve says which provider the host talks to. Call it in a func init: main is never run.
func Serve(p *Provider) { served = p }

// Served is the provider that was given to [Serve].
func Served() *Provider { return served }

// What the host does. Natively, in `go test`, there is none: announcements go nowhere, and nothing is set.
var (
	updated     = func([]string) {}
	listChanged = func() {}
	setting     = func(string) (string, bool) { return "", false }
)

// Updated tells the clients that subscribed that these resources have changed, or may have. First change what Read answers, then say so.
func Updated(uris ...string) {
	if len(uris) > 0 {
		updated(uris)
	}
}

// ListChanged tells that the list of resources or templates would be another one now.
func ListChanged() { listChanged() }

// Setting is what `[provider.settings]` in wharf.toml sets under this name, and whether it does: a string as it is, anything else as its
// JSON text; a setting in a table has a dotted name, `db.host`.
func Setting(name string) (string, bool) { return setting(name) }
