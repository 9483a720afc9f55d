// Package component makes a component of the program that imports it:
//
//	import _ "wharf/component"
//
// Natively, in `go test`, it does nothing.
package component
