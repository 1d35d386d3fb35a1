package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// commands returns what was left for the engine about a DAG: "start_wave <wave>".
func commands(t *testing.T, w *webtest.World, shard int) []engine.Command {
	t.Helper()
	all, err := w.Store.Commands(t.Context(), []int{shard}, 5000)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWaveIsAskedForOncePerKey(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, diamond)
	ask := service.Start{By: "ann", Key: "k", Payload: json.RawMessage(`{"a": 1}`), Args: map[string]string{"DAY": "7"}}
	wave, existed, err := w.StartWave(t.Context(), "default", "etl", ask)
	if err != nil || existed || wave.ID != engine.ManualWaveID(d.UID, "k") || wave.Status != engine.StatusScheduled || wave.Trigger != engine.TriggerManual || wave.Args["DAY"] != "7" {
		t.Fatalf("%+v %t %v", wave, existed, err)
	}
	again, existed, err := w.StartWave(t.Context(), "default", "etl", ask)
	if err != nil || !existed || again.ID != wave.ID {
		t.Errorf("%+v %t %v", again, existed, err)
	}
	left := commands(t, w, d.Shard)
	if len(left) != 1 || left[0].Kind != engine.CommandStartWave || left[0].RunID != wave.ID || left[0].JobUID != d.UID {
		t.Errorf("left %+v", left)
	}
	for _, other := range []service.Start{{By: ask.By, Key: ask.Key, Args: ask.Args}, {By: ask.By, Key: ask.Key, Args: ask.Args, Payload: ask.Payload, At: w.Now.Add(time.Hour)}} {
		_, _, err = w.StartWave(t.Context(), "default", "etl", other)
		refused(t, err, service.KindInvalid, "key_reused")
	}
	ask.Key, ask.At = "later", w.Now.Add(time.Hour)
	if wave, _, err = w.StartWave(t.Context(), "default", "etl", ask); err != nil || !wave.NotBefore.Equal(ask.At) {
		t.Errorf("for later: %+v %v", wave, err)
	}
	if _, existed, err = w.StartWave(t.Context(), "default", "etl", ask); err != nil || !existed {
		t.Errorf("for later, once more: %t %v", existed, err)
	}
	for code, bad := range map[string]service.Start{
		"payload_not_json":  {Payload: json.RawMessage("x")},
		"payload_too_large": {Payload: json.RawMessage(`"` + strings.Repeat("x", service.MaxPayload) + `"`)},
		"invalid_argument":  {Args: map[string]string{"TIDEWHEEL_JOB": "x"}},
	} {
		_, _, err := w.StartWave(t.Context(), "default", "etl", bad)
		refused(t, err, service.KindInvalid, code)
	}
	_, _, err = w.StartWave(t.Context(), "default", "nothing", service.Start{})
	refused(t, err, service.KindNotFound, "dag_not_found")
}

