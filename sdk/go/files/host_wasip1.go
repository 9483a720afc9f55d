package files

import (
	"wharf/collector"
	"wharf/wire"
	"wit_component/imports/wharf_provider_file_watch"
)

func init() {
	watch = func(name, path string, recursive bool) error {
		defer collector.Resume(collector.Hold())
		return wire.Err(wharf_provider_file_watch.Watch(name, path, recursive))
	}
	unwatch = wharf_provider_file_watch.Unwatch
}
