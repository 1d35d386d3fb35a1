package templates_test

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/tidewheel/tidewheel/templates"
)

// notifications has each state of what its page shows, and hostile text where others write.
func notifications() templates.Notifications {
	at := now.Add(-3 * time.Minute)
	about := templates.AboutWhat{Job: "report", Run: "a-s1"}
	view := templates.Notifications{
		Page: page("Notifications", ""), MoreIncidents: true, Pager: templates.Pager{Next: "/notifications?cursor=x"}, State: "failed", MoreUsers: true,
		Incidents: []templates.IncidentRow{
			{About: about, Alert: "failed", Since: at, Latest: at, Count: 3, Reason: hostile},
			{About: templates.AboutWhat{DAG: "etl", Task: "load", Wave: "a-w1"}, Alert: "slow", Since: at, Latest: at, Count: 1},
		},
		Installation: []templates.IncidentRow{
			{About: templates.AboutWhat{Subject: "Executor x1"}, Alert: "executor_silent", Since: at, Latest: at, Count: 1, Reason: hostile},
		},
		InstallationRules: "executor_silent to ops",
		Targets: []templates.TargetRow{
			{Name: "ops", Kind: "webhook", Where: "https://hooks.example.com", Private: true, Digest: "10m", Users: []string{"report", "DAG etl", "etl/load"}, ByRules: true},
			{Name: "lead", Kind: "email", Where: hostile, Problem: hostile},
		},
		Silences: []templates.SilenceRow{
			{ID: "s", Definition: "report-*", Alert: "late", From: at, Until: now.Add(time.Hour), By: "ada", Reason: hostile}, {ID: "t", Until: now.Add(time.Minute)},
		},
		Silence: templates.SilenceForm{Definition: hostile, For: "", Hours: "3", Problem: hostile},
		Rules:   templates.RulesForm{On: []string{"failed"}, To: []string{"ops"}, Lag: "5m", Problem: hostile},
		Tested:  &templates.TestedTarget{Target: "ops", Problem: hostile},
	}
	for i, state := range []string{"waiting", "held", "delivered", "failed", "silenced"} {
		view.Deliveries = append(view.Deliveries, templates.DeliveryRow{
			ID: "d" + state, Target: "ops", About: about, Alert: "failed", Over: i == 1, Reason: hostile, State: state, Answer: hostile, Tries: i, At: at,
		})
	}
	view.Deliveries[0].NextAt = now.Add(time.Hour)
	return view
}

func TestNotificationPages(t *testing.T) {
	frame := page("Notifications", "")
	for name, component := range map[string]templ.Component{
		"notifications":       templates.NotificationsPage(notifications()),
		"notifications-empty": templates.NotificationsPage(templates.Notifications{Page: frame}),
		"target-form":         templates.TargetFormPage(templates.TargetForm{Page: frame, Kind: "webhook", Problem: hostile}),
		"target-edit": templates.TargetFormPage(templates.TargetForm{
			Page: frame, Edits: true, Kind: "email", Name: "lead", Addresses: hostile, Digest: "10",
		}),
		"target-made":   templates.MadeTargetPage(templates.MadeTarget{Page: frame, Name: "ops", Signing: "whsec_x"}),
		"target-delete": templates.TargetDeletePage(templates.TargetDelete{Page: frame, Target: templates.TargetRow{Name: "ops", Users: []string{"report", "DAG etl"}}}),
	} {
		t.Run(name, func(t *testing.T) {
			html := render(t, component)
			checkPage(t, html)
			golden(t, name, own(html))
			if strings.Contains(html, `<script>`) || strings.Contains(html, `alert("x")`) {
				t.Error("something reached the page without being escaped")
			}
		})
	}
}
