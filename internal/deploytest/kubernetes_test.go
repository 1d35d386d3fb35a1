package deploytest

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

const manifests = "deploy/kubernetes"

// kustomization is what ours uses of it.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Resources  []string `json:"resources"`
	Labels     []struct {
		Pairs map[string]string `json:"pairs"`
	} `json:"labels"`
	Images []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images"`
	ConfigMapGenerator []struct {
		Name     string   `json:"name"`
		Literals []string `json:"literals"`
	} `json:"configMapGenerator"`
}

// scaledObject is what ours uses of KEDA's; its own module brings a thousand others.
type scaledObject struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount *int32 `json:"minReplicaCount"`
		MaxReplicaCount *int32 `json:"maxReplicaCount"`
		PollingInterval *int32 `json:"pollingInterval"`
		Fallback        *struct {
			FailureThreshold int32 `json:"failureThreshold"`
			Replicas         int32 `json:"replicas"`
		} `json:"fallback"`
		Advanced *struct {
			HorizontalPodAutoscalerConfig *struct {
				Behavior *struct {
					ScaleUp   *scalingRules `json:"scaleUp"`
					ScaleDown *scalingRules `json:"scaleDown"`
				} `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type       string `json:"type"`
			MetricType string `json:"metricType"`
			Metadata   struct {
				ServerAddress string `json:"serverAddress"`
				Threshold     string `json:"threshold"`
				Query         string `json:"query"`
			} `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

type scalingRules struct {
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds"`
	Policies                   []struct {
		Type          string `json:"type"`
		Value         int32  `json:"value"`
		PeriodSeconds int32  `json:"periodSeconds"`
	} `json:"policies"`
}

// cluster is all that is in the manifests, as Kubernetes reads it.
type cluster struct {
	kustomization kustomization
	deployments   map[string]*apps.Deployment
	services      []*core.Service
	ingresses     []*networking.Ingress
	budgets       []*policy.PodDisruptionBudget
	scaled        []*scaledObject
	accounts      []string
}

func strict(t *testing.T, file, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into, yaml.DisallowUnknownFields); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func readCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{deployments: make(map[string]*apps.Deployment)}
	strict(t, "kustomization.yaml", read(t, manifests+"/kustomization.yaml"), &c.kustomization)
	files, err := filepath.Glob(filepath.Join(root, manifests, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file := filepath.Base(path)
		if file == "kustomization.yaml" {
			continue
		}
		if !slices.Contains(c.kustomization.Resources, file) {
			t.Errorf("%s is not among the resources of kustomization.yaml", file)
		}
		for _, text := range strings.Split(read(t, manifests+"/"+file), "\n---\n") {
			c.add(t, file, text)
		}
	}
	for _, file := range c.kustomization.Resources {
		read(t, manifests+"/"+file)
	}
	return c
}

func (c *cluster) add(t *testing.T, file, text string) {
	t.Helper()
	var kind meta.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "apps/v1 Deployment":
		var read apps.Deployment
		strict(t, file, text, &read)
		c.deployments[read.Name] = &read
	case "v1 Service":
		var read core.Service
		strict(t, file, text, &read)
		c.services = append(c.services, &read)
	case "networking.k8s.io/v1 Ingress":
		var read networking.Ingress
		strict(t, file, text, &read)
		c.ingresses = append(c.ingresses, &read)
	case "policy/v1 PodDisruptionBudget":
		var read policy.PodDisruptionBudget
		strict(t, file, text, &read)
		c.budgets = append(c.budgets, &read)
	case "keda.sh/v1alpha1 ScaledObject":
		var read scaledObject
		strict(t, file, text, &read)
		c.scaled = append(c.scaled, &read)
	case "v1 ServiceAccount":
		var read core.ServiceAccount
		strict(t, file, text, &read)
		c.accounts = append(c.accounts, read.Name)
	case "v1 Namespace":
		var read core.Namespace
		strict(t, file, text, &read)
		if read.Name != c.kustomization.Namespace {
			t.Errorf("the namespace is %s, and kustomization.yaml puts everything into %s", read.Name, c.kustomization.Namespace)
		}
	default:
		t.Errorf("%s: %s %s is unexpected", file, kind.APIVersion, kind.Kind)
	}
}

// pods finds the deployments whose pods have these labels.
func (c *cluster) pods(t *testing.T, selector *meta.LabelSelector) []string {
	t.Helper()
	matches, err := meta.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range sorted(c.deployments) {
		if matches.Matches(labels.Set(c.deployments[name].Spec.Template.Labels)) {
			found = append(found, name)
		}
	}
	return found
}

// node is a deployment's pod as the program sees it.
func (c *cluster) node(t *testing.T, d *apps.Deployment) *node {
	t.Helper()
	pod := &d.Spec.Template.Spec
	container := &pod.Containers[0]
	n := &node{name: d.Name, args: container.Args, env: make(map[string]string), files: make(map[string]string)}
	if pod.TerminationGracePeriodSeconds != nil {
		n.stop = time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
	}
	for _, source := range container.EnvFrom {
		for _, made := range c.kustomization.ConfigMapGenerator {
			if source.ConfigMapRef == nil || made.Name != source.ConfigMapRef.Name {
				t.Errorf("%s: envFrom names what kustomization.yaml does not make", d.Name)
				continue
			}
			for _, literal := range made.Literals {
				name, value, _ := strings.Cut(literal, "=")
				n.env[name] = value
			}
		}
	}
	for _, variable := range container.Env {
		n.env[variable.Name] = variable.Value
	}
	made := secrets(t)
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			t.Errorf("%s: there is no volume %s", d.Name, mount.Name)
			continue
		}
		if secret := pod.Volumes[i].Secret; secret != nil {
			for _, item := range secret.Items {
				n.files[mount.MountPath+"/"+item.Path] = filepath.Join(made, item.Key)
			}
		}
	}
	return n
}

