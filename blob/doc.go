// Package blob keeps what is too big for the database in S3: uploaded programs
// and the output of runs. It works against any S3, the one embedded in the
// all-in-one server (package blob/gateway) being reached like any other.
//
// What it promises:
//   - A binary is stored once per content, under its SHA-256, and appears whole
//     or not at all. A broken upload leaves nothing behind; what a killed
//     process leaves, SweepUploads removes.
//   - Memory stays flat: at most three parts of 8 MiB for an upload of any size,
//     a few chunks for a log of any size.
//   - The place of a byte of a log follows from its offset, and the place of a
//     line from a small index, so no read scans the log.
//   - Errors say what to do: which setting is wrong, what is out of reach.
//
// Layout below the configured prefix:
//
//	tidewheel.json                    marks the bucket as Tidewheel's
//	binaries/<sha256>                 the programs
//	unused/<sha256>                   marks a program that nothing refers to, since when
//	staging/<random>                  uploads whose digest is not known yet
//	logs/<run>/<attempt>/<chunk>      output, in chunks of 4 MiB
//	logs/<run>/<attempt>/index.json   its lines
//
// It imports no other package of Tidewheel, and it alone sees the AWS SDK.
package blob
