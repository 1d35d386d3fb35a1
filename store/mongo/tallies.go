package mongo

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// Tallies counts the runs of a namespace that were made within each window: each status by itself, so that an index
// answers it and the few that failed are found behind any number that succeeded.
func (s *Store) Tallies(ctx context.Context, namespace string, windows []engine.Window, limit int) ([]engine.Tallies, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	all := make([]engine.Tallies, len(windows))
	var mu sync.Mutex
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(marksAtOnce)
	for i, window := range windows {
		made, _ := newestFirst("created_at", window.From, window.Until, nil)
		base := append(bson.D{{Key: "namespace", Value: namespace}}, made...)
		for _, status := range engine.Statuses() {
			if !status.Terminal() {
				continue
			}
			ended := append(bson.D{{Key: "status", Value: status.String()}, {Key: "active", Value: false}}, base...)
			group.Go(func() error {
				n, err := s.oldRuns.CountDocuments(within, ended, options.Count().SetLimit(int64(limit)+1))
				mu.Lock()
				defer mu.Unlock()
				all[i][status] = engine.Tally{N: min(int(n), limit), More: int(n) > limit}
				return err
			})
		}
		group.Go(func() error {
			tallies, err := s.tallyActive(within, append(bson.D{{Key: "active", Value: true}}, base...), limit)
			mu.Lock()
			defer mu.Unlock()
			for _, status := range engine.Statuses() {
				if !status.Terminal() {
					all[i][status] = tallies[status]
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, s.failed("count runs", err)
	}
	return all, nil
}

// activeLooked is how many runs that have not ended are looked at for one count.
const activeLooked = 5_000

func (s *Store) tallyActive(ctx context.Context, condition bson.D, limit int) (tallies engine.Tallies, err error) {
	type active struct {
		Status string `bson:"status"`
	}
	opts := options.Find().SetProjection(projection("status")).SetSort(descending("created_at", "_id")).SetLimit(activeLooked)
	found, err := find[active](ctx, s.oldRuns, condition, opts)
	if err != nil {
		return tallies, err
	}
	for _, run := range found {
		status, err := engine.ParseStatus(run.Status)
		if err != nil {
			return tallies, err
		}
		if tally := &tallies[status]; tally.N < limit {
			tally.N++
		} else {
			tally.More = true
		}
	}
	if len(found) == activeLooked {
		for _, status := range engine.Statuses() {
			tallies[status].More = tallies[status].More || !status.Terminal()
		}
	}
	return tallies, nil
}

// RecentSlots lists ledger entries of a namespace that end at or after an instant, the latest end first.
func (s *Store) RecentSlots(ctx context.Context, namespace string, since time.Time, limit int) ([]engine.SlotRange, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	condition := bson.D{{Key: "to", Value: bson.D{{Key: "$gte", Value: date(since)}}}, {Key: "namespace", Value: namespace}}
	slots, err := list[slotDocument](ctx, s.oldSlots, condition, options.Find().SetSort(descending("to")).SetLimit(int64(limit)))
	return slots, s.failed("list recent slots", err)
}
