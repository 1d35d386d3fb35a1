// Package chaostest is chaos with several engines: e2e/chaos breaks a cluster whose engines share a server of MongoDB's
// protocol, an S3 and a NATS. It is apart because that server must not be part of the product's module.
package chaostest
