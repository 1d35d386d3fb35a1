// Package archtest holds the architecture to what it says of itself: which package may import which, which libraries
// stay behind which adapter, and what a pure package may touch. It has only tests; rules_test.go is the table to read
// and to change, check_test.go the code that applies it.
//
// A package that is missing from the table fails the test: the commit that adds a package also says where it stands.
package archtest
