package engine

import (
	"math"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/spec"
)

func TestWaveRunIDsHoldTheRunsOfAWaveAndNoOthers(t *testing.T) {
	in := func(wave, run string) bool {
		for _, ids := range WaveRunIDs(wave) {
			if run >= ids[0] && run < ids[1] {
				return true
			}
		}
		return false
	}
	one, manual := WaveID("abc", 1), ManualWaveID("abc", "key")
	for _, wave := range []string{one, manual, WaveID("abc", 10), WaveID("abc", 11)} {
		for _, other := range []string{one, manual, WaveID("abc", 10), WaveID("abc", 11)} {
			for _, run := range []string{TaskRunID(other, "join"), TaskRunID(other, "Join-all_2"), ItemRunID(other, 0, "i"), ItemRunID(other, 117, "0")} {
				if in(wave, run) != (wave == other) {
					t.Errorf("run %s counts as one of wave %s: %v", run, wave, in(wave, run))
				}
			}
		}
	}
	for _, none := range []string{"", "abc", "abc-", "abc-w", "abc-w1i0", "abc-w1-join", "abc-s1", manual + "i0", "-w1"} {
		if ids := WaveRunIDs(none); ids != [2][2]string{} {
			t.Errorf("%q counts as a wave: %v", none, ids)
		}
	}
}

func TestRunTaskNamesTheTask(t *testing.T) {
	wave := WaveID("abc", 12)
	for id, want := range map[string]string{
		TaskRunID(wave, "join-all"): "join-all", ItemRunID(wave, 3, "join"): "join", ItemRunID(ManualWaveID("abc", "key"), 0, "a"): "a",
		"abc-s1700000000000": "", ManualRunID("abc", "key"): "", "": "",
	} {
		if got := RunTask(id); got != want {
			t.Errorf("%q names the task %q, want %q", id, got, want)
		}
	}
}

func TestRunIDsHoldTheLongestNameOfATask(t *testing.T) {
	task := strings.Repeat("x", spec.MaxNameLength)
	const uid = "h5zq3x7rk2mnp4ab"
	for _, wave := range []string{WaveID(uid, math.MaxInt32), ManualWaveID(uid, "key")} {
		for _, id := range []string{TaskRunID(wave, task), ItemRunID(wave, dag.MaxItems-1, task)} {
			if !ValidID(id) {
				t.Errorf("%s with %d characters is no id", id, len(id))
			}
		}
	}
}
