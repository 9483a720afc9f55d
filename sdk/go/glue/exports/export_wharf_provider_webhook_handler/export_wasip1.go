// Package export_wharf_provider_webhook_handler is what generated code calls when a webhook is.
package export_wharf_provider_webhook_handler

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"wharf/collector"
	"wharf/webhooks"
	"wharf/wire"
	"wit_component/imports/wharf_provider_webhook_handler"
)

func Receive(r wharf_provider_webhook_handler.WebhookRequest) wharf_provider_webhook_handler.WebhookResponse {
	collector.Allow()
	defer collector.Hold()
	request := webhooks.Request{Method: r.Method, PathAndQuery: r.PathAndQuery, Body: r.Body}
	for _, header := range r.Headers {
		request.Headers = append(request.Headers, webhooks.Header{Name: header.F0, Value: header.F1})
	}
	response := webhooks.Receive(r.Name, request)
	headers := wire.List(response.Headers, func(header webhooks.Header) witTypes.Tuple2[string, string] {
		return witTypes.Tuple2[string, string]{F0: header.Name, F1: header.Value}
	})
	body := witTypes.None[[]uint8]()
	if len(response.Body) > 0 {
		body = witTypes.Some(response.Body)
	}
	return wharf_provider_webhook_handler.WebhookResponse{Status: uint16(response.Status), Headers: headers, Body: body}
}
