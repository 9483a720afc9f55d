// {{name}}, a Wharf provider: what it offers. What the resources hold is in content/.
package main

import (
	"time"

	"wharf"
	_ "wharf/component"
	"wharf/timers"

	"example.com/{{name}}/content"
)

const (
	plain  = "text/plain"
	ticker = "{{scheme}}://seconds"
)

// Calls come one at a time, all to this one instance, which lives until the next reload: what one call leaves here is there in the next.
var seconds int

func init() { wharf.Serve(provider()) }

// Never run: a provider is called by the host.
func main() {}

func provider() *wharf.Provider {
	p := &wharf.Provider{}
	p.Resource(wharf.Resource{
		URI:          "{{scheme}}://sentence",
		Title:        "A sentence",
		MIMEType:     plain,
		Subscribable: true, // It changes only when the source does: the host tells of that by itself.
		Read:         func(wharf.Request) (wharf.Reading, error) { return wharf.Text(content.Sentence), nil },
	})
	p.Resource(wharf.Resource{
		URI:      ticker,
		Title:    "How long somebody has been subscribed",
		MIMEType: plain,
		Read:     func(wharf.Request) (wharf.Reading, error) { return wharf.Text(content.Seconds(seconds)), nil },
		// No call may wait, so time comes from the host: it calls tick.
		OnSubscribe:   func(wharf.Request) error { return timers.Every(ticker, time.Second, tick) },
		OnUnsubscribe: func(wharf.Request) { timers.Cancel(ticker) },
	})
	p.Template(wharf.Template{
		URI:          "{{scheme}}://greeting/{name}",
		Title:        "A greeting for anybody",
		MIMEType:     plain,
		Subscribable: true,
		Read: func(r wharf.Request) (wharf.Reading, error) {
			return wharf.Text(content.Greeting(r.Variable("name"))), nil
		},
	})
	return p
}

// First change what is read, then say so.
func tick() {
	seconds++
	wharf.Updated(ticker)
}
