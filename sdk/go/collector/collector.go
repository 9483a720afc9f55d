// Package collector keeps Go's garbage collector out of the moments in which it would end the instance.
//
// When the host hands over a string, it calls the exported cabi_realloc for the room. A component may call nothing from in there, and the
// collector reads the clock and polls timers, which are calls of the host: where an allocation sets it off at such a moment, the instance
// dies of "cannot leave component instance" (https://github.com/bytecodealliance/wasmtime/issues/14318), some thousand reads after it was
// started. So it is off, but while the author's own code runs; and it is off again around each import whose answer has to be given room.
//
// The glue and the packages here see to that. It concerns an author who calls generated imports directly: put
//
//	defer collector.Resume(collector.Hold())
//
// into a function that does.
package collector

import "runtime/debug"

// As a process outside has it: a collection when the heap has doubled since the last one.
const percent = 100

// GOGC=off.
const off = -1

func init() { Hold() }

// Allow lets it run. For the glue, once an export has got its arguments.
func Allow() { debug.SetGCPercent(percent) }

// Hold stops it, after it has ended what it is at, and returns what was before.
func Hold() int { return debug.SetGCPercent(off) }

// Resume makes it as it was before.
func Resume(before int) { debug.SetGCPercent(before) }