func TestBackfillMakesWavesOfSlotsThatNoneHas(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, diamond)
	// A wave of the schedule has had 10:00, of both roots.
	wave := w.OpenWave(d, 1, webtest.Start.Add(-2*time.Hour))
	w.PutWave(t, wave)
	w.PutWave(t, webtest.EndWave(wave, engine.StatusSucceeded))
	for _, root := range []string{"orders", "rates"} {
		w.PutRun(t, w.TaskRun(wave, root, engine.StatusSucceeded))
	}
	from, to := webtest.Start.Add(-2*time.Hour), webtest.Start.Add(time.Minute)
	slots := func(plan service.DAGBackfill) string {
		var all []string
		for _, one := range plan.Waves {
			word := fmt.Sprintf("orders=%s rates=%s", one.Slots["orders"].Format("15:04"), one.Slots["rates"].Format("15:04"))
			if one.Wave != "" {
				word += " " + one.Status.String()
			}
			all = append(all, word)
		}
		return strings.Join(all, ", ")
	}
	const want = "orders=10:00 rates=10:00 succeeded, orders=11:00 rates=10:30, orders=12:00 rates=11:30"
	plan, err := w.BackfillDAG(t.Context(), "default", "etl", from, to, "ann", true)
	if err != nil || plan.New != 2 || slots(plan) != want {
		t.Errorf("%d: %s, %v", plan.New, slots(plan), err)
	}
	if left := commands(t, w, d.Shard); len(left) != 0 {
		t.Errorf("a dry run has left %+v", left)
	}
	if plan, err = w.BackfillDAG(t.Context(), "default", "etl", from, to, "ann", false); err != nil || plan.New != 2 {
		t.Fatalf("%+v, %v", plan, err)
	}
	left := commands(t, w, d.Shard)
	if len(left) != 2 || left[0].Kind != engine.CommandStartWave || left[0].Wave == nil || left[0].Wave.ID != left[0].RunID {
		t.Errorf("left %+v", left)
	}
	if wakes := w.Queue.Wakes(); wakes[len(wakes)-1] != (engine.Wake{Shard: d.Shard, Kind: engine.WakeCommand}) {
		t.Errorf("the engine was woken with %+v", wakes)
	}
	const again = "orders=10:00 rates=10:00 succeeded, orders=11:00 rates=10:30 scheduled, orders=12:00 rates=11:30 scheduled"
	differently := from.Add(31 * time.Minute) // a range that cuts the slots differently does not run one of them twice
	// While the engine has not acted upon the first, only its commands say what is to come.
	plan, err = w.BackfillDAG(t.Context(), "default", "etl", from, to, "ann", false)
	if err != nil || plan.New != 0 || slots(plan) != again {
		t.Errorf("asked twice at once: %d: %s, %v", plan.New, slots(plan), err)
	}
	if plan, err = w.BackfillDAG(t.Context(), "default", "etl", differently, to, "ann", true); err != nil || plan.New != 0 {
		t.Errorf("cut differently at once: %d: %s, %v", plan.New, slots(plan), err)
	}
	if now := commands(t, w, d.Shard); len(now) != 2 {
		t.Errorf("asked twice, left %+v", now)
	}
	w.Act(t)
	waves, _, err := w.Waves(t.Context(), service.WaveQuery{Namespace: "default", DAG: "etl", Statuses: []engine.Status{engine.StatusScheduled}, Limit: 10})
	if err != nil || len(waves) != 2 || waves[0].Trigger != engine.TriggerBackfill || waves[0].By != "ann" || len(waves[0].Slots) != 2 || waves[0].Slot.IsZero() {
		t.Errorf("%+v, %v", waves, err)
	}
	plan, err = w.BackfillDAG(t.Context(), "default", "etl", from, to, "ann", false)
	if err != nil || plan.New != 0 || slots(plan) != again {
		t.Errorf("asked twice: %d: %s, %v", plan.New, slots(plan), err)
	}
	plan, err = w.BackfillDAG(t.Context(), "default", "etl", differently, to, "ann", true)
	if err != nil || plan.New != 0 {
		t.Errorf("cut differently: %d: %s, %v", plan.New, slots(plan), err)
	}
	for code, span := range map[string][2]time.Time{
		"range_missing": {{}, to}, "range_empty": {to, from}, "range_in_future": {w.Now.Add(time.Hour), w.Now.Add(2 * time.Hour)},
		"range_too_large": {w.Now.AddDate(-1, 0, 0), to},
	} {
		_, err := w.BackfillDAG(t.Context(), "default", "etl", span[0], span[1], "ann", true)
		refused(t, err, service.KindInvalid, code)
	}
	w.PutDAG(t, "kind: DAG\nname: by-hand\ntasks: {a: {binary: report}}\n")
	_, err = w.BackfillDAG(t.Context(), "default", "by-hand", from, to, "ann", true)
	refused(t, err, service.KindConflict, "no_slots")
}

// failed puts a wave that has failed: join failed, tell ran all the same.
func failed(t *testing.T, w *webtest.World, d engine.DAG) engine.Wave {
	t.Helper()
	wave := w.OpenWave(d, 1, webtest.Start.Add(-time.Hour))
	w.PutWave(t, wave)
	for task, status := range map[string]engine.Status{
		"orders": engine.StatusSucceeded, "rates": engine.StatusSucceeded, "join": engine.StatusFailed, "tell": engine.StatusSucceeded,
	} {
		w.PutRun(t, w.TaskRun(wave, task, status))
	}
	return wave
}

