// Package incident knows what users are notified of: which ends of runs and waves, starts and slots are signs of something wrong or
// of its end, and the life of the incident that begins with the first sign.
//
// An incident is written in the commit of what it is about. Once that is durable, the notifier gets its beginning, and its end where
// users asked for that; then the incident is removed. One that begins before the notifier has the end of the previous one
// waits in its Next.
//
// A Book holds the incidents of one shard. It is pure: instants are given, what has changed is handed to Outlet. engine/core owns the
// Book, says what happens, and writes.
//
//   - subject.go: whom an incident is of, and what a sign says
//   - entry.go, book.go: where incidents are kept, and how one makes place for the next
//   - life.go: how signs begin and end them
//   - notify.go: the notifier's answers, take-over and the clock
//   - runs.go, waves.go: what is a sign
package incident
