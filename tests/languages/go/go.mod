module contract

go 1.27.1

require (
	go.bytecodealliance.org/pkg v0.4.0
	wharf v0.0.0
	wit_component v0.0.0
)

replace (
	go.bytecodealliance.org/pkg => ./gen/go.bytecodealliance.org/pkg
	wharf => ./wharf
	wit_component => ./gen
)
