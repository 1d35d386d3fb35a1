package engine

import "time"

// Trigger is what started a run.
type Trigger string

// The triggers.
const (
	TriggerSchedule Trigger = "schedule"
	TriggerCatchUp  Trigger = "catch_up" // a slot that an outage or a pause had passed over
	TriggerBackfill Trigger = "backfill"
	TriggerManual   Trigger = "manual"
	TriggerEvent    Trigger = "event"    // a webhook, or the success of another definition: By says which
	TriggerUpstream Trigger = "upstream" // of a task in a wave: what it needs has ended
)

// TriggerMessage is a message that was published to the queue in order to start runs.
type TriggerMessage struct {
	Namespace string
	Subject   string // without what names the namespace
	ID        string // one message has one, however often it is delivered
	Data      []byte
	At        time.Time // when it was stored
}
