package core

import (
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/spec"
)

// alertRules takes what namespaces ask for, and has the jobs and DAGs in memory follow what has changed.
func (c *Core) alertRules(e AlertRules) {
	changed := map[string]bool{}
	rules := map[string]*spec.Alerts{}
	for namespace, given := range e.Namespaces {
		merged := (*spec.Alerts)(nil).Over(&given)
		rules[namespace] = &merged
		changed[namespace] = !sameAlerts(c.namespaceAlerts[namespace], &merged)
	}
	for namespace := range c.namespaceAlerts {
		changed[namespace] = changed[namespace] || rules[namespace] == nil
	}
	c.namespaceAlerts = rules
	for _, uid := range slices.Sorted(maps.Keys(c.jobs)) {
		if j := c.jobs[uid]; changed[j.namespace] {
			c.alertsOfJob(j)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(c.dags)) {
		if d := c.dags[uid]; changed[d.namespace] {
			c.alertsOfDAG(d)
		}
	}
}

func sameAlerts(a, b *spec.Alerts) bool {
	return a != nil && b != nil && a.Lag == b.Lag && a.Duration == b.Duration && slices.Equal(a.On, b.On) && slices.Equal(a.To, b.To)
}
