package deploytest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// project reads docker-compose.yml as Compose does, which refuses unknown keys and what is used and not declared.
func project(t *testing.T) *types.Project {
	t.Helper()
	folder, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: folder, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(folder, "docker-compose.yml")}},
		Environment: types.Mapping{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// ours reports whether a service runs the program.
func ours(service *types.ServiceConfig) bool { return service.Build != nil }

func TestComposeHasTheCluster(t *testing.T) {
	p := project(t)
	count := make(map[string]int)
	for _, service := range p.Services {
		name, _, _ := strings.Cut(service.Image, ":")
		if ours(&service) {
			name += " " + service.Command[slices.Index(service.Command, "--roles")+1]
		}
		count[name]++
	}
	for name, want := range map[string]int{
		"mongo": 4, "nats": 3, "versity/versitygw": 1, "tidewheel engine": 2, "tidewheel web": 2, "tidewheel-executor executor": 3,
		"caddy": 1, "prom/prometheus": 1, "grafana/grafana": 1,
	} {
		if count[name] != want {
			t.Errorf("%d services of %s, want %d", count[name], name, want)
		}
	}
}

func TestComposeNodesAreTaken(t *testing.T) {
	p := project(t)
	dir := secrets(t)
	for _, name := range p.ServiceNames() {
		service := p.Services[name]
		if !ours(&service) {
			continue
		}
		n := node{name: name, args: service.Command, env: map[string]string{"TIDEWHEEL_DATA": "/data"}, files: make(map[string]string)} // as the image says
		for key, value := range service.Environment {
			if value == nil {
				t.Errorf("%s: %s comes from the machine that it is started on", name, key)
				continue
			}
			n.env[key] = *value
		}
		for _, secret := range service.Secrets {
			n.files[mountOf(&secret)] = filepath.Join(dir, filepath.Base(p.Secrets[secret.Source].File))
		}
		if service.StopGracePeriod != nil {
			n.stop = time.Duration(*service.StopGracePeriod)
		}
		values := n.settings(t)
		for _, setting := range []string{"nats-url", "s3-endpoint", "api-url"} {
			for _, host := range hosts(values[setting]) {
				if setting == "api-url" && host == "web" {
					host = "web-1" // an alias of both
				}
				reaches(t, p, &service, host)
			}
		}
		if strings.Contains(values["roles"], "executor") && service.Networks["data"] != nil {
			t.Errorf("%s: programs reach the database", name)
		}
		if !strings.Contains(strings.Join(service.HealthCheck.Test, " "), "http://127.0.0.1:"+port(values["metrics-listen"])) {
			t.Errorf("%s: its health is asked for elsewhere than at --metrics-listen", name)
		}
	}
}

// mountOf returns where Compose puts a secret.
func mountOf(secret *types.ServiceSecretConfig) string {
	switch {
	case secret.Target == "":
		return "/run/secrets/" + secret.Source
	case strings.HasPrefix(secret.Target, "/"):
		return secret.Target
	}
	return "/run/secrets/" + secret.Target
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// hosts returns the names of the machines in a list of URLs.
func hosts(urls string) []string {
	var names []string
	urls = regexp.MustCompile(`://[^/@]*@`).ReplaceAllString(urls, "://")
	for _, found := range regexp.MustCompile(`(?:://|,)([a-z][a-z0-9-]*):\d+`).FindAllStringSubmatch(urls, -1) {
		names = append(names, found[1])
	}
	return names
}

// reaches wants a service to exist and to share a network with another.
func reaches(t *testing.T, p *types.Project, from *types.ServiceConfig, host string) {
	t.Helper()
	to, exists := p.Services[host]
	if !exists {
		t.Errorf("%s: there is no service %s", from.Name, host)
		return
	}
	for name := range from.Networks {
		if _, shared := to.Networks[name]; shared {
			return
		}
	}
	t.Errorf("%s and %s share no network", from.Name, host)
}

func TestComposeServicesAreKept(t *testing.T) {
	p := project(t)
	pinned := regexp.MustCompile(`:v?\d+\.\d+\.\d+`)
	for _, name := range p.ServiceNames() {
		service := p.Services[name]
		if !ours(&service) && !pinned.MatchString(service.Image) {
			t.Errorf("%s: the version of %s is not pinned", name, service.Image)
		}
		once := strings.HasPrefix(service.Restart, "on-failure")
		if service.Restart != "unless-stopped" && !once {
			t.Errorf("%s: restart is %q", name, service.Restart)
		}
		if !once && (service.HealthCheck == nil || len(service.HealthCheck.Test) == 0) {
			t.Errorf("%s: has no health check", name)
		}
		if !once && service.StopGracePeriod == nil {
			t.Errorf("%s: has no stop_grace_period", name)
		}
		if service.Deploy == nil || service.Deploy.Resources.Limits == nil || service.Deploy.Resources.Limits.MemoryBytes == 0 ||
			service.Deploy.Resources.Limits.NanoCPUs == 0 {
			t.Errorf("%s: has no limits", name)
		}
		for _, published := range service.Ports {
			if published.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to the network", name, published.Published)
			}
		}
		for key, value := range service.Environment {
			file := strings.HasSuffix(key, "_FILE") || value != nil && strings.HasSuffix(*value, ".creds") // which NATS reads itself
			if regexp.MustCompile(`PASSWORD|SECRET|TOKEN|CREDENTIALS|ACCESS_KEY|URI`).MatchString(key) && !file {
				t.Errorf("%s: %s should be read from a file", name, key)
			}
		}
		for _, volume := range service.Volumes {
			if volume.Type != types.VolumeTypeVolume {
				t.Errorf("%s: %s is no named volume", name, volume.Source)
			}
		}
		for dependency, how := range service.DependsOn {
			on := p.Services[dependency]
			if how.Condition == types.ServiceConditionHealthy && on.HealthCheck == nil {
				t.Errorf("%s waits for the health of %s, which has no check", name, dependency)
			}
			if how.Condition == types.ServiceConditionCompletedSuccessfully && on.Restart == "unless-stopped" {
				t.Errorf("%s waits for the end of %s, which has none", name, dependency)
			}
		}
	}
}

func TestComposeFilesExist(t *testing.T) {
	p := project(t)
	dir := secrets(t)
	used := make(map[string]bool)
	for _, service := range p.Services {
		for _, secret := range service.Secrets {
			used[secret.Source] = true
		}
	}
	for name, secret := range p.Secrets {
		if !used[name] {
			t.Errorf("the secret %s is not used", name)
		}
		if filepath.Dir(secret.File) != filepath.Join(p.WorkingDir, "deploy/compose/secrets") {
			t.Errorf("the secret %s is in %s, where make-secrets.sh does not write", name, secret.File)
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.Base(secret.File))); err != nil {
			t.Errorf("the secret %s is not made: %v", name, err)
		}
	}
	for name, config := range p.Configs {
		if _, err := os.Stat(config.File); err != nil {
			t.Errorf("config %s: %v", name, err)
		}
	}
	// The files that a flag names must be there.
	mounted := regexp.MustCompile(`/(?:etc|run/secrets)/[\w./-]+\.?\w+`)
	for _, name := range p.ServiceNames() {
		service := p.Services[name]
		var targets []string
		for _, config := range service.Configs {
			targets = append(targets, config.Target)
		}
		for _, secret := range service.Secrets {
			targets = append(targets, mountOf(&secret))
		}
		for _, word := range append(slices.Clone(service.Entrypoint), service.Command...) {
			for _, path := range mounted.FindAllString(word, -1) {
				if !slices.Contains(targets, path) {
					t.Errorf("%s: nothing is mounted at %s", name, path)
				}
			}
		}
	}
}

