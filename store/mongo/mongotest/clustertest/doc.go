// Package clustertest runs a whole cluster, each part a process of its own, breaks one part after the other while it
// works, and asks the programs that ran whether anything was lost or done twice: three NATS servers that keep three
// copies, a server of MongoDB's protocol, an S3 gateway, engines, executors of each tier, and web nodes. Run it alone with
//
//	go test ./clustertest -v -args -long -rate 60
package clustertest
