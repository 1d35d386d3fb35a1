// Package memory keeps everything in maps. It is for tests and for the simulator: it is fast, forgets all when it is
// dropped, and returns for the same calls the same lists in the same order every time.
//
// It keeps every promise of store/storetest. Nothing that it is given or gives is shared with its caller. All methods
// may be called by any number of goroutines.
//
// It may import engine and the standard library's pure packages.
package memory
