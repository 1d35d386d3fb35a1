// Package upgrade starts the program of now on what earlier versions left behind: data folders and databases that
// make-fixture made with earlier commits of this repository, stopped or killed in the middle of their work.
//
// A fixture holds what the old server's API said before its end. All of that must be there, what was due while no server ran must be
// accounted for once, and what had not ended must end once. Check is one function, so that the tests of store/mongo/mongotest use it
// for databases.
package upgrade
