package wire

import "time"

// Secret is what there is to say of a secret but its value, which is never answered.
type Secret struct {
	Namespace string    `json:"namespace" example:"default"`
	Name      string    `json:"name" example:"reporting-db"`
	Version   int64     `json:"version" doc:"One more with each value"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"`
}

// SecretValue gives a secret a value.
type SecretValue struct {
	Value string `json:"value" doc:"UTF-8 text of 1 byte to 64 KiB, without zero bytes"`
}

// SecretsKey is the answer to a rotation.
type SecretsKey struct {
	Recipient string `json:"recipient" doc:"The public part of the new key, which all secrets are sealed for from here on"`
	Resealed  int    `json:"resealed" doc:"How many secrets were resealed"`
}
