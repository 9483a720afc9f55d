package wharf

import "time"

// Resource is one resource with a URI of its own. Only URI and Read have to be there.
type Resource struct {
	// Absolute (RFC 3986), at most 8192 bytes.
	URI string
	// Short; what a client shows when there is no Title. "": the last segment of the URI.
	Name string
	// For people.
	Title string
	// What it is, for the model to decide whether to read it.
	Description string
	// The media type of what Read gives.
	MIMEType string
	// Bytes of the content, if known: new(int64(5)).
	Size        *int64
	Icons       []Icon
	Annotations *Annotations
	// For MCP's `_meta`: a JSON object, as text. (Not a value: encoding/json would be a third of many a component.)
	Meta string

	// What it holds; asked for at each read.
	Read func(Request) (Reading, error)
	// That a change of it is announced: by [Updated], or by nothing but a reload.
	Subscribable bool
	// Called for the first that subscribes; then it is Subscribable, too. Start looking. May be nil.
	OnSubscribe func(Request) error
	// Called when nobody is left. May be nil.
	OnUnsubscribe func(Request)
}

// Template is a family of resources: every URI that matches. Only URI and Read have to be there. Fields without a word mean what they mean
// in [Resource].
type Template struct {
	// RFC 6570: `{v}`, `{+v}`, `{/v*}`, `{?a,b}`.
	URI         string
	Name        string
	Title       string
	Description string
	// Only if every resource of the family has this type.
	MIMEType    string
	Icons       []Icon
	Annotations *Annotations
	Meta        string

	Read          func(Request) (Reading, error)
	Subscribable  bool
	OnSubscribe   func(Request) error
	OnUnsubscribe func(Request)
	// Those of the family that are worth being listed one by one. May be nil.
	List func() ([]Entry, error)
	// By variable: values that fit what is typed of it, best first, given the variables that are known already. May be nil.
	Complete map[string]func(value string, known Variables) []string
}

// Entry is a listed resource of a [Template]. What it leaves empty, the template says.
type Entry struct {
	// These make its URI.
	Variables   Variables
	Name        string
	Title       string
	Description string
	MIMEType    string
	Size        *int64
	Icons       []Icon
	Annotations *Annotations
	Meta        string
}

// Icon is a picture a client may show.
type Icon struct {
	// An `https:` URL, or a `data:` URI in base64.
	Src      string
	MIMEType string
	// `48x48`, or `any` for a scalable one.
	Sizes []string
	// "light" or "dark": the background it is drawn for. "": good on both.
	Theme string
}

// Annotations are hints for the client.
type Annotations struct {
	// "user", "assistant".
	Audience []string
	// From 0, entirely optional, to 1, effectively required: new(0.5).
	Priority *float64
	// When the content last changed; the zero time for not said.
	LastModified time.Time
}
