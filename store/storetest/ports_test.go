package storetest_test

import (
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// What the suite is about is what the engine asks for, and every adapter offers it.
var (
	_ shard.Store = storetest.Store(nil)

	_ storetest.Store = (*memory.Store)(nil)
	_ storetest.Store = (*sqlite.Store)(nil)
	_ storetest.Store = (*mongo.Store)(nil)
)
