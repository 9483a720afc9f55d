// Package export_wharf_provider_timer_handler is what generated code calls when timers are due.
package export_wharf_provider_timer_handler

import (
	"wharf/collector"
	"wharf/timers"
)

func Fired(names []string) {
	collector.Allow()
	defer collector.Hold()
	timers.Fire(names...)
}
