// Package shapes predicts how MongoDB answers a command from the indexes of a collection, by its documented rules and
// without a server: an index narrows a query by equalities first and one range after them, it gives the order of a sort
// if the keys before it are fixed, and one that is partial helps only a query that asks for no more than it holds.
//
// The shape of a command is what these rules look at: its fields, how each is bounded, and its order, but not the
// values. So the shapes of all that a program sends are few, and each can be judged.
//
// See https://www.mongodb.com/docs/manual/tutorial/equality-sort-range-guideline/ and
// https://www.mongodb.com/docs/manual/core/index-partial/.
package shapes
