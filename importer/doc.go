// Package importer turns definitions of other schedulers into jobs and DAGs: crontabs, Kubernetes CronJobs, Argo CronWorkflows,
// dagu's DAGs and Airflow's DAGs of BashOperators.
//
// What it promises:
//   - All that it returns is valid: [Result.Documents] are accepted as they stand, once their program is uploaded.
//   - Nothing is left out in silence: what does not map is a [Note] with its line.
//   - Nothing of the input is run. Airflow's files are read as text.
//
// The others run shell commands or images, Tidewheel runs uploaded programs. A command becomes an argument of one program, [Shell].
//
// It imports spec and a YAML reader, and nothing else of Tidewheel.
package importer