func TestWaveIsChangedByWhatItsStateAllows(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, diamond)
	wave := failed(t, w, d)
	join := engine.TaskRunID(wave.ID, "join")

	_, err := w.ResumeWave(t.Context(), engine.DefaultNamespace, wave.ID, "ann")
	refused(t, err, service.KindConflict, "wave_open")
	_, err = w.RetryRun(t.Context(), engine.DefaultNamespace, join, "ann")
	if known := refused(t, err, service.KindConflict, "wave_open"); !strings.Contains(known.Detail, "once wave "+wave.ID+" has ended") {
		t.Error(known.Detail)
	}
	_, err = w.MarkTask(t.Context(), engine.DefaultNamespace, wave.ID, "join", engine.StatusSucceeded, "ann")
	refused(t, err, service.KindConflict, "task_ended")
	if _, err := w.CancelWave(t.Context(), engine.DefaultNamespace, wave.ID, "ann"); err != nil {
		t.Error(err)
	}
	w.PutWave(t, webtest.EndWave(wave, engine.StatusFailed))
	_, err = w.CancelWave(t.Context(), engine.DefaultNamespace, wave.ID, "ann")
	refused(t, err, service.KindConflict, "wave_ended")
	_, err = w.RetryRun(t.Context(), engine.DefaultNamespace, engine.TaskRunID(wave.ID, "orders"), "ann")
	refused(t, err, service.KindConflict, "run_succeeded")
	if _, err := w.RetryRun(t.Context(), engine.DefaultNamespace, join, "ann"); err != nil {
		t.Error(err)
	}
	if _, err := w.ResumeWave(t.Context(), engine.DefaultNamespace, wave.ID, "ann"); err != nil {
		t.Error(err)
	}
	for task, code := range map[string]string{"nothing": "task_not_found", "orders": "task_succeeded"} {
		_, err := w.MarkTask(t.Context(), engine.DefaultNamespace, wave.ID, task, engine.StatusSkipped, "ann")
		if known, ok := errors.AsType[*service.Error](err); !ok || known.Code != code {
			t.Errorf("mark %s: %v", task, err)
		}
	}
	_, err = w.MarkTask(t.Context(), engine.DefaultNamespace, wave.ID, "join", engine.StatusFailed, "ann")
	refused(t, err, service.KindConflict, "mark_failed_again")
	_, err = w.MarkTask(t.Context(), engine.DefaultNamespace, wave.ID, "join", engine.StatusRunning, "ann")
	refused(t, err, service.KindInvalid, "invalid_mark")
	if _, err := w.MarkTask(t.Context(), engine.DefaultNamespace, wave.ID, "join", engine.StatusSucceeded, "ann"); err != nil {
		t.Error(err)
	}
	var left []string
	for _, c := range commands(t, w, d.Shard) {
		left = append(left, fmt.Sprintf("%s %s %s by %s at %d", c.Kind, c.Task, c.Mark, c.By, c.Revision))
		if c.RunID != wave.ID || c.JobUID != d.UID {
			t.Errorf("%+v", c)
		}
	}
	// A retry and a resume of one revision are one request.
	if got := strings.Join(left, ", "); got != "cancel_wave   by ann at 0, mark_task join succeeded by ann at 2, resume_wave   by ann at 2" {
		t.Errorf("left %s", got)
	}
	if err := w.DAGs.Delete(t.Context(), "default", "etl", "ann", 0); err != nil {
		t.Fatal(err)
	}
	_, err = w.ResumeWave(t.Context(), engine.DefaultNamespace, wave.ID, "ann")
	refused(t, err, service.KindConflict, "dag_deleted")
	_, err = w.ResumeWave(t.Context(), engine.DefaultNamespace, "nothing", "ann")
	refused(t, err, service.KindNotFound, "wave_not_found")
}

