// Command tidewheel is the server, the executor and the command line of Tidewheel, in one binary.
//
// It is the only place that sees every package: it reads flags, opens the stores, wires the parts and ends them in
// the order in which they depend on each other. Decisions live elsewhere.
package main
