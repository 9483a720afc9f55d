package fetch

import (
	"time"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"wharf/collector"
	"wharf/wire"
	"wit_component/imports/wharf_provider_fetch"
)

func init() {
	start = func(name string, request Request) error {
		defer collector.Resume(collector.Hold())
		return wire.Err(wharf_provider_fetch.Start(name, convert(request)))
	}
	poll = func(name string, request Request, every time.Duration) error {
		defer collector.Resume(collector.Hold())
		return wire.Err(wharf_provider_fetch.Poll(name, convert(request), wire.Millis(every)))
	}
	cancel = wharf_provider_fetch.Cancel
}

func convert(r Request) wharf_provider_fetch.FetchRequest {
	headers := wire.List(r.Headers, func(header Header) witTypes.Tuple2[string, string] {
		return witTypes.Tuple2[string, string]{F0: header.Name, F1: header.Value}
	})
	body, timeout := witTypes.None[[]uint8](), witTypes.None[uint32]()
	if len(r.Body) > 0 {
		body = witTypes.Some(r.Body)
	}
	if r.Timeout > 0 {
		timeout = witTypes.Some(wire.Millis(r.Timeout))
	}
	return wharf_provider_fetch.FetchRequest{Method: wire.Text(r.Method), Url: r.URL, Headers: headers, Body: body, TimeoutMs: timeout}
}
