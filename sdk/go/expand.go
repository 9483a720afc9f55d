package wharf

import "strings"

// Expand is the template with the variables filled in (RFC 6570, section 3.2). One that has no value is left out. Matching, which is the
// inverse, is the host's work.
func Expand(template string, variables Variables) string {
	var uri strings.Builder
	for {
		before, rest, more := strings.Cut(template, "{")
		uri.WriteString(before)
		if !more {
			return uri.String()
		}
		var expression string
		expression, template, _ = strings.Cut(rest, "}")
		expandOne(&uri, expression, variables)
	}
}

// What each operator writes before the first value, between values, and whether with names (RFC 6570, appendix A).
var operators = map[byte]struct {
	first, between string
	named          bool
	ifEmpty        string
}{
	'+': {"", ",", false, ""},
	'#': {"#", ",", false, ""},
	'.': {".", ".", false, ""},
	'/': {"/", "/", false, ""},
	';': {";", ";", true, ""},
	'?': {"?", "&", true, "="},
	'&': {"&", "&", true, "="},
}

func expandOne(uri *strings.Builder, expression string, variables Variables) {
	if expression == "" {
		return
	}
	operator, special := operators[expression[0]]
	reserved := expression[0] == '+' || expression[0] == '#'
	if special {
		expression = expression[1:]
	} else {
		operator.between = ","
	}
	separator := operator.first
	for name := range strings.SplitSeq(expression, ",") {
		name, explode := strings.CutSuffix(name, "*")
		for at, value := range variables[name] {
			if at > 0 && !explode {
				uri.WriteString("," + escaped(value, reserved))
				continue
			}
			uri.WriteString(separator)
			separator = operator.between
			if operator.named {
				uri.WriteString(name)
				if value == "" {
					uri.WriteString(operator.ifEmpty)
					continue
				}
				uri.WriteByte('=')
			}
			uri.WriteString(escaped(value, reserved))
		}
	}
}

func escaped(value string, reserved bool) string {
	const hex = "0123456789ABCDEF"
	var text strings.Builder
	for at := range len(value) {
		c := value[at]
		unreserved := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
		if unreserved || reserved && strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0 {
			text.WriteByte(c)
		} else {
			text.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return text.String()
}
