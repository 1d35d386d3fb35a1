package service_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// ofDefault is a world with one of each thing that is found by an id, all in the namespace default.
type ofDefault struct {
	*webtest.World
	dead, asked, wave string
}

func newOfDefault(t *testing.T) *ofDefault {
	w := &ofDefault{World: webtest.New(t)}
	w.PutBinary(t, "report")
	w.dead = dead(t, w.World, w.PutJob(t, `{"name":"one","binary":"report"}`), w.Now.Add(-time.Minute)).RunID
	w.wave = deadWave(t, w.World, w.PutDAG(t, diamond), 1, w.Now.Add(-time.Minute), "orders").ID
	asked, _, err := w.StartRun(t.Context(), "default", "one", service.Start{By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	w.asked = asked.ID
	return w
}

func TestWhatIsFoundByIDIsOfItsNamespaceOnly(t *testing.T) {
	for code, finds := range map[string]map[string]func(w *ofDefault, ns string) (any, error){
		"run_not_found": {
			"run":            func(w *ofDefault, ns string) (any, error) { return w.Run(t.Context(), ns, w.dead) },
			"run to be made": func(w *ofDefault, ns string) (any, error) { return w.Run(t.Context(), ns, w.asked) },
			"cancel":         func(w *ofDefault, ns string) (any, error) { return w.CancelRun(t.Context(), ns, w.asked, "bob") },
			"retry":          func(w *ofDefault, ns string) (any, error) { return w.RetryRun(t.Context(), ns, w.dead, "bob") },
			"log":            func(w *ofDefault, ns string) (any, error) { return w.OpenLog(t.Context(), ns, w.dead, 0) },
			"diff": func(w *ofDefault, ns string) (any, error) {
				return w.CompareRuns(t.Context(), ns, w.asked, w.dead, false)
			},
			"replay": func(w *ofDefault, ns string) (any, error) { return w.ReplayDeadLetter(t.Context(), ns, w.dead, "bob") },
			"followed log": func(w *ofDefault, ns string) (any, error) {
				return nil, w.FollowLog(t.Context(), ns, w.dead, 0, 0, func(service.LogPiece) error { return nil })
			},
			"effects": func(w *ofDefault, ns string) (any, error) {
				_, _, err := w.RunEffects(t.Context(), ns, w.dead, "", 1)
				return nil, err
			},
		},
		"dead_letter_not_found": {
			"dead letter": func(w *ofDefault, ns string) (any, error) { return w.DeadLetter(t.Context(), ns, w.dead) },
			"purge":       func(w *ofDefault, ns string) (any, error) { return nil, w.PurgeDeadLetter(t.Context(), ns, w.dead) },
		},
		"wave_not_found": {
			"wave":            func(w *ofDefault, ns string) (any, error) { return w.Wave(t.Context(), ns, w.wave) },
			"wave with tasks": func(w *ofDefault, ns string) (any, error) { return w.WaveDetail(t.Context(), ns, w.wave) },
			"resume":          func(w *ofDefault, ns string) (any, error) { return w.ResumeWave(t.Context(), ns, w.wave, "bob") },
			"mark": func(w *ofDefault, ns string) (any, error) {
				return w.MarkTask(t.Context(), ns, w.wave, "orders", engine.StatusSkipped, "bob")
			},
		},
	} {
		for name, find := range finds {
			t.Run(name, func(t *testing.T) {
				w := newOfDefault(t)
				_, err := find(w, "finance")
				refused(t, err, service.KindNotFound, code)
				if _, err := find(w, "default"); err != nil {
					t.Errorf("in its own namespace: %v", err)
				}
			})
		}
	}
	w := newOfDefault(t)
	_, err := w.Artifact(t.Context(), "finance", w.dead, "a.csv")
	refused(t, err, service.KindNotFound, "run_not_found")
	_, err = w.CancelWave(t.Context(), "finance", w.wave, "bob")
	refused(t, err, service.KindNotFound, "wave_not_found")
}

func TestDigestOfAnotherNamespaceRunsNothing(t *testing.T) {
	w := webtest.New(t)
	version, _, err := w.UploadTo(t, "report", "echo")
	if err != nil {
		t.Fatal(err)
	}
	job := spec.Job{Name: "one", Binary: "sha256:" + version.SHA256}
	if _, err := w.ResolveBinary(t.Context(), "default", &job); err != nil {
		t.Errorf("in its own namespace: %v", err)
	}
	_, err = w.ResolveBinary(t.Context(), "finance", &job)
	refused(t, err, service.KindInvalid, "binary_not_found")
}

func TestNamespacesThatOwnSomethingAreAdopted(t *testing.T) {
	w := webtest.New(t)
	for _, namespace := range []string{"alpha", "alpha-2", "beta"} {
		w.PutBinaryIn(t, namespace, "report")
		w.PutBinaryIn(t, namespace, "second")
	}
	if _, _, err := w.SetSecret(t.Context(), "vault", "key", []byte("value"), "ann"); err != nil {
		t.Fatal(err)
	}
	ctx := access.With(t.Context(), access.Local())
	namespaces, err := w.Namespaces(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, namespace := range namespaces {
		names = append(names, namespace.Name)
	}
	if want := []string{"alpha", "alpha-2", "beta", "default", "vault"}; !slices.Equal(names, want) {
		t.Errorf("namespaces %v, want %v", names, want)
	}
	refused(t, w.DeleteNamespace(ctx, "beta"), service.KindConflict, "namespace_not_empty")
	refused(t, w.DeleteNamespace(ctx, "default"), service.KindConflict, "namespace_default")
	refused(t, w.EnterNamespace(ctx, "gamma"), service.KindNotFound, "namespace_not_found")
	if err := w.DeleteSecret(ctx, "vault", "key", "ann", false); err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteNamespace(ctx, "vault"); err != nil {
		t.Error(err)
	}
	refused(t, w.EnterNamespace(ctx, "vault"), service.KindNotFound, "namespace_not_found")
}

func TestMemberOfANamespaceThatIsDeletedHasNoRoleInTheNextOne(t *testing.T) {
	w := webtest.New(t)
	ctx := access.With(t.Context(), access.Local())
	if _, err := w.CreateUser(ctx, "mira", "a long enough password", access.Grants{"finance": access.Editor}); err != nil {
		t.Fatal(err)
	}
	w.PutNamespace(t, "harbour")
	if _, err := w.SetMember(ctx, "harbour", "Mira", "operator"); err != nil {
		t.Fatal(err)
	}
	_, err := w.SetMember(ctx, "harbour", "mira", "captain")
	refused(t, err, service.KindInvalid, "invalid_role")
	_, err = w.SetMember(ctx, "harbour", "nobody", "viewer")
	refused(t, err, service.KindNotFound, "user_not_found")
	grants := func() access.Grants {
		user, err := w.User(ctx, "mira")
		if err != nil {
			t.Fatal(err)
		}
		return user.Grants
	}
	if got := grants(); got["harbour"] != access.Operator || got["finance"] != access.Editor {
		t.Errorf("grants %v", got)
	}
	if err := w.DeleteNamespace(ctx, "harbour"); err != nil {
		t.Fatal(err)
	}
	if got := grants(); got["harbour"] != 0 || got["finance"] != access.Editor {
		t.Errorf("after the end of the namespace: grants %v", got)
	}
}