func TestComposeParts(t *testing.T) {
	p := project(t)
	proxy := p.Services["proxy"]
	var found []string
	for _, host := range regexp.MustCompile(`\b(web-\d+):8080`).FindAllStringSubmatch(read(t, "deploy/compose/Caddyfile"), -1) {
		found = append(found, host[1])
	}
	if len(found) < 2 {
		t.Errorf("the proxy knows %v", found)
	}
	for _, host := range found {
		reaches(t, p, &proxy, host)
	}
	uri, err := os.ReadFile(filepath.Join(secrets(t), "mongodb-uri"))
	if err != nil {
		t.Fatal(err)
	}
	engine := p.Services["engine-1"]
	members := hosts(string(uri))
	if len(members) != 3 {
		t.Errorf("the replica set has the members %v", members)
	}
	script := read(t, "deploy/compose/mongodb-init.js")
	for _, host := range members {
		reaches(t, p, &engine, host)
		if !strings.Contains(script, `"`+host+`:27017"`) {
			t.Errorf("mongodb-init.js does not name %s", host)
		}
	}
	init := p.Services["mongodb-init"]
	for _, path := range regexp.MustCompile(`secret\("([^"]+)"\)`).FindAllStringSubmatch(script, -1) {
		if !slices.ContainsFunc(init.Secrets, func(s types.ServiceSecretConfig) bool { return s.Source == path[1] }) {
			t.Errorf("mongodb-init.js reads %s, which it is not given", path[1])
		}
	}
	for _, name := range []string{"mongodb-1", "mongodb-2", "mongodb-3"} {
		if !strings.Contains(strings.Join(p.Services[name].Entrypoint, " "), "--replSet tidewheel ") {
			t.Errorf("%s is of another replica set", name)
		}
	}
}

func TestSecretsAreMadeOnce(t *testing.T) {
	dir := secrets(t)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v %v", info, err)
	}
	contents := func() map[string]string {
		all := make(map[string]string)
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if len(text) < 16 {
				t.Errorf("%s holds %q", file.Name(), text)
			}
			all[file.Name()] = string(text)
		}
		return all
	}
	before := contents()
	makeSecrets(t, dir)
	after := contents()
	if len(before) != len(after) {
		t.Errorf("%d files, then %d", len(before), len(after))
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was recreated", name)
		}
	}
	if other, err := os.ReadFile(filepath.Join(secrets(t), "token")); err != nil || string(other) == before["token"] {
		t.Errorf("two tokens are alike: %v", err)
	}
}
