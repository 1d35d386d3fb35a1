package main

// openAPI is what is used of a description of an API. The API's own uses no more.
type openAPI struct {
	Paths      map[string]map[string]*operation `json:"paths"` // by path and method
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	ID          string               `json:"operationId"`
	Summary     string               `json:"summary"`
	Description string               `json:"description"`
	Parameters  []parameter          `json:"parameters"`
	Body        *body                `json:"requestBody"`
	Responses   map[string]*response `json:"responses"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"` // path, query or header
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *schema `json:"schema"`
}

type body struct {
	Content  map[string]media `json:"content"`
	Required bool             `json:"required"`
}

type response struct {
	Content map[string]media `json:"content"`
}

type media struct {
	Schema *schema `json:"schema"`
}

type schema struct {
	Ref         string             `json:"$ref"`
	Type        string             `json:"type"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Const       any                `json:"const"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	More        any                `json:"additionalProperties"` // false, or a schema
	AnyOf       []*schema          `json:"anyOf"`
	OneOf       []*schema          `json:"oneOf"`
}
