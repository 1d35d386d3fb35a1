// Package sqlite keeps the truth of one machine in a single file: the embedded default, in pure Go.
//
// It keeps every promise of store/storetest, and these of its own:
//
//   - What was answered is on the disk: write-ahead log, full synchronisation.
//   - One goroutine writes. It takes all writes that wait, does them in one transaction and synchronises once, so that
//     a write costs little CPU and many writers share one wait for the disk. Readers have connections of their own and
//     never wait for it; a read has one of them and never asks for a second. The engine reads with connections that pages
//     cannot take (Store.ForEngine).
//   - Runs that have not ended are held in memory and kept as a log of records, one for each transaction, which is read
//     when the file is opened; a run that has ended is moved to the table runs_history. So a run's several writes cost
//     little, and touch indexes once. The price is memory: about 500 bytes for each run that has not ended.
//   - A page of history looks at a bounded number of runs. Where a filter finds little, a page may be shorter than its
//     limit, even empty, and its cursor says where to continue.
//   - A damaged file is refused with engine.ErrDamaged, or not used any more once damage is found (check.go).
//   - A full disk refuses writes with engine.ErrFull and does no harm: once there is space, writes succeed again.
//
// Instants that are queried are kept to the millisecond, those inside a run to the microsecond. A run's id begins with
// its job's uid and '-', that of a task's run with its wave's id (engine.WaveRunIDs), and its id, job and namespace never
// change.
//
// It may import engine, spec and modernc.org/sqlite.
package sqlite
