package api_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestQuotaOfANamespaceIsSetAndShownBesideItsUse(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "tool", "stable")
	const path = "/api/v1/namespaces/default"
	set := into[wire.Namespace](s.ask("PUT", path, `{"quota": {"jobs": 1, "stored_bytes": 100}}`).is(http.StatusOK))
	if set.Quota != (wire.Quota{Jobs: 1, StoredBytes: 100}) || set.Usage.StoredBytes != 20 || *set.Usage.Queued != 0 {
		t.Errorf("set %+v", set)
	}
	described := into[wire.Namespace](s.ask("PUT", path, `{"description": "ours", "quota": {"running": 4}}`).is(http.StatusOK))
	if described.Quota != (wire.Quota{Jobs: 1, StoredBytes: 100, Running: 4}) || described.Description != "ours" {
		t.Errorf("changed %+v", described)
	}
	at(t, s.ask("PUT", path, `{"quota": {"jobs": -1}}`).problem(http.StatusUnprocessableEntity, "invalid_request"), "body.quota.jobs")
	if listed := into[wire.List[wire.Namespace]](s.ask("GET", "/api/v1/namespaces", "").is(http.StatusOK)); len(listed.Items) != 1 || !reflect.DeepEqual(&listed.Items[0], described) {
		t.Errorf("listed %+v", listed)
	}

	s.ask("POST", "/api/v1/jobs", `{"name": "one", "binary": "tool@stable"}`).is(http.StatusCreated)
	s.ask("POST", "/api/v1/jobs", `{"name": "two", "binary": "tool@stable"}`).problem(http.StatusForbidden, "quota_jobs", "may have 1", "admin of all namespaces")
	unwanted := &countedBody{Reader: strings.NewReader(strings.Repeat("#", 100))}
	request := s.request("POST", "/api/v1/binaries/large/versions", unwanted, "Expect", "100-continue")
	request.ContentLength = 100
	s.send(request).problem(http.StatusForbidden, "quota_stored_bytes", "80B more")
	if n := unwanted.read.Load(); n > 0 {
		t.Errorf("%d bytes were asked for of what has no room", n)
	}
}

type countedBody struct {
	io.Reader
	read atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}