func TestWaveListsItsTasks(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, diamond+"  each: {needs: [join], for_each: '[1, 2, 3]'}\n")
	open := w.OpenWave(d, 1, webtest.Start)
	w.PutWave(t, open)
	for task, seconds := range map[string][2]time.Duration{"orders": {0, 10}, "rates": {0, 60}, "join": {60, 70}, "tell": {70, 80}} {
		run := w.TaskRun(open, task, engine.StatusSucceeded)
		run.StartedAt, run.FinishedAt = open.StartedAt.Add(seconds[0]*time.Second), open.StartedAt.Add(seconds[1]*time.Second)
		w.PutRun(t, run)
	}
	for item, status := range []engine.Status{engine.StatusSucceeded, engine.StatusRunning} {
		run := w.TaskRun(open, "each", status)
		run.ID, run.Item = engine.ItemRunID(open.ID, item, "each"), &item
		run.StartedAt = open.StartedAt.Add(70 * time.Second)
		w.PutRun(t, run)
	}
	w.Now = open.StartedAt.Add(100 * time.Second)
	detail, err := w.WaveDetail(t.Context(), engine.DefaultNamespace, open.ID)
	if err != nil {
		t.Fatal(err)
	}
	each, ok := detail.Task("each")
	if !ok || each.State != dag.Running || each.Items == nil || *each.Items != (wave.Items{Total: 3, Waiting: 1, Running: 1, Succeeded: 1}) || each.Run != "" || !each.Finished.IsZero() {
		t.Errorf("each: %+v", each)
	}
	join, _ := detail.Task("join")
	if join.State != dag.Succeeded || join.Run != engine.TaskRunID(open.ID, "join") || join.Took(w.Now) != 10*time.Second {
		t.Errorf("join: %+v", join)
	}
	if counts := detail.Counts(); counts[dag.Succeeded] != 4 || counts[dag.Running] != 1 {
		t.Errorf("counts %v", counts)
	}
	var path []string
	for _, task := range detail.Critical {
		path = append(path, detail.Tasks[task].Name)
	}
	if strings.Join(path, " ") != "rates join each" || detail.CriticalTime != 100*time.Second {
		t.Errorf("critical path %v, %s", path, detail.CriticalTime)
	}
	_, err = w.MarkTask(t.Context(), engine.DefaultNamespace, open.ID, "each", engine.StatusSucceeded, "ann")
	refused(t, err, service.KindConflict, "task_running")
}

func TestWatchersHearOfWaves(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, diamond)
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan service.Hint, 100), make(chan error, 1)
	go func() {
		ended <- w.Watch(ctx, func(hint service.Hint) error { heard <- hint; return nil })
	}()
	w.Queue.Looked(t)
	wave := w.OpenWave(d, 1, webtest.Start)
	w.PutWave(t, wave)
	w.PutRun(t, w.TaskRun(wave, "orders", engine.StatusRunning))
	expect := func(want service.Hint) {
		t.Helper()
		for {
			select {
			case hint := <-heard:
				if hint == want {
					return
				}
			case err := <-ended:
				t.Fatalf("watching ended with %v before anything was heard of %+v", err, want)
			}
		}
	}
	expect(service.Hint{Kind: service.HintRun, Namespace: "default", ID: engine.TaskRunID(wave.ID, "orders"), DAG: "etl", Wave: wave.ID, Task: "orders", Status: engine.StatusRunning})
	expect(service.Hint{Kind: service.HintWave, Namespace: "default", ID: wave.ID, DAG: "etl", Status: engine.StatusRunning})
	w.PutWave(t, webtest.EndWave(wave, engine.StatusSucceeded))
	expect(service.Hint{Kind: service.HintWave, Namespace: "default", ID: wave.ID, DAG: "etl", Status: engine.StatusSucceeded})
	cancel()
	<-ended
}

