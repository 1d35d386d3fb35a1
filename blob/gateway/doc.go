// Package gateway runs an S3 server inside this process, for the all-in-one
// server that has no S3 of its own.
//
// It promises three things. Every request is checked for its signature. What
// was acknowledged has reached the disk, so a power cut does not lose or tear
// it. And data and credentials survive a restart: objects are plain files under
// DATA/s3, the credentials are in DATA/s3.json with mode 0600.
//
// It is made of github.com/versity/versitygw with its posix backend. That
// library keeps package-level state, so one process runs one gateway at a time.
// It also expects to own the working directory of the process; see backend.go
// for how it is kept from it.
//
// The package imports no other package of Tidewheel. Clients reach the gateway
// with package blob, exactly as they reach any other S3.
package gateway
