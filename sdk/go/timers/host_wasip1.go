package timers

import (
	"time"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"wharf/collector"
	"wharf/wire"
	"wit_component/imports/wharf_provider_timers"
)

func init() {
	start = func(name string, after, every time.Duration) error {
		defer collector.Resume(collector.Hold())
		period := witTypes.None[uint32]()
		if every > 0 {
			period = witTypes.Some(wire.Millis(every))
		}
		return wire.Err(wharf_provider_timers.Start(name, wire.Millis(after), period))
	}
	cancel = wharf_provider_timers.Cancel
}
