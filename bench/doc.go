// Command bench measures the whole system, with the machine's own limit beside it in the same run, and prints what it
// found against the budgets of the design.
//
//	go run ./bench                      every scenario, a few minutes
//	go run ./bench -only lag,throughput,waves
//	go run ./bench -repeat 3            each scenario three times, one after the other
//
// The server is a real process, bin/tidewheel, on a folder of its own; programs are real processes that report the
// instant at which they began. Only the scenarios "engine", "rates" and "instant" run inside this process, since they replace the
// program by nothing at all. The machine may be shared: compare figures of one run with each other, not with another day's, and
// look at CPU seconds before rates.
package main
