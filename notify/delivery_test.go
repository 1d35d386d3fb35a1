package notify

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestDeliveriesAreListedNewestFirstInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		for n := range 25 {
			o.notify(anIncident(fmt.Sprint("job-", n), []string{"ops", "dev"}[n%2]))
			pass(time.Second)
		}
		for _, limit := range []int{1, 7, 25, 100} {
			all := o.deliveries(DeliveryFilter{Limit: limit})
			if len(all) != 25 || all[0].Incident.Job != "job-24" || all[24].Incident.Job != "job-0" {
				t.Errorf("by %d: %d deliveries", limit, len(all))
			}
			dev := o.deliveries(DeliveryFilter{Limit: limit, Target: "dev", State: StateWaiting})
			if len(dev) != 12 || dev[0].Incident.Job != "job-23" {
				t.Errorf("of dev by %d: %d", limit, len(dev))
			}
		}
		if other := o.deliveries(DeliveryFilter{Namespace: "defaul"}); len(other) > 0 {
			t.Errorf("of another namespace: %d", len(other))
		}
	})
}

// What has ended expires; what waits does not.
func TestDeliveriesExpireAMonthAfterTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.start()
		o.target.answers(func(letter *Letter) error {
			if letter.Target.Name == "dev" {
				return &SendError{After: 23 * time.Hour, Err: errors.New("it answered 503")}
			}
			return nil
		})
		o.notify(anIncident("nightly", "ops", "dev"))
		pass(time.Minute)
		if _, err := o.store.ExpireRecords(t.Context(), time.Now().Add(DefaultKept-time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		if all := o.deliveries(DeliveryFilter{}); len(all) != 2 {
			t.Errorf("%d are left within the month", len(all))
		}
		if _, err := o.store.ExpireRecords(t.Context(), time.Now().Add(DefaultKept+time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		o.want("left", o.states(), []string{"dev waiting"})
	})
}
