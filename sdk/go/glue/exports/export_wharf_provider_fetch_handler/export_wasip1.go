// Package export_wharf_provider_fetch_handler is what generated code calls when answers have come in.
package export_wharf_provider_fetch_handler

import (
	"fmt"

	"wharf"
	"wharf/collector"
	"wharf/fetch"
	"wit_component/imports/wharf_provider_fetch_handler"
)

func Fetched(outcomes []wharf_provider_fetch_handler.FetchOutcome) {
	collector.Allow()
	defer collector.Hold()
	for _, outcome := range outcomes {
		if outcome.Answer.IsErr() {
			fetch.Fetched(outcome.Name, fetch.Response{}, why(outcome.Answer.Err()))
			continue
		}
		given := outcome.Answer.Ok()
		response := fetch.Response{Status: int(given.Status), Body: given.Body}
		for _, header := range given.Headers {
			response.Headers = append(response.Headers, fetch.Header{Name: header.F0, Value: header.F1})
		}
		fetch.Fetched(outcome.Name, response, nil)
	}
}

func why(err wharf_provider_fetch_handler.FetchError) error {
	switch err.Tag() {
	case wharf_provider_fetch_handler.FetchError_Denied:
		return wharf.Denied("a redirect to " + err.Denied() + ", which is not granted")
	case wharf_provider_fetch_handler.FetchError_TimedOut:
		return wharf.Unavailable("no answer in time")
	case wharf_provider_fetch_handler.FetchError_TooLarge:
		return wharf.Failed(fmt.Sprintf("the answer has more than %d bytes", err.TooLarge()))
	}
	return wharf.Unavailable(err.Failed())
}
