package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
)

// readyLimit is how long a node may take to say whether it is ready.
const readyLimit = 10 * time.Second

func (c *cli) readyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ready", Short: "Check whether a node is ready",
		Long: `Ask a node whether it can do its work, as a health check in a container that has no other program. --url is the
address of its pages, or that of --metrics-listen. No token is needed.

Exit status: 0 it can, 1 it cannot and says why, 3 it does not answer.`,
		Example: "  tidewheel ready\n  tidewheel ready --url http://127.0.0.1:9090",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := c.askReady(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(map[string]any{"ready": true}, func(w io.Writer) { fmt.Fprintln(w, answer) })
		},
	}
}

// askReady returns the answer of a node that is ready, and for another one an outcomeError that says why it is not.
func (c *cli) askReady(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	response, err := c.get(ctx, "/readyz")
	var wrong *usageError
	if errors.As(err, &wrong) {
		return "", err
	}
	if err != nil {
		return "", client.Unreachable(c.url, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return "", client.Unreachable(c.url, err)
	}
	answer := strings.TrimSpace(string(text))
	switch response.StatusCode {
	case http.StatusOK:
		return answer, nil
	case http.StatusServiceUnavailable:
		return "", &outcomeError{"not ready: " + answer}
	}
	return "", &outcomeError{fmt.Sprintf("%s answers %s to /readyz: is that a node of Tidewheel?", c.url, response.Status)}
}
