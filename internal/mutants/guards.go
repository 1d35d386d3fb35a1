package main

import "slices"

// all lists every guard that is tried.
func all() []mutant {
	return slices.Concat(queueGuards, executorGuards, storeGuards, shellGuards, slotGuards, runGuards, overlapGuards, editGuards, waveGuards, leaseGuards, incidentGuards)
}
