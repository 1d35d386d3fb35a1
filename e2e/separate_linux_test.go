package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

// spy looks at all processes of this server that it can see, and at its files.
const spy = `#!/bin/sh
exec 2>/dev/null
for process in /proc/$SERVER $(grep -ls "^PPid:	$SERVER$" /proc/[0-9]*/status | sed s,/status,,); do
	test $process = /proc/$$ && continue
	test -e $process && echo looks at a process
	cat $process/environ | grep -qa . && echo reached $process/environ
	dd if=$process/mem bs=1 count=1 skip=4198400 | grep -qa . && echo reached $process/mem
	ls $process/fd/ | grep -q . && echo reached $process/fd
	test -e $process/root/etc && echo reached $process/root
done
cat "$DATA/token" && echo reached the token
ls "$DATA" | grep -q token && echo reached the list of the data folder
grep -qa SQLite "$DATA/store/tidewheel.db" && echo reached the database
cat "$SHARED" && echo reached the token of the command line
cat "$SECRET" && echo reached the file of a secret
kill -0 $SERVER && echo reached the server by a signal
chmod u+w "$0" && echo >> "$0" && echo reached the cache
ls "$(dirname "$(dirname "$TIDEWHEEL_WORK_DIR")")" | grep -qx lock && echo reached the list of work folders
echo honest > "$TIDEWHEEL_ARTIFACTS/file" && echo key=value > "$TIDEWHEEL_OUTPUT" && test "$(cat "$(mktemp)")" = "" && echo honest work
grep NoNewPrivs /proc/self/status
echo run-token $(printf %s "$TIDEWHEEL_RUN_TOKEN" | sed 's/./&,/g')
exit 0
`

// A job finds out nothing of the server that its definition does not give it. Only where the server's own user is named as
// whom jobs run as can they do what that user can.
func TestJobReachesNothingOfTheServer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it needs root, to start servers as root and as another user")
	}
	everything := []string{
		"reached the token", "reached the list of the data folder", "reached the database", "reached the token of the command line",
		"reached the file of a secret", "reached the server by a signal", "reached the cache", "reached the list of work folders",
	}
	for _, c := range []struct {
		name, isolation string
		as              *syscall.Credential
		args            []string
		reached         []string // what is known to be open, and named in a warning
	}{
		{"root", "own-user", nil, nil, nil},
		{"another user", "own-domain", &syscall.Credential{Uid: 65534, Gid: 65534}, nil, nil},
		{"another user that is named", "none", &syscall.Credential{Uid: 65534, Gid: 65534}, []string{"--run-as", "65534"}, everything},
		{"root, strict", "strict", nil, []string{"--sandbox", "strict"}, nil},
		{"another user, strict", "strict", &syscall.Credential{Uid: 65534, Gid: 65534}, []string{"--sandbox", "strict"}, nil},
		{"another user, off", "none", &syscall.Credential{Uid: 65534, Gid: 65534}, []string{"--sandbox", "off"}, everything},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			server := NewServer(t, binary, c.args...)
			server.As = c.as
			secret := filepath.Join(filepath.Dir(server.state), "secret")
			if err := os.WriteFile(secret, []byte("tw_secret-of-the-metrics\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.as != nil {
				if err := os.Chown(secret, int(c.as.Uid), int(c.as.Gid)); err != nil {
					t.Fatal(err)
				}
			}
			server.args = append(server.args, "--metrics-token-file", secret)
			server.Start()
			api := server.Client()
			if _, err := api.UploadBinary(ctx, "spy", strings.NewReader(spy), client.UploadOptions{Aliases: []string{"stable"}}); err != nil {
				t.Fatal(err)
			}
			env, err := json.Marshal(map[string]string{
				"SERVER": fmt.Sprint(server.process.Process.Pid), "DATA": server.args[2],
				"SECRET": secret, "SHARED": filepath.Join(server.state, "tidewheel", "loopback-"+server.address[strings.LastIndexByte(server.address, ':')+1:]+".token"),
			})
			if err != nil {
				t.Fatal(err)
			}
			definition := fmt.Sprintf("kind: Job\nname: spy\nbinary: spy\nenv: %s\n", env)
			if _, err := api.Apply(ctx, []client.File{{Name: "spy.yaml", Data: []byte(definition)}}, client.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			asked, err := api.RunJob(ctx, "spy", wire.RunRequest{}, "once")
			if err != nil {
				t.Fatal(err)
			}
			run := watch(ctx, t, api, asked.ID, func(run *wire.Run) bool { return run.Status.Terminal() })
			out, _ := server.Command(ctx, "logs", run.ID)
			var runToken string
			for line := range strings.Lines(out) {
				line = strings.TrimSpace(line)
				open := false
				for _, known := range c.reached {
					open = open || line == known
				}
				if strings.HasPrefix(line, "reached") && !open {
					t.Errorf("a job %s", line)
				}
				if token, ok := strings.CutPrefix(line, "run-token "); ok { // as it is, it would be masked
					token = strings.ReplaceAll(token, ",", "")
					runToken = token
				}
			}
			for _, known := range c.reached {
				if !strings.Contains(out, known+"\n") {
					t.Errorf("the job cannot do this either, so that it shows nothing: %s", known)
				}
			}
			if looks := strings.Count(out, "looks at a process\n"); c.isolation == "strict" && looks > 0 {
				t.Errorf("the job sees processes of the server: %q", out)
			}
			if c.as != nil && c.isolation != "strict" && strings.Count(out, "looks at a process\n") < 2 {
				t.Errorf("the job finds neither the server nor its guardian: %q", out)
			}
			if !strings.Contains(out, "NoNewPrivs:\t1") || !strings.Contains(out, "honest work\n") || runToken == "" {
				t.Errorf("the job printed %q", out)
			}
			for _, token := range []string{"", runToken} {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL()+"/api/v1/backup", nil)
				if err != nil {
					t.Fatal(err)
				}
				if token != "" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close() // it was not read
				if answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden {
					t.Errorf("a backup is given for the token %.4q…: %s", token, answer.Status)
				}
			}
			executors, err := api.Executors(ctx)
			if err != nil || len(executors) != 1 || executors[0].Isolation != c.isolation {
				t.Errorf("the executors are %+v (%v)", executors, err)
			}
			if warned := strings.Contains(server.log.String(), "nothing keeps programs from this executor"); warned != (c.isolation == "none") {
				t.Errorf("a warning in the log: %t", warned)
			}
		})
	}
}

// A server cannot start in a folder that its user may not read, and says what to do.
func TestServerSaysWhatToDoInAClosedFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it needs root, to start a server as another user")
	}
	dir := Folder(t)
	closed := filepath.Join(dir, "closed")
	if err := errors.Join(os.Mkdir(closed, 0o700), os.Chmod(closed, 0o311), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), binary, "server", "--data", filepath.Join(dir, "data"), "--http", freeAddress(t))
	server.Dir, server.Env = closed, []string{"HOME=" + dir}
	server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	output, err := server.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "the folder that the server is started in is closed to user 65534") {
		t.Errorf("%v: %s", err, output)
	}
}
