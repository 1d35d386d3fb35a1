package engine

import "strconv"

// Collection names one of the sets of documents that the truth consists of.
type Collection string

// The collections. CollectionJobs and CollectionDAGs hold tombstones too; the generations hold every version of a
// definition that is kept, the current one included.
const (
	CollectionBinaries       Collection = "binaries"
	CollectionJobs           Collection = "jobs"
	CollectionGenerations    Collection = "generations"
	CollectionDAGs           Collection = "dags"
	CollectionDAGGenerations Collection = "dag_generations"
	CollectionWaves          Collection = "waves"
	CollectionRuns           Collection = "runs"
	CollectionEffects        Collection = "effects"
	CollectionSlots          Collection = "slots"
	CollectionDeadLetters    Collection = "dead_letters"
	CollectionIncidents      Collection = "incidents"
	CollectionScheduledTasks Collection = "scheduled_tasks"
	CollectionCommands       Collection = "commands"
	CollectionSharedKeys     Collection = "shared_keys"
	CollectionRecords        Collection = "records"
)

// Collections lists them all, in an order in which they may be put into an empty store: a generation after what it is
// a version of.
func Collections() []Collection {
	return []Collection{
		CollectionBinaries, CollectionJobs, CollectionGenerations, CollectionDAGs, CollectionDAGGenerations, CollectionWaves,
		CollectionRuns, CollectionEffects, CollectionSlots, CollectionDeadLetters, CollectionIncidents, CollectionScheduledTasks, CollectionCommands,
		CollectionSharedKeys, CollectionRecords,
	}
}

// Document is one whole document of the truth, as it is moved from one store to another: a Binary, Job, Generation,
// DAG, DAGGeneration, Wave, Run, RunEffect, SlotRange, DeadLetter, Incident, ScheduledTask, Command, SharedKey or Record.
type Document interface {
	// Place returns the collection of the document, and its id, which is unique in the collection.
	Place() (Collection, string)
}

// Place is the binary's place among all documents.
func (b Binary) Place() (Collection, string) { return CollectionBinaries, b.Key() }

// Place is the definition's place among all documents.
func (d Definition[S]) Place() (Collection, string) {
	if isDAG[S]() {
		return CollectionDAGs, d.UID
	}
	return CollectionJobs, d.UID
}

// Place is the generation's place among all documents.
func (g GenerationOf[S]) Place() (Collection, string) {
	id := generationID(g.UID, g.Generation)
	if isDAG[S]() {
		return CollectionDAGGenerations, id
	}
	return CollectionGenerations, id
}

// Place is the wave's place among all documents.
func (w Wave) Place() (Collection, string) { return CollectionWaves, w.ID }

// Place is the run's place among all documents.
func (r Run) Place() (Collection, string) { return CollectionRuns, r.ID }

// Place is the effect's place among all documents.
func (e RunEffect) Place() (Collection, string) { return CollectionEffects, e.Run + "/" + e.Key }

// Place is the range's place among all documents.
func (s SlotRange) Place() (Collection, string) { return CollectionSlots, s.ID }

// Place is the dead letter's place among all documents.
func (d DeadLetter) Place() (Collection, string) { return CollectionDeadLetters, d.RunID }

// Place is the incident's place among all documents.
func (i Incident) Place() (Collection, string) { return CollectionIncidents, i.ID }

// Place is the scheduled task's place among all documents.
func (t ScheduledTask) Place() (Collection, string) { return CollectionScheduledTasks, t.ID }

// Place is the command's place among all documents.
func (c Command) Place() (Collection, string) { return CollectionCommands, c.ID }

// SharedKey is a secret that all nodes share, by what it is for.
type SharedKey struct {
	Name string `json:"name"`
	Key  []byte `json:"key"`
}

// Place is the key's place among all documents.
func (k SharedKey) Place() (Collection, string) { return CollectionSharedKeys, k.Name }

func generationID(uid string, generation int64) string {
	return uid + "-g" + strconv.FormatInt(generation, 10)
}

// DocumentPages gives at most limit documents of a collection, each whole, in an order of the store's own: the first
// ones, or those after the place that the page before named. next is "" where the collection ends. A page may be shorter
// than its limit, so that it does not become too large for memory.
type DocumentPages func(of Collection, from string, limit int) (page []Document, next string, err error)
