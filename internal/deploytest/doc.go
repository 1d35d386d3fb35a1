// Package deploytest holds docker-compose.yml and deploy/ to the program: what they name must exist, and what they say
// must be taken. It has tests only. Nothing is deployed and nothing but the Go toolchain is needed: the files are read with
// the libraries of those who will read them (Compose, Kubernetes, Prometheus, NATS), the settings are given to the
// program's own `config show`, and the metrics are those that a started server exports.
//
// It is a module of its own, so that these libraries stay out of the product's.
package deploytest
