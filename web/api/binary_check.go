package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

// binaryCheckTime is how long a check reads before it says how much is left.
const binaryCheckTime = 20 * time.Second

type binaryCheckAnswer struct{ Body wire.BinaryCheck }

func (a *API) binaryCheck() {
	register(a, huma.Operation{
		OperationID: "check-binaries", Method: http.MethodGet, Path: "/binary-check", Tags: []string{"binaries"},
		Summary: "Check the stored bytes of binaries",
		Description: "Reads the bytes of the versions, the newest of each binary first, and compares them with their sha256. It reads for " +
			binaryCheckTime.String() + " at most; rest says how many were left. A version whose bytes are missing or damaged cannot run: upload it again.",
	}, func(ctx context.Context, in *InNamespace) (*binaryCheckAnswer, error) {
		check, err := a.service.CheckBinaries(ctx, in.Namespace, binaryCheckTime)
		if err != nil {
			return nil, err
		}
		view := wire.BinaryCheck{Checked: check.Checked, Rest: check.Rest, Items: []wire.BinaryFault{}}
		for i := range check.Faults {
			f := &check.Faults[i]
			fault := wire.BinaryFault{Name: f.Name, Version: f.Version.N, SHA256: f.Version.SHA256, Fault: "damaged"}
			if f.Missing {
				fault.Fault = "missing"
			}
			view.Items = append(view.Items, fault)
		}
		return &binaryCheckAnswer{view}, nil
	})
}
