package clustertest

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// busiestNATS finds the server that leads most.
func (c *cluster) busiestNATS(t *testing.T) *node {
	t.Helper()
	leaders := c.leaders(t)
	busiest := c.nats[0]
	for _, n := range c.nats[1:] {
		if len(leaders[n.name]) > len(leaders[busiest.name]) {
			busiest = n
		}
	}
	t.Logf("%s leads %s", busiest.name, strings.Join(leaders[busiest.name], ", "))
	return busiest
}

// leaders tells which NATS server leads which streams and task consumers: those that nobody can use until another
// leader was chosen once it is killed.
func (c *cluster) leaders(t *testing.T) map[string][]string {
	t.Helper()
	connection, err := nats.Connect(c.natsURL, nats.UserInfo(natsUser, natsPassword))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		t.Fatal(err)
	}
	leaders := map[string][]string{}
	streams := js.ListStreams(t.Context())
	for stream := range streams.Info() {
		leaders[stream.Cluster.Leader] = append(leaders[stream.Cluster.Leader], stream.Config.Name)
	}
	if err := streams.Err(); err != nil {
		t.Fatal(err)
	}
	tasks, err := js.Stream(t.Context(), "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	consumers := tasks.ListConsumers(t.Context())
	for consumer := range consumers.Info() {
		leaders[consumer.Cluster.Leader] = append(leaders[consumer.Cluster.Leader], consumer.Name)
	}
	if err := consumers.Err(); err != nil {
		t.Fatal(err)
	}
	return leaders
}
