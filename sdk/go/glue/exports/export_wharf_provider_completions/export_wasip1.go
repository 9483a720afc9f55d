// Package export_wharf_provider_completions is what generated code calls when the host asks for suggestions.
package export_wharf_provider_completions

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"wharf"
	"wharf/collector"
	"wharf/wire"
	"wit_component/imports/wharf_provider_completions"
	contract "wit_component/imports/wharf_provider_types"
)

// The host passes on the first 100.
const most = 100

func Complete(r wharf_provider_completions.CompletionRequest) witTypes.Result[wharf_provider_completions.Completion, contract.Error] {
	collector.Allow()
	defer collector.Hold()
	values, err := wharf.Served().Complete(r.UriTemplate, r.Argument, r.Value, wire.Variables(r.Known))
	for at, value := range values {
		values[at] = wire.Valid(value)
	}
	completion := wharf_provider_completions.Completion{
		Values: values[:min(len(values), most)], Total: witTypes.Some(uint32(len(values))), HasMore: witTypes.Some(len(values) > most),
	}
	return wire.Result(completion, err)
}
