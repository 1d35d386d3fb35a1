package memory_test

import (
	"testing"

	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/store/storetest"
)

func TestStoreKeepsItsPromises(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Store { return memory.New() })
}
