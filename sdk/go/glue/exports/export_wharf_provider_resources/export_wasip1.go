// Package export_wharf_provider_resources is what generated code calls when the host lists and reads.
package export_wharf_provider_resources

import (
	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"wharf"
	"wharf/collector"
	"wharf/wire"
	"wit_component/imports/wharf_provider_resources"
	contract "wit_component/imports/wharf_provider_types"
)

func List(cursor witTypes.Option[string]) witTypes.Result[contract.ResourcePage, contract.Error] {
	collector.Allow()
	defer collector.Hold()
	return wire.Result(list(cursor.SomeOr("")))
}

func list(cursor string) (page contract.ResourcePage, err error) {
	listed, next, err := wharf.Served().List(cursor)
	if err != nil {
		return page, err
	}
	page.Resources = make([]contract.ResourceInfo, len(listed))
	for at, one := range listed {
		size := witTypes.None[float64]()
		if one.Size != nil {
			size = witTypes.Some(float64(*one.Size))
		}
		page.Resources[at] = contract.ResourceInfo{
			Uri: wire.Valid(one.URI), Name: name(one.Name, one.URI), Title: wire.Text(one.Title), Description: wire.Text(one.Description),
			MimeType: wire.Text(one.MIMEType), Size: size, Icons: wire.Icons(one.Icons), Annotations: wire.Annotations(one.Annotations),
			MetaJson: wire.Text(one.Meta),
		}
	}
	page.NextCursor = wire.Text(next)
	page.Reuse = witTypes.Some(contract.MakeReuseUntilAnnounced())
	if d := wharf.Served().ListFor; d > 0 {
		page.Reuse = witTypes.Some(contract.MakeReuseForMs(wire.Millis(d)))
	}
	return page, nil
}

func Templates() witTypes.Result[[]contract.TemplateInfo, contract.Error] {
	collector.Allow()
	defer collector.Hold()
	return wire.Result(templates())
}

func templates() ([]contract.TemplateInfo, error) {
	all := wharf.Served().Templates()
	infos := make([]contract.TemplateInfo, len(all))
	for at, t := range all {
		infos[at] = contract.TemplateInfo{
			UriTemplate: t.URI, Name: name(t.Name, t.URI), Title: wire.Text(t.Title), Description: wire.Text(t.Description),
			MimeType: wire.Text(t.MIMEType), Icons: wire.Icons(t.Icons), Annotations: wire.Annotations(t.Annotations), MetaJson: wire.Text(t.Meta),
		}
	}
	return infos, nil
}

func Read(r wharf_provider_resources.ReadRequest) witTypes.Result[witTypes.Option[wharf_provider_resources.Reading], contract.Error] {
	collector.Allow()
	defer collector.Hold()
	return wire.Result(read(r))
}

func read(r wharf_provider_resources.ReadRequest) (none witTypes.Option[wharf_provider_resources.Reading], err error) {
	template, variables := wire.Matched(r.Matched)
	request := wharf.Request{URI: r.Uri, Variables: variables, IfNoneMatch: r.IfNoneMatch.SomeOr("")}
	given, err := wharf.Served().Read(template, request)
	if err != nil || given.IsNotModified() {
		return none, err
	}
	contents := make([]contract.Contents, len(given.Contents))
	for at, content := range given.Contents {
		body := wire.Body(content.Text, content.Blob)
		contents[at] = contract.Contents{Uri: wire.Text(content.URI), MimeType: wire.Text(content.MIMEType), Body: body, MetaJson: wire.Text(content.Meta)}
	}
	reuse := witTypes.None[contract.Reuse]()
	switch {
	case given.UntilAnnounced:
		reuse = witTypes.Some(contract.MakeReuseUntilAnnounced())
	case given.ReuseFor > 0:
		reuse = witTypes.Some(contract.MakeReuseForMs(wire.Millis(given.ReuseFor)))
	}
	return witTypes.Some(wharf_provider_resources.Reading{Contents: contents, Version: wire.Text(given.Version), Reuse: reuse}), nil
}

func name(given, uri string) string {
	if given != "" {
		return wire.Valid(given)
	}
	return wire.Valid(wharf.LastSegment(uri))
}