func TestKubernetesNodesAreTaken(t *testing.T) {
	c := readCluster(t)
	roles := make(map[string]string)
	for _, name := range sorted(c.deployments) {
		d := c.deployments[name]
		if len(d.Spec.Template.Spec.Containers) != 1 {
			t.Fatalf("%s has %d containers", name, len(d.Spec.Template.Spec.Containers))
		}
		values := c.node(t, d).settings(t)
		role := strings.Trim(values["roles"], "[]")
		if role == "executor" {
			role += " " + values["tier"]
		}
		roles[role] = name
		container := &d.Spec.Template.Spec.Containers[0]
		// The volume itself is anybody's to write to, which a server refuses of its data folder.
		if !slices.ContainsFunc(container.VolumeMounts, func(m core.VolumeMount) bool { return strings.HasPrefix(values["data"], m.MountPath+"/") }) {
			t.Errorf("%s: the data folder %s is not inside a volume", name, values["data"])
		}
		for _, p := range container.Ports {
			for setting, portName := range map[string]string{"metrics-listen": "metrics", "http": "http"} {
				if p.Name == portName && port(values[setting]) != strconv.Itoa(int(p.ContainerPort)) {
					t.Errorf("%s: port %s is %d, and the program listens on %s", name, p.Name, p.ContainerPort, values[setting])
				}
			}
		}
		if annotated := d.Spec.Template.Annotations["prometheus.io/port"]; annotated != port(values["metrics-listen"]) {
			t.Errorf("%s: Prometheus asks port %s", name, annotated)
		}
	}
	for _, role := range []string{"engine", "web", "executor light", "executor medium", "executor heavy"} {
		if roles[role] == "" {
			t.Errorf("no node is %s", role)
		}
	}
}

