// Package timers asks the host to be called later. The world needs `import wharf:provider/timers@0.1.0` and `export
// wharf:provider/timer-handler@0.1.0`; `live-provider` has both.
package timers

import "time"

type timer struct {
	work  func()
	every bool
}

var (
	running = map[string]timer{}
	// What the host does. Natively, in `go test`, time stands still: a test calls [Fire].
	start  = func(name string, after, every time.Duration) error { return nil }
	cancel = func(name string) {}
)

// Every calls work each d from now on; 100 ms is the least. A timer of the same name is replaced. A late one fires once, not once for each
// period missed.
func Every(name string, d time.Duration, work func()) error { return begin(name, d, d, work) }

// After calls work once, d from now.
func After(name string, d time.Duration, work func()) error { return begin(name, d, 0, work) }

func begin(name string, after, every time.Duration, work func()) error {
	if err := start(name, after, every); err != nil {
		return err
	}
	running[name] = timer{work, every > 0}
	return nil
}

// Cancel stops a timer: after this returned it does not fire any more. Fine if there is none of that name.
func Cancel(name string) {
	delete(running, name)
	cancel(name)
}

// Fire calls what these timers are for. The host does so; a test may.
func Fire(names ...string) {
	for _, name := range names {
		timer, ok := running[name]
		if !ok {
			continue
		}
		if !timer.every {
			delete(running, name)
		}
		timer.work()
	}
}
