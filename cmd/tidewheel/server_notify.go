package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/notify/send"
	"github.com/tidewheel/tidewheel/notify/watch"
	oidc "github.com/tidewheel/tidewheel/web/issuer"
	"github.com/tidewheel/tidewheel/web/service"
)

// smtpPassword is a setting without a flag: the environment makes it, or a file of its own, so that no list of processes shows it.
const smtpPassword = "smtp-password"

// notifySettings are the settings that are about notifications.
var notifySettings = []string{"public-url", "smtp-url", "smtp-from", smtpPassword + secretFile}

func notifyFlags(flags *pflag.FlagSet) {
	flags.String("public-url", "", "where people reach the pages, for links in notifications (default that of --oidc-redirect-url, or the address of --http)")
	flags.String("smtp-url", "", "SMTP server for notifications by e-mail: smtp://user@host:587 (STARTTLS) or smtps://user@host:465")
	flags.String(smtpPassword+secretFile, "", "file of the password for it (or TIDEWHEEL_SMTP_PASSWORD)")
	flags.String("smtp-from", "", "address that notifications come from, such as \"Tidewheel <tidewheel@example.com>\"")
}

// notifySetting reads the settings of notifications.
func notifySetting(v *viper.Viper, config *ServerConfig) error {
	config.PublicURL, config.SMTPURL, config.SMTPFrom = v.GetString("public-url"), v.GetString("smtp-url"), v.GetString("smtp-from")
	config.SMTPPassword = v.GetString(smtpPassword)
	path := v.GetString(smtpPassword + secretFile)
	if path == "" {
		return nil
	}
	if config.SMTPPassword != "" {
		return usage("TIDEWHEEL_SMTP_PASSWORD and --%s say the same thing: give one of them", smtpPassword+secretFile)
	}
	var err error
	config.SMTPPassword, err = readSecret("--"+smtpPassword+secretFile, path)
	return err
}

// validateNotify refuses settings with which nothing could be sent.
func (c *ServerConfig) validateNotify() error {
	if c.PublicURL != "" {
		parsed, err := url.Parse(c.PublicURL)
		if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" ||
			parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil || strings.Trim(parsed.Path, "/") != "" {
			return usage("--public-url: %q is not the address of the pages, such as https://tidewheel.example.com", c.PublicURL)
		}
		c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	}
	if c.SMTPURL == "" {
		if c.SMTPFrom != "" || c.SMTPPassword != "" {
			return usage("--smtp-from and --smtp-password-file: for an SMTP server, which --smtp-url names: give it, or leave them out")
		}
		return nil
	}
	_, err := c.mail()
	return err
}

// mail makes the wire of e-mail.
func (c *ServerConfig) mail() (*send.Mail, error) {
	config, err := send.ParseMailURL(c.SMTPURL)
	switch {
	case err != nil:
		return nil, usage("--smtp-url: %w", err)
	case c.SMTPFrom == "":
		return nil, usage("--smtp-from: --smtp-url needs it: give the address that notifications come from, such as tidewheel@example.com")
	case config.User == "" && c.SMTPPassword != "":
		return nil, usage("--smtp-password-file: for a login, whose name stands in --smtp-url: give smtp://user@…, or leave the password out")
	case config.User != "" && c.SMTPPassword == "":
		return nil, usage("--smtp-url: user %s needs a password: give --smtp-password-file or TIDEWHEEL_SMTP_PASSWORD", config.User)
	}
	config.From, config.Password, config.Agent = c.SMTPFrom, c.SMTPPassword, "tidewheel/"+version
	wire, err := send.NewMail(config)
	if err != nil {
		return nil, usage("--smtp-from: %w", err)
	}
	return wire, nil
}

// notifyPart is what a node knows of notifications; all of it is nil without a store.
type notifyPart struct {
	book     *notify.Book
	sender   *notify.Sender
	notifier *notify.Notifier
}