func TestKubernetesPodsAreKept(t *testing.T) {
	c := readCluster(t)
	if c.budgets == nil || c.services == nil || c.ingresses == nil || c.scaled == nil {
		t.Fatal("a kind is missing")
	}
	images := make(map[string]string)
	for _, image := range c.kustomization.Images {
		images[image.Name] = image.NewTag
	}
	guarded := make(map[string]int)
	for _, budget := range c.budgets {
		names := c.pods(t, budget.Spec.Selector)
		if len(names) != 1 {
			t.Errorf("the budget %s is for the pods of %v", budget.Name, names)
		}
		for _, name := range names {
			guarded[name]++
		}
	}
	for _, name := range sorted(c.deployments) {
		d := c.deployments[name]
		if guarded[name] != 1 {
			t.Errorf("%s has %d budgets", name, guarded[name])
		}
		if found := c.pods(t, d.Spec.Selector); !slices.Equal(found, []string{name}) {
			t.Errorf("%s selects the pods of %v", name, found)
		}
		pod := &d.Spec.Template.Spec
		for _, constraint := range pod.TopologySpreadConstraints {
			if found := c.pods(t, constraint.LabelSelector); !slices.Equal(found, []string{name}) {
				t.Errorf("%s is spread with the pods of %v", name, found)
			}
		}
		if !slices.Contains(c.accounts, pod.ServiceAccountName) || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: its pods have an account of Kubernetes", name)
		}
		if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
			t.Errorf("%s: the service links are on: the Service tidewheel makes variables TIDEWHEEL_…", name)
		}
		if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.FSGroup == nil || s.SeccompProfile == nil {
			t.Errorf("%s: its pods are not confined", name)
		}
		container := &pod.Containers[0]
		if tag, known := images[container.Image]; !known || tag == "" || tag == "latest" {
			t.Errorf("%s: kustomization.yaml has no image %s, or no tag of it", name, container.Image)
		}
		s := container.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("%s: its container is not confined", name)
		}
		if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: has no requests or no limits", name)
		}
		for path, probe := range map[string]*core.Probe{"/livez": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path ||
				!slices.ContainsFunc(container.Ports, func(p core.ContainerPort) bool { return p.Name == probe.HTTPGet.Port.StrVal }) {
				t.Errorf("%s: the probe of %s asks elsewhere", name, path)
			}
		}
	}
	for _, service := range c.services {
		names := c.pods(t, &meta.LabelSelector{MatchLabels: service.Spec.Selector})
		if len(names) != 1 {
			t.Errorf("the service %s leads to %v", service.Name, names)
			continue
		}
		for _, p := range service.Spec.Ports {
			if !slices.ContainsFunc(c.deployments[names[0]].Spec.Template.Spec.Containers[0].Ports, func(own core.ContainerPort) bool { return own.Name == p.TargetPort.StrVal }) {
				t.Errorf("the service %s leads to port %s, which %s has not", service.Name, p.TargetPort.StrVal, names[0])
			}
		}
	}
	for _, ingress := range c.ingresses {
		for _, rule := range ingress.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				to := path.Backend.Service
				if !slices.ContainsFunc(c.services, func(s *core.Service) bool { return s.Name == to.Name && s.Spec.Ports[0].Name == to.Port.Name }) {
					t.Errorf("the ingress leads to %s %s, which is not there", to.Name, to.Port.Name)
				}
			}
		}
	}
}

func TestKEDAScalesWhatIsThere(t *testing.T) {
	c := readCluster(t)
	known := metrics(t)
	scaled := make(map[string]bool)
	for _, object := range c.scaled {
		target := c.deployments[object.Spec.ScaleTargetRef.Name]
		if target == nil {
			t.Errorf("%s scales %s, which is not there", object.Name, object.Spec.ScaleTargetRef.Name)
			continue
		}
		scaled[target.Name] = true
		if target.Spec.Replicas != nil {
			t.Errorf("%s says how many there are, and KEDA does, too", target.Name)
		}
		if low, high := object.Spec.MinReplicaCount, object.Spec.MaxReplicaCount; low == nil || high == nil || *low < 1 || *high < *low {
			t.Errorf("%s: from %v to %v", object.Name, low, high)
		}
		args := target.Spec.Template.Spec.Containers[0].Args
		argument := func(flag string) string { return args[slices.Index(args, flag)+1] }
		if len(object.Spec.Triggers) != 1 {
			t.Fatalf("%s has %d triggers", object.Name, len(object.Spec.Triggers))
		}
		trigger := object.Spec.Triggers[0]
		if trigger.Type != "prometheus" || trigger.MetricType != "AverageValue" || !strings.HasPrefix(trigger.Metadata.ServerAddress, "http://") {
			t.Errorf("%s: the trigger is %+v", object.Name, trigger)
		}
		if trigger.Metadata.Threshold != argument("--slots") {
			t.Errorf("%s: %s tasks for each executor, which has %s slots", object.Name, trigger.Metadata.Threshold, argument("--slots"))
		}
		checkQuery(t, object.Name, trigger.Metadata.Query, known)
		for _, part := range []string{`tier="` + argument("--tier") + `"`, `executor=~"` + target.Name + `-.*"`} {
			if !strings.Contains(trigger.Metadata.Query, part) {
				t.Errorf("%s does not ask for %s: %s", object.Name, part, trigger.Metadata.Query)
			}
		}
	}
	for _, name := range sorted(c.deployments) {
		if strings.Contains(name, "executor") && !scaled[name] {
			t.Errorf("%s is not scaled", name)
		}
	}
}
