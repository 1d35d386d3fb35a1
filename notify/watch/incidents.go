package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// Incidents lists what is wrong with the installation and was asked for by its rules, the latest begun first.
func Incidents(ctx context.Context, of engine.Records) ([]engine.Incident, error) {
	records, err := list(ctx, of, incidentPrefix)
	if err != nil {
		return nil, err
	}
	incidents := make([]engine.Incident, len(records))
	for i := range records {
		if err := json.Unmarshal(records[i].Data, &incidents[i]); err != nil {
			return nil, fmt.Errorf("read %s: %w", records[i].Key, err)
		}
	}
	slices.SortFunc(incidents, func(a, b engine.Incident) int {
		return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.ID, b.ID))
	})
	return incidents, nil
}
