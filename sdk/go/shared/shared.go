// Package shared publishes values that the host lists as `wharf://state/<provider>/<key>`, keeps in memory and answers reads of by itself. The
// world needs `import wharf:provider/shared-state@0.1.0`.
package shared

// Value is what is published under one key.
type Value struct {
	// For people; "": the key.
	Title       string
	Description string
	// "": application/json for text, application/octet-stream for a blob.
	MIMEType string
	// Text, if Blob is nil.
	Text string
	Blob []byte
}

// What the host does. Natively, in `go test`, nothing.
var (
	set    = func(key string, value Value) error { return nil }
	remove = func(key string) {}
)

// Set publishes or replaces the value of a key of 1 to 1024 bytes. Clients are told if it really changed.
func Set(key string, value Value) error { return set(key, value) }

// Remove takes it back. Fine if there is none.
func Remove(key string) { remove(key) }
