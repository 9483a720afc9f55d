// Package wharf is what a Wharf provider in Go is written with: an author says which resources there are and what they hold, and never
// parses a URI.
//
//	func provider() *wharf.Provider {
//		p := &wharf.Provider{}
//		p.Resource(wharf.Resource{
//			URI:  "tide://sentence",
//			Read: func(wharf.Request) (wharf.Reading, error) { return wharf.Text("The tide is coming in."), nil },
//		})
//		p.Template(wharf.Template{
//			URI:  "tide://greeting/{name}",
//			Read: func(r wharf.Request) (wharf.Reading, error) { return wharf.Text("Hello, " + r.Variable("name") + "!"), nil },
//		})
//		return p
//	}
//
//	func init() { wharf.Serve(provider()) }
//
//	func main() {} // never run: a provider is called by the host
//
// Timers, files, fetches, webhooks and state are packages of their own below this one. Each needs its interface in the world of
// `wit/world.wit`, and costs nothing where it is not imported.
//
// A provider runs only while the host calls it, one call at a time. So: no goroutine that outlives a call, no sleeping, no waiting; and no
// mutex is needed. On the machine of the author (`go test`) this package works without a host: call [Provider.Read] and the others.
package wharf
