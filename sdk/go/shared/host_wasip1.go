package shared

import (
	"wharf/collector"
	"wharf/wire"
	"wit_component/imports/wharf_provider_shared_state"
)

func init() {
	set = func(key string, value Value) error {
		defer collector.Resume(collector.Hold())
		return wire.Err(wharf_provider_shared_state.Set(key, wharf_provider_shared_state.SharedValue{
			Title: wire.Text(value.Title), Description: wire.Text(value.Description), MimeType: wire.Text(value.MIMEType),
			Body: wire.Body(value.Text, value.Blob),
		}))
	}
	remove = wharf_provider_shared_state.Remove
}
