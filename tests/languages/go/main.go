// The contract fixture in Go: the same resources in every language, for one and the same test.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"wharf"
	_ "wharf/component"
	"wharf/timers"
)

const (
	plain   = "text/plain"
	count   = "contract://count"
	setting = "contract://setting"
	period  = 100 * time.Millisecond
)

var counted int

func init() { wharf.Serve(provider()) }

func main() {}

func provider() *wharf.Provider {
	// The first page has one resource, as the test wants more than one page.
	p := &wharf.Provider{PageSize: 1}
	icons := []wharf.Icon{{Src: "data:image/png;base64,AAAA", MIMEType: "image/png", Sizes: []string{"48x48"}, Theme: "dark"}}
	annotations := &wharf.Annotations{Audience: []string{"user", "assistant"}, Priority: new(0.5), LastModified: time.UnixMilli(1700000000000)}
	meta := `{"contract/x":1}`

	p.Resource(wharf.Resource{
		URI: "contract://full", Title: "Everything", Description: "Every field that a list can carry.", MIMEType: plain,
		Size: new(int64(5)), Icons: icons, Annotations: annotations, Meta: meta, Subscribable: true, Read: full,
	})
	p.Resource(wharf.Resource{URI: "contract://utf8", MIMEType: plain, Subscribable: true, Read: text("grüße, 世界")})
	p.Resource(wharf.Resource{URI: "contract://blob", MIMEType: "application/octet-stream", Subscribable: true, Read: blob})
	p.Resource(wharf.Resource{URI: "contract://two", MIMEType: plain, Subscribable: true, Read: two})
	p.Resource(wharf.Resource{
		URI: count, MIMEType: plain,
		Read:          func(wharf.Request) (wharf.Reading, error) { return wharf.Text(strconv.Itoa(counted)), nil },
		OnSubscribe:   func(wharf.Request) error { return timers.Every("count", period, tick) },
		OnUnsubscribe: func(wharf.Request) { timers.Cancel("count") },
	})
	p.Resource(wharf.Resource{URI: setting, MIMEType: plain, Subscribable: true, Read: greeting})

	p.Template(wharf.Template{
		URI: "contract://echo/{word}{?from,to}", Name: "echo", Title: "Echo", Description: "What the URI says.", MIMEType: plain,
		Icons: icons, Annotations: annotations, Meta: meta, Subscribable: true, Read: echo,
		Complete: map[string]func(string, wharf.Variables) []string{"word": words, "from": from},
	})
	p.Template(wharf.Template{
		URI: "contract://path/{+path}", Name: "path", Subscribable: true,
		Read: func(r wharf.Request) (wharf.Reading, error) { return wharf.Text(r.Variable("path")), nil },
	})
	p.Template(wharf.Template{
		URI: "contract://error/{kind}", Name: "error",
		Read:        func(r wharf.Request) (wharf.Reading, error) { return wharf.Reading{}, asked(r.Variable("kind")) },
		OnSubscribe: func(r wharf.Request) error { return asked(r.Variable("kind")) },
	})
	p.Template(wharf.Template{URI: "contract://do/{what}", Name: "do", Subscribable: true, Read: do})
	return p
}

func text(text string) func(wharf.Request) (wharf.Reading, error) {
	return func(wharf.Request) (wharf.Reading, error) { return wharf.Text(text), nil }
}

func full(r wharf.Request) (wharf.Reading, error) {
	if r.IfNoneMatch == "1" {
		return wharf.NotModified, nil
	}
	reading := wharf.Text("hello")
	reading.Version, reading.ReuseFor = "1", time.Second
	return reading, nil
}

func blob(wharf.Request) (wharf.Reading, error) {
	all := make([]byte, 256)
	for at := range all {
		all[at] = byte(at)
	}
	return wharf.Bytes(all), nil
}

func two(wharf.Request) (wharf.Reading, error) {
	part := wharf.Content{URI: "contract://two/part", MIMEType: "text/markdown", Text: "two", Meta: `{"contract/part":2}`}
	return wharf.Reading{Contents: []wharf.Content{{Text: "one"}, part}}, nil
}

func greeting(wharf.Request) (wharf.Reading, error) {
	value, ok := wharf.Setting("greeting")
	if !ok {
		value = "none"
	}
	return wharf.Text(value), nil
}

func tick() {
	counted++
	wharf.Updated(count)
}

func echo(r wharf.Request) (wharf.Reading, error) {
	or := func(name string) string {
		if values := r.Variables[name]; len(values) > 0 {
			return values[0]
		}
		return "-"
	}
	return wharf.Text(fmt.Sprintf("word=%s from=%s to=%s", or("word"), or("from"), or("to"))), nil
}

func words(value string, _ wharf.Variables) []string {
	return slices.DeleteFunc([]string{"alpha", "beta", "gamma"}, func(word string) bool { return !strings.HasPrefix(word, value) })
}

func from(_ string, known wharf.Variables) []string { return known["word"] }

func asked(kind string) error {
	message := "as asked: " + kind
	switch kind {
	case "invalid":
		return wharf.Invalid(message)
	case "denied":
		return wharf.Denied(message)
	case "unavailable":
		return wharf.Unavailable(message)
	case "failed":
		return errors.New(message)
	}
	return wharf.ErrNotFound
}

func do(r wharf.Request) (wharf.Reading, error) {
	switch r.Variable("what") {
	case "trap":
		fmt.Fprintln(os.Stderr, "about to die")
		// A panic would be caught and be an answer.
		os.Exit(1)
	case "panic":
		panic("a panic of the guest")
	case "loop":
		for {
		}
	case "allocate":
		var all [][]byte
		for {
			all = append(all, slices.Repeat([]byte{1}, 1<<20))
		}
	case "stderr":
		fmt.Fprintln(os.Stderr, "a line from the guest")
		return wharf.Text("done"), nil
	case "random":
		return wharf.Text(fmt.Sprintf("%016d", rand.Int64N(1e16))), nil
	case "now":
		return wharf.Text(strconv.FormatInt(time.Now().UnixMilli(), 10)), nil
	case "announce":
		wharf.Updated(setting)
		return wharf.Text("done"), nil
	}
	return wharf.Reading{}, wharf.ErrNotFound
}
