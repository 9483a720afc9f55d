package wharf

import "errors"

// Kind says which of the contract's errors an [Error] is.
type Kind uint8

// In the order of the contract's `error`.
const (
	KindNotFound Kind = iota
	KindInvalid
	KindDenied
	KindUnavailable
	KindFailed
)

// Error is why there is no answer. Its text is shown to the client's user and model: say what to do about it, and no secrets.
type Error struct {
	Kind    Kind
	Message string
}

func (e *Error) Error() string { return e.Message }

// ErrNotFound says that there is no such resource here. The host asks the next provider that may own the URI; any other error is final.
var ErrNotFound error = &Error{KindNotFound, "not found"}

// Invalid says that the request cannot be right: a bad variable.
func Invalid(message string) error { return &Error{KindInvalid, message} }

// Denied says that it exists, and may not be had.
func Denied(message string) error { return &Error{KindDenied, message} }

// Unavailable says that the same request may succeed later.
func Unavailable(message string) error { return &Error{KindUnavailable, message} }

// Failed is anything else; so is every error that is not of this package.
func Failed(message string) error { return &Error{KindFailed, message} }

// AsError is the contract's error that err is.
func AsError(err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		// What was put around it says more.
		return &Error{known.Kind, err.Error()}
	}
	return &Error{KindFailed, err.Error()}
}
