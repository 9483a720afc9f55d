package wharf

import (
	"encoding/json"
	"fmt"
	"time"
)

// Request is what a handler is asked for.
type Request struct {
	// What the client sent, unchanged.
	URI string
	// The variables of the template, decoded; none for a [Resource].
	Variables Variables
	// A version this provider gave for this URI, and whose content the host still holds; "" if there is none.
	IfNoneMatch string
}

// Variable is the value of a variable, "" if the URI leaves it out.
func (r Request) Variable(name string) string { return r.Variables.Get(name) }

// Variables are those of a template, each with its values: more than one for an exploded one such as `{/seg*}`.
type Variables map[string][]string

// Get is the (first) value, "" if there is none.
func (v Variables) Get(name string) string {
	if values := v[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Reading is what a resource holds at one moment. It is made by [Text], [Bytes], [JSON] or, of more than one content, by hand.
type Reading struct {
	// At most 16 MiB in all.
	Contents []Content
	// Any string that differs whenever the contents differ; "" for none. With it a read may answer [NotModified].
	Version string
	// For how long the host may answer with it without asking again, until it is announced as changed; 0: ask each time.
	ReuseFor time.Duration
	// The same, until it is announced as changed. It counts only while somebody is subscribed.
	UntilAnnounced bool

	notModified bool
}

// Content is one content of a resource.
type Content struct {
	// "": the URI asked for. Else the URI of a part of it, such as a file of the folder asked for.
	URI string
	// "": what the list says, if anything.
	MIMEType string
	// Text, if Blob is nil.
	Text string
	Blob []byte
	// For MCP's `_meta`: a JSON object, as text.
	Meta string
}

// NotModified answers a read whose content still is the version Request.IfNoneMatch names.
var NotModified = Reading{notModified: true}

// Text is a reading of one text, which must be UTF-8.
func Text(text string) Reading { return Reading{Contents: []Content{{Text: text}}} }

// Bytes is a reading of anything else.
func Bytes(blob []byte) Reading {
	if blob == nil {
		blob = []byte{}
	}
	return Reading{Contents: []Content{{Blob: blob}}}
}

// JSON is a reading of what encoding/json makes of value, indented: models read that better.
func JSON(value any) (Reading, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return Reading{}, fmt.Errorf("this is no JSON: %w", err)
	}
	return Reading{Contents: []Content{{MIMEType: "application/json", Text: string(text)}}}, nil
}

// IsNotModified is true of [NotModified] alone.
func (r Reading) IsNotModified() bool { return r.notModified }
