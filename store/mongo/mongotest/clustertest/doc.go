// Package clustertest runs a whole cluster, each part a process of its own, breaks one part after the other while it
// works, and asks the programs that ran whether anything was lost or done twice: three NATS servers that keep three
// copies, a server of MongoDB's protocol, an S3 gateway, engines, executors of each tier, and web nodes. Run it alone with
//
//	go test ./clustertest -v -args -long -rate 60
//
// What is lost or doubled fails it on any machine; how long it takes until jobs begin in time again, with -long or -strict
// only. The version that works beside this one, and the one that is refused beside it, are built from the history of the repository, by the
// names in the files PREVIOUS and REFUSED.
package clustertest
