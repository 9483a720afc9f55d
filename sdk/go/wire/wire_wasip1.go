// Package wire turns what an author writes into the contract's generated types, and back. An author has no use for it.
package wire

import (
	"math"
	"strings"
	"time"
	"unsafe"

	witTypes "go.bytecodealliance.org/pkg/wit/types"
	"wharf"
	contract "wit_component/imports/wharf_provider_types"
)

// Result is an answer that may be an error.
func Result[T any](value T, err error) witTypes.Result[T, contract.Error] {
	if err != nil {
		return witTypes.Err[T](Error(err))
	}
	return witTypes.Ok[T, contract.Error](value)
}

// Unit is Result for an answer that holds nothing.
func Unit(err error) witTypes.Result[witTypes.Unit, contract.Error] {
	return Result(witTypes.Unit{}, err)
}

// Error is the contract's.
func Error(err error) contract.Error {
	known := wharf.AsError(err)
	message := Valid(known.Message)
	switch known.Kind {
	case wharf.KindNotFound:
		return contract.MakeErrorNotFound()
	case wharf.KindInvalid:
		return contract.MakeErrorInvalid(message)
	case wharf.KindDenied:
		return contract.MakeErrorDenied(message)
	case wharf.KindUnavailable:
		return contract.MakeErrorUnavailable(message)
	}
	return contract.MakeErrorFailed(message)
}

// Answer is what an import gave.
func Answer[T any](result witTypes.Result[T, contract.Error]) (answer T, err error) {
	if result.IsOk() {
		return result.Ok(), nil
	}
	given := result.Err()
	switch given.Tag() {
	case contract.Error_NotFound:
		return answer, wharf.ErrNotFound
	case contract.Error_Invalid:
		return answer, wharf.Invalid(given.Invalid())
	case contract.Error_Denied:
		return answer, wharf.Denied(given.Denied())
	case contract.Error_Unavailable:
		return answer, wharf.Unavailable(given.Unavailable())
	}
	return answer, wharf.Failed(given.Failed())
}

// Err is Answer for an answer that holds nothing.
func Err(result witTypes.Result[witTypes.Unit, contract.Error]) error {
	_, err := Answer(result)
	return err
}

// Matched is the template, "" if there is none, and the variables.
func Matched(matched witTypes.Option[contract.TemplateMatch]) (string, wharf.Variables) {
	if matched.IsNone() {
		return "", nil
	}
	match := matched.Some()
	return match.UriTemplate, Variables(match.Variables)
}

// Variables by name.
func Variables(pairs []witTypes.Tuple2[string, string]) wharf.Variables {
	variables := make(wharf.Variables, len(pairs))
	for _, pair := range pairs {
		variables[pair.F0] = append(variables[pair.F0], pair.F1)
	}
	return variables
}

// Text is an option: "" is left out.
func Text(text string) witTypes.Option[string] {
	if text == "" {
		return witTypes.None[string]()
	}
	return witTypes.Some(Valid(text))
}

// Valid is text as UTF-8, as it is if it is that: anything else would end the instance.
func Valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Body is the text, or the blob unless that is nil. Text goes as its bytes: if they are no UTF-8, the host says so, and the instance lives on.
func Body(text string, blob []byte) contract.Body {
	if blob != nil {
		return contract.MakeBodyBlob(blob)
	}
	return contract.MakeBodyUtf8(unsafe.Slice(unsafe.StringData(text), len(text)))
}

// List is an option: one without entries is left out.
func List[T, U any](values []T, convert func(T) U) witTypes.Option[[]U] {
	if len(values) == 0 {
		return witTypes.None[[]U]()
	}
	converted := make([]U, len(values))
	for at, value := range values {
		converted[at] = convert(value)
	}
	return witTypes.Some(converted)
}

// Millis is d in whole milliseconds, within what the contract can say.
func Millis(d time.Duration) uint32 { return uint32(min(max(d.Milliseconds(), 0), math.MaxUint32)) }

// Icons as the contract has them.
func Icons(icons []wharf.Icon) witTypes.Option[[]contract.Icon] {
	return List(icons, func(icon wharf.Icon) contract.Icon {
		theme := witTypes.None[contract.IconTheme]()
		switch icon.Theme {
		case "light":
			theme = witTypes.Some(contract.IconTheme_Light)
		case "dark":
			theme = witTypes.Some(contract.IconTheme_Dark)
		}
		sizes := List(icon.Sizes, func(size string) string { return size })
		return contract.Icon{Src: icon.Src, MimeType: Text(icon.MIMEType), Sizes: sizes, Theme: theme}
	})
}

// Annotations as the contract has them.
func Annotations(a *wharf.Annotations) witTypes.Option[contract.Annotations] {
	if a == nil {
		return witTypes.None[contract.Annotations]()
	}
	audience := List(a.Audience, func(role string) contract.Role {
		if role == "user" {
			return contract.Role_User
		}
		return contract.Role_Assistant
	})
	priority, lastModified := witTypes.None[float64](), witTypes.None[float64]()
	if a.Priority != nil {
		priority = witTypes.Some(*a.Priority)
	}
	if !a.LastModified.IsZero() {
		lastModified = witTypes.Some(float64(a.LastModified.UnixMilli()))
	}
	return witTypes.Some(contract.Annotations{Audience: audience, Priority: priority, LastModified: lastModified})
}
