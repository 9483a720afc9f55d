// Package fetch asks the host for an HTTP exchange with an origin that wharf.toml grants. The world needs `import
// wharf:provider/fetch@0.1.0` and `export wharf:provider/fetch-handler@0.1.0`.
package fetch

import "time"

// Header is a header; names are in lower case in what is received.
type Header struct{ Name, Value string }

// Request is an HTTP request.
type Request struct {
	// "": GET.
	Method string
	// `https:` or `http:`, no fragment.
	URL     string
	Headers []Header
	Body    []byte
	// For the whole exchange; 0, or more than the host's own limit: that limit.
	Timeout time.Duration
}

// Response is an answer, of whatever status.
type Response struct {
	Status  int
	Headers []Header
	Body    []byte
}

type fetch struct {
	work func(Response, error)
	poll bool
}

var (
	running = map[string]fetch{}
	// What the host does. Natively, in `go test`, nothing is sent: a test calls [Fetched].
	start  = func(name string, request Request) error { return nil }
	poll   = func(name string, request Request, every time.Duration) error { return nil }
	cancel = func(name string) {}
)

// Start sends a request once, and calls work with the answer, or why there is none.
func Start(name string, request Request, work func(Response, error)) error {
	if err := start(name, request); err != nil {
		return err
	}
	running[name] = fetch{work, false}
	return nil
}

// Poll sends it now and then again, each after every since the last answer, with If-None-Match and If-Modified-Since as that allows. Work is
// called with the first answer, and later only if status or body differ from the one before.
func Poll(name string, request Request, every time.Duration, work func(Response, error)) error {
	if err := poll(name, request, every); err != nil {
		return err
	}
	running[name] = fetch{work, true}
	return nil
}

// Cancel ends a fetch or a poll: its answer will not come any more.
func Cancel(name string) {
	delete(running, name)
	cancel(name)
}

// Fetched calls what waits for this answer. The host does so; a test may.
func Fetched(name string, response Response, err error) {
	fetch, ok := running[name]
	if !ok {
		return
	}
	if !fetch.poll {
		delete(running, name)
	}
	fetch.work(response, err)
}
