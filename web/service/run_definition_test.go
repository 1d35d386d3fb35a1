package service_test

import (
	"testing"

	"github.com/tidewheel/tidewheel/web/service"
)

func TestSecretLikeValuesAreDetected(t *testing.T) {
	for variable, want := range map[[2]string]bool{
		{"DB_PASSWORD", "x"}: true, {"API_KEY", "x"}: true, {"apikey", "x"}: true, {"GITHUB_TOKEN", "x"}: true, {"KEY", "x"}: true,
		{"DATABASE_URL", "postgres://app:hunter2@db/shop"}: true, {"DATABASE_URL", "postgres://app@db/shop"}: false,
		{"X", "AKIAIOSFODNN7EXAMPLE"}: true, {"X", "eyJhbGciOi.eyJzdWIi.sig"}: true, {"X", "kJ8s0Qm2Zx7vB4nL1pRt9YwE"}: true,
		{"LEVEL", "info"}: false, {"KEYBOARD", "de"}: false, {"MONKEY", "george"}: false, {"AUTHOR", "mira"}: false, {"TZ", "Europe/Amsterdam"}: false,
		{"REGION", "eu-central-1"}: false, {"FILE", "/var/lib/reports/2026/11/totals.csv"}: false, {"WORDS", "a long text of many words and letters"}: false,
		{"SHOPS", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}: false,
	} {
		if got := service.LooksSecret(variable[0], variable[1]); got != want {
			t.Errorf("%s=%s looks secret: %v, want %v", variable[0], variable[1], got, want)
		}
	}
}
