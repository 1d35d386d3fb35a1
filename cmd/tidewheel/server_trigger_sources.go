package main

import (
	"context"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/trigger"
)

// anyNamespace opens a bucket to all namespaces.
const anyNamespace = "*"

// triggerBucket is a bucket whose objects may start runs of a namespace.
type triggerBucket struct{ Namespace, Bucket string }

// triggerBuckets reads NAMESPACE=BUCKET.
func triggerBuckets(words []string) (buckets []triggerBucket, err error) {
	for _, word := range words {
		namespace, bucket, pair := strings.Cut(strings.TrimSpace(word), "=")
		if !pair || namespace == "" || bucket == "" {
			return nil, usage("--trigger-bucket %q: write NAMESPACE=BUCKET, or *=BUCKET for all namespaces", word)
		}
		buckets = append(buckets, triggerBucket{namespace, bucket})
	}
	return buckets, nil
}

// mayWatch reports whether objects of a bucket may start runs of a namespace.
func (c *ServerConfig) mayWatch(namespace, bucket string) bool {
	for _, open := range c.TriggerBuckets {
		if open.Bucket == bucket && (open.Namespace == namespace || open.Namespace == anyNamespace) {
			return true
		}
	}
	return false
}

// refuseOwnBucket refuses the bucket of this Tidewheel: what is in it is of all namespaces.
func (s *Server) refuseOwnBucket() error {
	for _, open := range s.config.TriggerBuckets {
		if open.Bucket == s.blobs.Bucket() {
			return usage("--trigger-bucket %s=%s: that is Tidewheel's own bucket: name another one", open.Namespace, open.Bucket)
		}
	}
	return nil
}

// openTriggers starts what waits for successes, messages and objects.
func (s *Server) openTriggers(role *engineRole) {
	book, followers := trigger.NewBook(s.store, time.Now), s.service.Followers()
	s.outbox = trigger.NewOutbox(book)
	s.parts.add("the watch over what starts after a success", trigger.NewWatcher(s.outbox, s.store, followers, s.log).Run)
	listener := trigger.NewListener(book, followers)
	s.parts.add("the messages that start runs", func(ctx context.Context) error { return s.queue.Triggers(ctx, listener.Handle) })
	inboxes := trigger.NewInboxes(book, listedBuckets{s}, followers, s.log)
	s.parts.add("the objects that start runs", func(ctx context.Context) error { return inboxes.Run(ctx, role.first) })
}

// listedBuckets lists objects by this node's keys of S3.
type listedBuckets struct{ s *Server }

// Objects returns objects of a bucket.
func (l listedBuckets) Objects(ctx context.Context, bucket, prefix string, limit int) ([]trigger.Object, error) {
	found, err := l.s.blobs.List(ctx, bucket, prefix, limit)
	objects := make([]trigger.Object, len(found))
	for i, one := range found {
		objects[i] = trigger.Object{Bucket: bucket, Key: one.Key, Size: one.Size, ETag: strings.Trim(one.ETag, `"`), Modified: one.Modified.UTC()}
	}
	return objects, err
}
