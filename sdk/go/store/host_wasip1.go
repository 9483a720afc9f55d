package store

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"wharf/collector"
	"wharf/wire"
	"wit_component/imports/wharf_provider_store"
)

func init() {
	get = func(key string) ([]byte, bool, error) {
		defer collector.Resume(collector.Hold())
		value, err := wire.Answer(wharf_provider_store.Get(key))
		return value.SomeOr(nil), value.IsSome(), err
	}
	set = func(key string, value []byte) error {
		defer collector.Resume(collector.Hold())
		return wire.Err(wharf_provider_store.Set(key, value))
	}
	remove = func(key string) error {
		defer collector.Resume(collector.Hold())
		return wire.Err(wharf_provider_store.Remove(key))
	}
	replace = func(key string, expected, value []byte) (bool, error) {
		defer collector.Resume(collector.Hold())
		return wire.Answer(wharf_provider_store.Replace(key, option(expected), option(value)))
	}
	keys = func(prefix string) ([]string, error) {
		defer collector.Resume(collector.Hold())
		return wire.Answer(wharf_provider_store.Keys(prefix))
	}
}

func option(value []byte) witTypes.Option[[]byte] {
	if value == nil {
		return witTypes.None[[]byte]()
	}
	return witTypes.Some(value)
}
