// Package store keeps values over reloads, crashes and restarts. wharf.toml grants it (`state = "1MiB"`); the world needs `import
// wharf:provider/store@0.1.0`.
//
// Keys have 1 to 1024 bytes. Each call is atomic, also against other hosts that serve the same wharf.toml.
package store

import (
	"slices"
	"strings"
)

// What is kept. Natively, in `go test`, a map is: it is the same for all tests of a package.
var (
	native = map[string][]byte{}

	get     = func(key string) ([]byte, bool, error) { value, ok := native[key]; return value, ok, nil }
	set     = func(key string, value []byte) error { native[key] = slices.Clone(value); return nil }
	remove  = func(key string) error { delete(native, key); return nil }
	replace = func(key string, expected, value []byte) (bool, error) {
		if is, ok := native[key]; ok != (expected != nil) || string(is) != string(expected) {
			return false, nil
		}
		if value == nil {
			delete(native, key)
		} else {
			native[key] = slices.Clone(value)
		}
		return true, nil
	}
	keys = func(prefix string) ([]string, error) {
		var found []string
		for key := range native {
			if strings.HasPrefix(key, prefix) {
				found = append(found, key)
			}
		}
		slices.Sort(found)
		return found, nil
	}
)

// Get is the value, and whether there is one.
func Get(key string) ([]byte, bool, error) { return get(key) }

// Set keeps a value. An error of kind Denied: no state is granted, or this would go over the limit.
func Set(key string, value []byte) error { return set(key, value) }

// Remove forgets a value. Fine if there is none.
func Remove(key string) error { return remove(key) }

// Replace keeps value (nil: forgets the key) if what is kept is expected (nil: nothing is), and says whether it was.
func Replace(key string, expected, value []byte) (bool, error) { return replace(key, expected, value) }

// Keys are all that begin with prefix, in byte order.
func Keys(prefix string) ([]string, error) { return keys(prefix) }
