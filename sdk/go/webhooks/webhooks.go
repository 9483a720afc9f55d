// Package webhooks takes what is sent to an HTTP path under the host's own address. wharf.toml grants it; the world needs `export
// wharf:provider/webhook-handler@0.1.0`.
package webhooks

// Header is a header; names are in lower case in what is received.
type Header struct{ Name, Value string }

// Request is what someone sent.
type Request struct {
	Method string
	// Below the webhook's own path: empty, or from `/` or `?` on.
	PathAndQuery string
	Headers      []Header
	Body         []byte
}

// Header is the first value of a header, by its name in lower case; "" if there is none.
func (r Request) Header(name string) string {
	for _, header := range r.Headers {
		if header.Name == name {
			return header.Value
		}
	}
	return ""
}

// Response is what to answer. Status 0 is 204.
type Response struct {
	Status  int
	Headers []Header
	Body    []byte
}

var hooks = map[string]func(Request) Response{}

// Handle calls work for each request to the webhook that wharf.toml calls by this name.
func Handle(name string, work func(Request) Response) { hooks[name] = work }

// Receive answers. The host calls it; a test may.
func Receive(name string, request Request) Response {
	work := hooks[name]
	if work == nil {
		return Response{Status: 404}
	}
	response := work(request)
	if response.Status == 0 {
		response.Status = 204
	}
	return response
}