// openNotifications makes what notifies people, once the store and the key of secrets are open.
func (s *Server) openNotifications() error {
	log := s.log.With("part", "notifications")
	node, err := s.data.node()
	if err != nil {
		return err
	}
	book := notify.NewBook(s.store, s.secrets.vault, time.Now)
	book.Keep(s.config.RetentionNotifications)
	wires := map[notify.TargetKind]notify.Wire{notify.TargetJob: send.NewJob(s.startNotified)}
	hook := send.NewHTTP("tidewheel/"+version, nil, time.Now)
	for _, kind := range []notify.TargetKind{notify.TargetWebhook, notify.TargetSlack, notify.TargetTeams} {
		wires[kind] = hook
	}
	if s.config.SMTPURL != "" {
		mail, err := s.config.mail()
		if err != nil {
			return err
		}
		wires[notify.TargetEmail] = mail
	}
	sender := notify.NewSender(book, notify.SenderConfig{
		Wires: wires, Runs: s.store, PublicURL: s.publicURL(), Node: node, Count: s.metrics.notified, Log: log,
	})
	s.notify = notifyPart{book, sender, notify.NewNotifier(book, sender.Wake, s.metrics.notified, log)}
	return nil
}

// notifications is what the service knows of notifications.
func (s *Server) notifications() service.Notifications {
	return service.Notifications{
		Book: s.notify.book, Test: s.notify.sender.Test, Unable: s.notify.sender.Unable, Mail: s.config.SMTPURL != "",
		Installation: func(ctx context.Context) ([]engine.Incident, error) { return watch.Incidents(ctx, s.store) },
	}
}

// startNotifications sends what is due until the server ends. Each node with a store does so, as the engines may all be away when
// there is something to report.
func (s *Server) startNotifications() {
	if s.secrets.ring == nil {
		s.log.Warn("this server has no key of secrets: notifications to webhooks, Slack and Teams wait for a server that has it; give --secrets-key-file")
	}
	s.parts.add("the notifications", s.notify.sender.Run)
	config := watch.Config{
		Records: s.store, Queue: s.queue, LeaseTTL: leaseTTL, Rules: s.notify.book.Rules, Notify: s.notify.notifier.Notify, Now: time.Now, Log: s.log,
	}
	if s.config.sharesShards() {
		config.Owners = s.queue.ShardOwners
	}
	if s.config.has(roleWeb) {
		config.Ledger = s.ledgerForWatch
	}
	s.parts.add("the watch over the installation", watch.New(config).Run)
}

// ledgerForWatch is what this node's check of the slot ledger has found.
func (s *Server) ledgerForWatch() watch.Ledger {
	state := s.service.LedgerState()
	found := watch.Ledger{Found: state.Found, Through: state.Through, At: state.At}
	if len(state.Differences) > 0 {
		d := &state.Differences[0]
		found.Words = fmt.Sprintf("%s of %s/%s, which is %s", d.Slot.UTC().Format(time.RFC3339), d.Namespace, d.Owner, d.Kind.Words())
	}
	return found
}

// publicURL is where people reach the pages, as far as this node knows.
func (s *Server) publicURL() string {
	if s.config.PublicURL != "" {
		return s.config.PublicURL
	}
	if back := s.config.OIDC.RedirectURL; back != "" {
		return strings.TrimSuffix(back, oidc.CallbackPath)
	}
	return s.URL()
}

// startNotified starts a run of a job that is a notification target.
func (s *Server) startNotified(ctx context.Context, namespace, job string, payload json.RawMessage, key string) (string, error) {
	run, _, err := s.service.StartRun(ctx, namespace, job, service.Start{By: "notification", Payload: payload, Key: key})
	var refused *service.Error
	if errors.As(err, &refused) {
		permanent := false
		switch refused.Kind {
		case service.KindInvalid, service.KindForbidden, service.KindNotFound, service.KindExists, service.KindConflict, service.KindTooLarge:
			permanent = true
		case service.KindFenced, service.KindUnavailable, service.KindBusy: // worth another try
		}
		return "", &notify.SendError{Answer: refused.Code, Permanent: permanent, After: refused.RetryAfter, Err: err}
	}
	return run.ID, err
}
