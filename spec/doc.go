// Package spec holds what users write: the definitions of a [Job] and of a
// [DAG], read from YAML files and JSON bodies, completed with defaults, checked, and described
// by a JSON Schema.
//
// # What it promises
//
//   - Strictness. An unknown key, a repeated key, a value of the wrong type or
//     outside its bounds is refused, never ignored. One call reports every
//     problem of a file, each as file:line:column with a sentence that says
//     what to write instead ([Problem]).
//   - Safety. [Decode], [DecodeJob] and [DecodeDAG] take bytes from strangers: size, depth,
//     alias expansion and the number of reported problems are bounded, and no
//     input makes them panic.
//   - One meaning. [Job.Equal] reports whether two definitions ask for the same
//     thing, however they were written; [Encode] writes the shortest YAML that
//     reads back as the same job.
//   - Purity. Nothing here reads a clock, a file or the environment.
//
// # Conventions
//
// The JSON form of a Job is both the stored form and the form of the API: keys
// are snake_case, durations are Go's ("90s"), sizes carry a unit ("256MiB"),
// times are RFC 3339. The zero value of a field means "not given";
// [Job.ApplyDefaults] replaces it, and a document cannot state such a zero
// itself where it would mean something else.
//
// A DAG may have a schedule of its own: it is that of the roots which have none.
//
// spec imports cron, dag and dag/condition, and nothing else of Tidewheel.
package spec
