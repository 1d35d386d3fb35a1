package templates

import "strings"

// look is how a status is shown: a word, a tone of colour and a shape.
type look struct {
	word, tone, shape string
	turning           bool
}

// statusLook knows the statuses of runs and of slots; another word is shown as it is.
func statusLook(status string) look {
	switch status {
	case "scheduled":
		return look{word: "scheduled", tone: "idle", shape: "ring"}
	case "queued":
		return look{word: "queued", tone: "idle", shape: "dots"}
	case "running":
		return look{word: "running", tone: "busy", shape: "wheel", turning: true}
	case "retrying":
		return look{word: "retrying", tone: "warn", shape: "again"}
	case "succeeded":
		return look{word: "succeeded", tone: "good", shape: "check"}
	case "fired":
		return look{word: "fired", tone: "good", shape: "check"}
	case "failed":
		return look{word: "failed", tone: "bad", shape: "cross"}
	case "timed_out":
		return look{word: "timed out", tone: "bad", shape: "clock"}
	case "cancelled":
		return look{word: "cancelled", tone: "idle", shape: "slash"}
	case "lost":
		return look{word: "lost", tone: "bad", shape: "question"}
	case "dead":
		return look{word: "dead", tone: "bad", shape: "stop"}
	case "skipped":
		return look{word: "skipped", tone: "idle", shape: "skip"}
	case "missed":
		return look{word: "missed", tone: "warn", shape: "gap"}
	case "paused":
		return look{word: "paused", tone: "warn", shape: "pause"}
	case "active":
		return look{word: "active", tone: "good", shape: "wheel"}
	case "draining":
		return look{word: "draining", tone: "warn", shape: "pause"}
	case "drained":
		return look{word: "drained", tone: "idle", shape: "pause"}
	case "leaving":
		return look{word: "leaving", tone: "warn", shape: "skip"}
	case "delivered":
		return look{word: "delivered", tone: "good", shape: "check"}
	case "held":
		return look{word: "held", tone: "idle", shape: "dots"}
	case "silenced":
		return look{word: "silenced", tone: "idle", shape: "pause"}
	case "slow":
		return look{word: "slow", tone: "warn", shape: "clock"}
	case "waiting":
		return look{word: "waiting", tone: "busy", shape: "dots"}
	case "unserved":
		return look{word: "unserved", tone: "bad", shape: "stop"}
	case "closed":
		return look{word: "not served", tone: "idle", shape: "slash"}
	case "clear":
		return look{word: "clear", tone: "good", shape: "check"}
	case "late":
		return look{word: "late", tone: "warn", shape: "clock"}
	case "silent":
		return look{word: "silent", tone: "bad", shape: "gap"}
	case "ready":
		return look{word: "ready", tone: "good", shape: "check"}
	}
	return look{word: strings.ReplaceAll(status, "_", " "), tone: "idle", shape: "ring"}
}

// tierIcon knows the tiers; another one gets the icon of the lightest.
func tierIcon(tier string) string {
	switch tier {
	case "medium":
		return "tier-2"
	case "heavy":
		return "tier-3"
	}
	return "tier-1"
}
