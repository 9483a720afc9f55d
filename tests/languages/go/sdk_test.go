// The SDK, without a host.
package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"wharf"
)

func TestExpansionFollowsRFC6570(t *testing.T) {
	variables := wharf.Variables{"v": {"a b/c"}, "list": {"red", "blue"}, "empty": {""}, "umlaut": {"ü"}}
	for template, want := range map[string]string{
		"x://{v}":                  "x://a%20b%2Fc",
		"x://{+v}":                 "x://a%20b/c",
		"x://h{/list*}":            "x://h/red/blue",
		"x://h{/list}":             "x://h/red,blue",
		"x://h{?v,empty,none}":     "x://h?v=a%20b%2Fc&empty=",
		"x://h{;empty}":            "x://h;empty",
		"x://h{?list*}":            "x://h?list=red&list=blue",
		"x://{umlaut}{none}{#v}.y": "x://%C3%BC#a%20b/c.y",
	} {
		if got := wharf.Expand(template, variables); got != want {
			t.Errorf("%s: %s, not %s", template, got, want)
		}
	}
}

func TestALongListIsGivenInPages(t *testing.T) {
	p := &wharf.Provider{PageSize: 2}
	p.Resource(wharf.Resource{URI: "x://one", Read: text("1")})
	p.Template(wharf.Template{URI: "x://more/{n}", MIMEType: "text/plain", Read: text("n"), List: func() ([]wharf.Entry, error) {
		return []wharf.Entry{{Variables: wharf.Variables{"n": {"2"}}}, {Variables: wharf.Variables{"n": {"3"}}, MIMEType: "text/html"}}, nil
	}})
	var all []string
	for cursor := ""; ; {
		page, next, err := p.List(cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page {
			all = append(all, one.URI+" "+one.MIMEType)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if !slices.Equal(all, []string{"x://one ", "x://more/2 text/plain", "x://more/3 text/html"}) {
		t.Error(all)
	}
	for _, cursor := range []string{"0", "-1", "3", "x"} {
		if _, _, err := p.List(cursor); wharf.AsError(err).Kind != wharf.KindInvalid {
			t.Error(cursor, err)
		}
	}
}

func TestWhatATemplateListsIsReadWithItsVariables(t *testing.T) {
	p := &wharf.Provider{}
	p.Template(wharf.Template{
		URI:  "x://{n}",
		Read: func(r wharf.Request) (wharf.Reading, error) { return wharf.Text(r.Variable("n")), nil },
		List: func() ([]wharf.Entry, error) { return []wharf.Entry{{Variables: wharf.Variables{"n": {"ü"}}}}, nil },
	})
	// A fresh instance, which was not asked for a list yet.
	reading, err := p.Read("", wharf.Request{URI: "x://%C3%BC"})
	if err != nil || reading.Contents[0].Text != "ü" {
		t.Error(reading, err)
	}
	if _, err := p.Read("", wharf.Request{URI: "x://other"}); !errors.Is(err, wharf.ErrNotFound) {
		t.Error(err)
	}
	if _, err := p.Read("x://unknown/{n}", wharf.Request{URI: "x://unknown/1"}); !errors.Is(err, wharf.ErrNotFound) {
		t.Error(err)
	}
}

func TestAPanicAndAnyErrorBecomeTheAnswerFailed(t *testing.T) {
	p := &wharf.Provider{}
	p.Resource(wharf.Resource{URI: "x://panic", Read: func(wharf.Request) (wharf.Reading, error) { panic("one bad document") }})
	p.Resource(wharf.Resource{URI: "x://error", Read: func(wharf.Request) (wharf.Reading, error) { return wharf.Reading{}, errors.New("odd") }})
	for uri, want := range map[string]string{"x://panic": "panic: one bad document", "x://error": "odd"} {
		_, err := p.Read("", wharf.Request{URI: uri})
		if got := wharf.AsError(err); got.Kind != wharf.KindFailed || got.Message != want {
			t.Error(uri, got)
		}
	}
	wrapped := wharf.AsError(fmt.Errorf("in chapter 2: %w", wharf.Denied("no")))
	if wrapped.Kind != wharf.KindDenied || wrapped.Message != "in chapter 2: no" {
		t.Error(wrapped)
	}
}

func TestOnlyWhatTellsOfChangesIsSubscribed(t *testing.T) {
	p := &wharf.Provider{}
	var told []string
	p.Resource(wharf.Resource{URI: "x://still", Read: text("")})
	p.Resource(wharf.Resource{URI: "x://quiet", Read: text(""), Subscribable: true})
	p.Template(wharf.Template{
		URI:           "x://live/{n}",
		Read:          text(""),
		OnSubscribe:   func(r wharf.Request) error { told = append(told, "on "+r.Variable("n")); return nil },
		OnUnsubscribe: func(r wharf.Request) { told = append(told, "off "+r.Variable("n")) },
	})
	live := wharf.Request{URI: "x://live/1", Variables: wharf.Variables{"n": {"1"}}}
	for _, err := range []error{p.Subscribe("", wharf.Request{URI: "x://quiet"}), p.Subscribe("x://live/{n}", live)} {
		if err != nil {
			t.Error(err)
		}
	}
	p.Unsubscribe("x://live/{n}", live)
	if !slices.Equal(told, []string{"on 1", "off 1"}) {
		t.Error(told)
	}
	if kind := wharf.AsError(p.Subscribe("", wharf.Request{URI: "x://still"})).Kind; kind != wharf.KindFailed {
		t.Error(kind)
	}
	if kind := wharf.AsError(p.Subscribe("", wharf.Request{URI: "x://other"})).Kind; kind != wharf.KindNotFound {
		t.Error(kind)
	}
}
