// Package webtest is what tests of the web put below it: a service over store/memory, with a queue and a store of
// bytes that live in memory and can be made to fail. Only test files import it.
package webtest
