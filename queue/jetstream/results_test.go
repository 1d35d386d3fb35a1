package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// TestFloorOfLostMessages is a power cut that took the end of RESULTS and not the floor: the sequences up to the floor
// are given again, to other messages, which must be delivered.
func TestFloorOfLostMessages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		floor func(last *stored) floor
		want  int // results delivered of 5
	}{
		"the same message":    {func(last *stored) floor { return floor{last.sequence, last.at} }, 0},
		"another message":     {func(last *stored) floor { return floor{last.sequence, last.at.Add(-time.Minute)} }, 5},
		"behind the last one": {func(last *stored) floor { return floor{last.sequence + 100, last.at.Add(time.Minute)} }, 5},
		"never read":          {func(*stored) floor { return floor{} }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t, t.TempDir(), "")
			t.Cleanup(func() { shutdown(t, server) })
			q := connect(t, Config{Server: server})
			for i := range 5 {
				result := engine.Result{Kind: engine.ResultStarted, Run: fmt.Sprintf("run-%d", i), Attempt: 1, Shard: 3}
				if _, err := q.Claim(t.Context(), result); err != nil {
					t.Fatal(err)
				}
			}
			last, err := q.last(t.Context(), q.names.results, q.names.shard(3))
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(test.floor(last))
			if err != nil {
				t.Fatal(err)
			}
			message := newOutgoing(q.names.floor(3))
			message.Data = append(message.Data, data...)
			if _, err := q.publish(t.Context(), message, nil); err != nil {
				t.Fatal(err)
			}

			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var got []engine.Result
			ended := make(chan error, 1)
			go func() {
				ended <- q.Results(ctx, 3, func(d shard.Delivery) {
					got = append(got, d.Results...)
					if got[len(got)-1].Run == "end" {
						cancel()
					}
				})
			}()
			// One more shows that all before it were delivered.
			if _, err := q.Claim(t.Context(), engine.Result{Kind: engine.ResultStarted, Run: "end", Attempt: 1, Shard: 3}); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if len(got) != test.want+1 {
				t.Errorf("%d results before the last, want %d", len(got)-1, test.want)
			}
		})
	}
}
