package wharf

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// PageSize is how many resources a page of the list has: a page may have 16 MiB, an entry of some KiB is a long one.
const PageSize = 1000

// Provider is what there is. The zero value offers nothing yet.
type Provider struct {
	// Resources a page of the list has; 0 for [PageSize].
	PageSize int
	// For how long the host may use a list without asking again; 0: until [ListChanged].
	ListFor time.Duration

	resources []*Resource
	templates []*Template
	// What the last list gave of templates.
	listed map[string]found
}

type found struct {
	template  *Template
	variables Variables
}

// Listed is one resource of the list.
type Listed struct {
	URI string
	Entry
}

// Resource adds a resource.
func (p *Provider) Resource(r Resource) { p.resources = append(p.resources, &r) }

// Template adds a family of resources. The host tries them in the order in which they were added.
func (p *Provider) Template(t Template) { p.templates = append(p.templates, &t) }

// Templates are those that were added.
func (p *Provider) Templates() []*Template { return p.templates }

// List is one page of the list, and the cursor of the next, "" if it was the last.
func (p *Provider) List(cursor string) ([]Listed, string, error) {
	all, err := p.all()
	if err != nil {
		return nil, "", err
	}
	start, size := 0, p.PageSize
	if size <= 0 {
		size = PageSize
	}
	if cursor != "" {
		if start, err = strconv.Atoi(cursor); err != nil || start <= 0 || start >= len(all) {
			return nil, "", Invalid("no such cursor: list from the first page")
		}
	}
	if end := start + size; end < len(all) {
		return all[start:end], strconv.Itoa(end), nil
	}
	return all[start:], "", nil
}

func (p *Provider) all() ([]Listed, error) {
	all := make([]Listed, 0, len(p.resources))
	for _, r := range p.resources {
		entry := Entry{nil, r.Name, r.Title, r.Description, r.MIMEType, r.Size, r.Icons, r.Annotations, r.Meta}
		all = append(all, Listed{r.URI, entry})
	}
	listed := map[string]found{}
	for _, t := range p.templates {
		if t.List == nil {
			continue
		}
		entries, err := t.List()
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			uri := Expand(t.URI, entry.Variables)
			if entry.MIMEType == "" {
				entry.MIMEType = t.MIMEType
			}
			listed[uri] = found{t, entry.Variables}
			all = append(all, Listed{uri, entry})
		}
	}
	p.listed = listed
	return all, nil
}

// Read is what a resource holds. The template is the one the host found to match, "" for a URI of the list.
func (p *Provider) Read(template string, request Request) (Reading, error) {
	r, t := p.find(template, &request)
	switch {
	case r != nil && r.Read != nil:
		return caught(r.Read, request)
	case t != nil && t.Read != nil:
		return caught(t.Read, request)
	}
	return Reading{}, ErrNotFound
}

// Subscribe tells that somebody wants to hear of changes.
func (p *Provider) Subscribe(template string, request Request) error {
	r, t := p.find(template, &request)
	var able bool
	var on func(Request) error
	switch {
	case r != nil:
		able, on = r.Subscribable, r.OnSubscribe
	case t != nil:
		able, on = t.Subscribable, t.OnSubscribe
	default:
		return ErrNotFound
	}
	if on != nil {
		_, err := caught(func(request Request) (struct{}, error) { return struct{}{}, on(request) }, request)
		return err
	}
	if !able {
		// The host takes it as ours, and not watched.
		return Failed(request.URI + " does not tell of changes")
	}
	return nil
}

// Unsubscribe tells that nobody is left. The host does not say which template it was: the variables are those of [Provider.Subscribe].
func (p *Provider) Unsubscribe(template string, request Request) {
	r, t := p.find(template, &request)
	switch {
	case r != nil && r.OnUnsubscribe != nil:
		r.OnUnsubscribe(request)
	case t != nil && t.OnUnsubscribe != nil:
		t.OnUnsubscribe(request)
	}
}

// Complete suggests values for a variable of a template.
func (p *Provider) Complete(template, variable, value string, known Variables) ([]string, error) {
	for _, t := range p.templates {
		if t.URI == template && t.Complete[variable] != nil {
			suggest := t.Complete[variable]
			return caught(func(Request) ([]string, error) { return suggest(value, known), nil }, Request{})
		}
	}
	return nil, nil
}

// Which one it is, and with which variables.
func (p *Provider) find(template string, request *Request) (*Resource, *Template) {
	if template != "" {
		for _, t := range p.templates {
			if t.URI == template {
				return nil, t
			}
		}
		return nil, nil
	}
	for _, r := range p.resources {
		if r.URI == request.URI {
			return r, nil
		}
	}
	if _, ok := p.listed[request.URI]; !ok {
		// A fresh instance is asked for what an earlier one listed.
		if _, err := p.all(); err != nil {
			return nil, nil
		}
	}
	found := p.listed[request.URI]
	request.Variables = found.variables
	return nil, found.template
}

// One bad document must not end the instance: a panic becomes the answer `failed`, and its trace goes to the log.
func caught[T any](handler func(Request) (T, error), request Request) (answer T, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", reason, debug.Stack())
			err = Failed(fmt.Sprintf("panic: %v", reason))
		}
	}()
	return handler(request)
}

// LastSegment is how a resource without a name is called.
func LastSegment(uri string) string {
	trimmed := strings.TrimRight(uri, "/")
	return trimmed[strings.LastIndexAny(trimmed, "/:")+1:]
}
