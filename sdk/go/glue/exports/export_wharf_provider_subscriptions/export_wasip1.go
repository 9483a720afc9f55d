// Package export_wharf_provider_subscriptions is what generated code calls when the host subscribes.
package export_wharf_provider_subscriptions

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"wharf"
	"wharf/collector"
	"wharf/wire"
	contract "wit_component/imports/wharf_provider_types"
)

// What is subscribed: unsubscribe is given nothing but the URI.
var subscribed = map[string]matched{}

type matched struct {
	template  string
	variables wharf.Variables
}

func Subscribe(uri string, match witTypes.Option[contract.TemplateMatch]) witTypes.Result[witTypes.Unit, contract.Error] {
	collector.Allow()
	defer collector.Hold()
	template, variables := wire.Matched(match)
	err := wharf.Served().Subscribe(template, wharf.Request{URI: uri, Variables: variables})
	if err == nil {
		subscribed[uri] = matched{template, variables}
	}
	return wire.Unit(err)
}

func Unsubscribe(uri string) {
	collector.Allow()
	defer collector.Hold()
	match := subscribed[uri]
	delete(subscribed, uri)
	wharf.Served().Unsubscribe(match.template, wharf.Request{URI: uri, Variables: match.variables})
}
