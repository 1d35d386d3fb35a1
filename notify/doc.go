// Package notify keeps where notifications go, and what is sent: notification targets, the rules of namespaces,
// silences, and deliveries.
//
// What it promises:
//   - Notifier.Notify returns once each message of an incident is a delivery in the store. Notified again, the same incident makes no
//     second one.
//   - A delivery is sent until its target takes it, refuses it, or a day has passed. It is sent at least once: a crash between
//     sending and recording sends it again, with the same id.
//   - The end of an incident is sent after its beginning, and only where that was delivered.
//   - The URLs and signing secrets of targets are sealed with the cluster's key of secrets.
//
// The wires are in notify/send, and what is watched beside the engine in notify/watch.
package notify
