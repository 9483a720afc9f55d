package wharf

import (
	"wharf/collector"
	"wit_component/imports/wharf_provider_announce"
	"wit_component/imports/wharf_provider_settings"
)

func init() {
	updated = wharf_provider_announce.Updated
	listChanged = wharf_provider_announce.ListChanged
	setting = func(name string) (string, bool) {
		defer collector.Resume(collector.Hold())
		value := wharf_provider_settings.Get(name)
		return value.SomeOr(""), value.IsSome()
	}
}
