// Package chaos runs a whole Tidewheel as separate processes, breaks them at random, and asks the programs themselves
// what happened to it.
//
// The parts are a NATS, an engine with the pages and the embedded stores, executors, and lockers, which take locks as
// executors do and write down each question and its answer. Or several engines share a database and an S3, which are
// parts, too: that needs a server of MongoDB's protocol, which store/mongo/mongotest/chaostest brings. A seed decides the
// schedule of faults: a part is killed, suspended and resumed, told to stop in good order, cut off the network, or given
// a full or a slow disk; S3 and the database return errors or break connections. Each part is restarted when it ends, as
// a service manager would. Meanwhile users edit, pause, delete, cancel, retry and backfill. Then the faults stop, all
// work runs to its end, and the test judges the journal that the programs wrote: a line when a program begins, some while
// it works, and one when it ends.
//
// With the rights to do so, the clock of an executor is minutes off, and each part lives in a network namespace of its
// own, whose link is taken down to cut it off; elsewhere parts speak through connections that can be stalled or broken.
// With the right to mount, the disks that get full or slow are small file systems of their own; elsewhere no disk gets
// full, and the run says so.
//
// It speaks to the servers by their API and their command line alone. Only NATS and the lockers, which are this test's
// own processes, are made of Tidewheel's packages.
package chaos
