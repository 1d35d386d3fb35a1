// Package e2e holds checks of the whole system as its users have it: the real program, started as a process of its
// own, killed and started again, and judged by what the jobs themselves have written down.
//
// A check is a function, so that the same one runs on the embedded parts (in this package's tests) and on others, such
// as MongoDB (in the tests of store/mongo/mongotest). It speaks to the server by its API alone and may import client
// and the vocabulary, nothing else of Tidewheel.
package e2e