// A wave failed after a minute, and was resumed the next morning: fetch ran again, what cleans up had succeeded and did not.
func TestDurationsOfAResumedWaveLeaveOutTheNight(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, "kind: DAG\nname: etl\ndefaults: {binary: report}\ntasks:\n  fetch: {}\n  load: {needs: [fetch]}\n  tidy: {needs: [fetch], trigger: all_done}\n")
	wave := w.OpenWave(d, 1, webtest.Start)
	night := engine.WaveRest{From: webtest.Start.Add(time.Minute), To: webtest.Start.Add(8 * time.Hour)}
	wave.Status, wave.Resumed, wave.Rests, wave.FinishedAt = engine.StatusSucceeded, 1, []engine.WaveRest{night}, night.To.Add(2*time.Minute)
	w.PutWave(t, wave)
	for task, times := range map[string][2]time.Time{
		"fetch": {webtest.Start.Add(10 * time.Second), night.To.Add(time.Minute)}, // its first attempt began in the evening
		"load":  {night.To.Add(time.Minute), night.To.Add(2 * time.Minute)},
		"tidy":  {webtest.Start.Add(40 * time.Second), webtest.Start.Add(time.Minute)},
	} {
		run := w.TaskRun(wave, task, engine.StatusSucceeded)
		run.StartedAt, run.FinishedAt = times[0], times[1]
		w.PutRun(t, run)
	}
	detail, err := w.WaveDetail(t.Context(), engine.DefaultNamespace, wave.ID)
	if err != nil {
		t.Fatal(err)
	}
	if took := detail.Wave.Took(w.Now); took != 3*time.Minute {
		t.Errorf("the wave took %s, want 3 minutes", took)
	}
	if fetch, _ := detail.Task("fetch"); fetch.Took(w.Now) != 110*time.Second {
		t.Errorf("fetch took %s, want 110 seconds", fetch.Took(w.Now))
	}
	var path []string
	for _, task := range detail.Critical {
		path = append(path, detail.Tasks[task].Name)
	}
	if strings.Join(path, " ") != "fetch load" || detail.CriticalTime != 170*time.Second {
		t.Errorf("critical path %v, %s", path, detail.CriticalTime)
	}
	histories, err := w.Histories(t.Context(), []engine.DAG{d}, 10)
	if err != nil || histories[0].Duration.P50 != 3*time.Minute {
		t.Errorf("the history says %+v, %v", histories, err)
	}
	again, _ := detail.Task("fetch")
	again.Finished = time.Time{}
	if took := again.Took(night.To.Add(30 * time.Second)); took != 80*time.Second {
		t.Errorf("while fetch runs again it has taken %s, want 80 seconds", took)
	}
}

func TestTaskOfAnEndedWaveIsClearedWhereItWouldRun(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	d := w.PutDAG(t, diamond)
	wave := failed(t, w, d)
	clearTask := func(task string, item *int, alone bool) error {
		_, err := w.ClearTask(t.Context(), engine.DefaultNamespace, wave.ID, service.Clear{Task: task, Item: item, Alone: alone}, "ann")
		return err
	}
	refused(t, clearTask("join", nil, false), service.KindConflict, "wave_open")
	w.PutWave(t, webtest.EndWave(wave, engine.StatusFailed))
	one := 1
	for code, err := range map[string]error{
		"task_not_found": clearTask("nothing", nil, false), "item_not_found": clearTask("join", &one, false),
	} {
		refused(t, err, service.KindInvalid, code)
	}
	for range 2 { // asked twice is asked once
		if err := clearTask("orders", nil, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := clearTask("join", nil, true); err != nil {
		t.Fatal(err)
	}
	asked := commands(t, w, d.Shard)
	slices.SortFunc(asked, func(a, b engine.Command) int { return strings.Compare(a.Task, b.Task) })
	if len(asked) != 2 || asked[1].Kind != engine.CommandClearTask || asked[1].Task != "orders" || asked[1].Alone || !asked[0].Alone || asked[0].By != "ann" {
		t.Errorf("asked %+v", asked)
	}

	_, err := w.ClearTask(t.Context(), engine.DefaultNamespace, wave.ID, service.Clear{Task: "join", Args: map[string]string{"1": ""}}, "ann")
	refused(t, err, service.KindInvalid, "invalid_argument")
	w.PutRun(t, w.TaskRun(wave, "orders", engine.StatusFailed))
	w.PutRun(t, w.TaskRun(wave, "join", engine.StatusSkipped))
	if known := refused(t, clearTask("join", nil, false), service.KindConflict, "task_closed"); !strings.Contains(known.Detail, "clear one of those instead") {
		t.Error(known.Detail)
	}
}
