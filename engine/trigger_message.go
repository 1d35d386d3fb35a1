package engine

import "time"

// TriggerMessage is a message that was published to the queue in order to start runs.
type TriggerMessage struct {
	Namespace string
	Subject   string // without what names the namespace
	ID        string // one message has one, however often it is delivered
	Data      []byte
	At        time.Time // when it was stored
}
