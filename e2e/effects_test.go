package e2e

import "testing"

func TestKilledProgramsChargeOnce(t *testing.T) {
	Effects(t, binary)
}
