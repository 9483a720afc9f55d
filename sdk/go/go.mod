module wharf

go 1.27.1

// What the world in `wit/` has; `wharf bindings` writes it. The project's go.mod says where it is.
require (
	go.bytecodealliance.org/pkg v0.4.0
	wit_component v0.0.0
)
