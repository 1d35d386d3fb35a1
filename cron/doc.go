// Package cron says when a job is due.
//
// A [Definition] is what a user wrote: cron expressions, a fixed rate, a fixed
// delay or one instant, with a time zone, an active window and exclusions.
// [Compile] checks all of it and returns a [Schedule], or every fault at once.
// A Schedule is immutable, may be shared between goroutines, reads no clock,
// and answers the questions of the engine, the pages and the command line by
// the same code: [Schedule.Next], [Schedule.NextFire], [Schedule.Between],
// [Schedule.Excluded], [Schedule.Preview] and [Schedule.Describe].
//
// # Expressions
//
// An expression has 5 fields (minute, hour, day of month, month, day of week),
// 6 with seconds first, or 7 with seconds first and the year last. Six fields
// whose last one holds a year of four digits are the 5 fields and a year.
//
//	value     5, JAN, MON; 7 is Sunday too
//	list      1,15,30
//	range     9-17, MON-FRI, FRI-SUN
//	step      */5, 10/15, 9-17/2
//	any       * or ?
//	L         day of month: the last day; L-3, three days before it; LW, the last weekday; day of week: 5L, the last Friday
//	W         day of month: 15W, the weekday nearest the 15th in that month
//	#         day of week: 1#2, the second Monday
//	H         a stable value for Definition.Key: H, H(0-29), H/15, H(0-29)/10
//	tag       @yearly @monthly @weekly @daily @hourly and gronx's others; @every 90s
//
// When day of month and day of week are both restricted, a day that satisfies
// either is taken, as in every cron; a field that begins with * does not count
// as restricted, even with a step, and then both must hold. What ranges, steps, L, W and # mean is asked of
// github.com/adhocore/gronx once, at Compile; see docs/adr/0003. docs/schedules.md
// has the same for users, with an example of each rule.
//
// # Clocks that change
//
// The fields are read on the wall clock of the time zone. Where the hour field
// is made of values and ranges only, each wall time it names fires exactly once,
// at the first instant at which the wall clock has reached it: in a gap
// (spring) that is the first instant after the gap, however many slots lie in
// the gap, and of a repeated time (autumn) it is the first. Where the hour field
// holds *, ? or a step, the schedule follows elapsed time: an instant fires when
// its wall time matches, so nothing is added after a gap and both passes of a
// repeated hour fire. Fixed rates and fixed delays never look at the wall clock.
//
// # Exclusions
//
// A window excludes every slot in [From, To). An expression excludes what it
// names at its own resolution: without a seconds field it names whole minutes,
// so "0 3 25 12 *" excludes the slot of 03:00 on Christmas (and one of 03:00:30),
// and "* * 25 12 *" excludes every slot of that day. Both passes of a repeated
// time are excluded. A slot that a gap has moved is judged by the wall times for
// which it was planned: it is excluded when all of them are.
//
// # Bounds
//
// Slots lie from 1970 to 2199 and are whole milliseconds. Whatever the
// expression, Compile and Next end within milliseconds.
//
// This package imports the standard library (time zones embedded) and gronx,
// nothing else, and may not ask for the time: time is an argument.
package cron
