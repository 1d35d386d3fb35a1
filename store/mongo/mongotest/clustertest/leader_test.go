package clustertest

import (
	"strings"
	"testing"
	"time"

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

// jetStream connects to the cluster.
func (c *cluster) jetStream(t *testing.T) (jetstream.JetStream, *nats.Conn) {
	t.Helper()
	connection, err := nats.Connect(c.natsURL, nats.UserInfo(natsUser, natsPassword))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	js, err := jetstream.New(connection)
	if err != nil {
		t.Fatal(err)
	}
	return js, connection
}

// leaders returns which NATS server leads which streams and task consumers: those that are unusable until another
// leader was chosen once it is killed.
func (c *cluster) leaders(t *testing.T) map[string][]string {
	t.Helper()
	js, _ := c.jetStream(t)
	leaders := map[string][]string{}
	streams := js.ListStreams(t.Context())
	for stream := range streams.Info() {
		leaders[stream.Cluster.Leader] = append(leaders[stream.Cluster.Leader], stream.Config.Name)
	}
	if err := streams.Err(); err != nil {
		t.Fatal(err)
	}
	for _, consumer := range taskConsumers(t, js) {
		leaders[consumer.Cluster.Leader] = append(leaders[consumer.Cluster.Leader], consumer.Name)
	}
	return leaders
}

func taskConsumers(t *testing.T, js jetstream.JetStream) (all []*jetstream.ConsumerInfo) {
	t.Helper()
	tasks, err := js.Stream(t.Context(), "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	consumers := tasks.ListConsumers(t.Context())
	for consumer := range consumers.Info() {
		all = append(all, consumer)
	}
	if err := consumers.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// stepDown lets the leader of each stream, of each task consumer and of the cluster step down, and returns how many did.
func (c *cluster) stepDown(t *testing.T) (changed int) {
	t.Helper()
	js, connection := c.jetStream(t)
	subjects := []string{"$JS.API.META.LEADER.STEPDOWN"}
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		subjects = append(subjects, "$JS.API.STREAM.LEADER.STEPDOWN."+name)
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	for _, consumer := range taskConsumers(t, js) {
		subjects = append(subjects, "$JS.API.CONSUMER.LEADER.STEPDOWN.TASKS."+consumer.Name)
	}
	for _, subject := range subjects {
		answer, err := connection.Request(subject, nil, 5*time.Second)
		// One whose leader has just gone answers with an error, or not at all.
		if err == nil && strings.Contains(string(answer.Data), `"success":true`) {
			changed++
		}
	}
	return changed
}
