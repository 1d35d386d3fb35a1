package engine

import (
	"errors"
	"maps"
	"regexp"
	"strings"

	"github.com/256dpi/lungo/bsonkit"
	"github.com/256dpi/lungo/mongokit"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// Filter is a checked query.
type Filter struct {
	source   bson.D // as sent: what plans and upserts read
	compiled bson.D // with regular expressions compiled: what is matched
}

// expressionOperators are lungo's plus regular expressions, which lungo does not have.
var expressionOperators = func() map[string]mongokit.Operator {
	operators := maps.Clone(mongokit.ExpressionQueryOperators)
	operators["$regex"] = matchRegex
	return operators
}()

// NewFilter checks a query, so that one with an unknown operator is refused even by an empty collection.
func NewFilter(query bson.D) (*Filter, *Error) {
	compiled, err := compileQuery(query)
	if err != nil {
		return nil, err
	}
	return &Filter{source: query, compiled: compiled}, nil
}

// Match reports whether the document satisfies the query.
func (f *Filter) Match(document bsonkit.Doc) (bool, *Error) {
	if len(f.compiled) == 0 {
		return true, nil
	}
	err := mongokit.Process(mongokit.Context{
		TopLevel:   mongokit.TopLevelQueryOperators,
		Expression: expressionOperators,
	}, document, f.compiled, "", true)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, mongokit.ErrNotMatched):
		return false, nil
	}
	return false, Errorf(BadValue, "%s", err)
}

func compileQuery(query bson.D) (bson.D, *Error) {
	compiled := make(bson.D, 0, len(query))
	for _, element := range query {
		if !isOperator(element.Key) {
			value, err := compileCondition(element.Value)
			if err != nil {
				return nil, err
			}
			compiled = append(compiled, bson.E{Key: element.Key, Value: value})
			continue
		}
		switch element.Key {
		case "$comment":
			continue
		case "$and", "$or", "$nor":
			branches, err := compileBranches(element)
			if err != nil {
				return nil, err
			}
			compiled = append(compiled, bson.E{Key: element.Key, Value: branches})
		case "$jsonSchema":
			compiled = append(compiled, element)
		default:
			return nil, Errorf(BadValue, "unknown top level operator: %s", element.Key)
		}
	}
	return compiled, nil
}

func compileBranches(element bson.E) (bson.A, *Error) {
	array, ok := element.Value.(bson.A)
	if !ok || len(array) == 0 {
		return nil, Errorf(BadValue, "%s must be a nonempty array", element.Key)
	}
	branches := make(bson.A, 0, len(array))
	for _, item := range array {
		branch, ok := item.(bson.D)
		if !ok {
			return nil, Errorf(BadValue, "%s entries must be objects", element.Key)
		}
		compiled, err := compileQuery(branch)
		if err != nil {
			return nil, err
		}
		branches = append(branches, compiled)
	}
	return branches, nil
}

// compileCondition checks what stands at a field: a value or a document of operators.
func compileCondition(value any) (any, *Error) {
	if pattern, ok := value.(primitive.Regex); ok {
		expression, err := compileRegex(pattern.Pattern, pattern.Options)
		if err != nil {
			return nil, err
		}
		return bson.D{{Key: "$regex", Value: expression}}, nil
	}
	operators, ok := isExpression(value)
	if !ok {
		return value, nil
	}
	compiled := make(bson.D, 0, len(operators))
	for _, operator := range operators {
		operand, err := compileOperator(operator, operators)
		if err != nil {
			return nil, err
		}
		if operand != nil {
			compiled = append(compiled, *operand)
		}
	}
	return compiled, nil
}

func compileOperator(operator bson.E, siblings bson.D) (*bson.E, *Error) {
	switch operator.Key {
	case "$options":
		if _, ok := Field(siblings, "$regex"); !ok {
			return nil, Errorf(BadValue, "$options needs a $regex")
		}
		return nil, nil
	case "$regex":
		var pattern, options string
		switch value := operator.Value.(type) {
		case string:
			pattern = value
		case primitive.Regex:
			pattern, options = value.Pattern, value.Options
		default:
			return nil, Errorf(BadValue, "$regex has to be a string")
		}
		if value, ok := Field(siblings, "$options"); ok {
			if options, ok = value.(string); !ok {
				return nil, Errorf(BadValue, "$options has to be a string")
			}
		}
		expression, err := compileRegex(pattern, options)
		if err != nil {
			return nil, err
		}
		return &bson.E{Key: "$regex", Value: expression}, nil
	case "$in", "$nin", "$all":
		array, ok := operator.Value.(bson.A)
		if !ok {
			return nil, Errorf(BadValue, "%s needs an array", operator.Key)
		}
		for _, item := range array {
			if _, ok := item.(primitive.Regex); ok {
				return nil, Errorf(CommandNotSupported, "regular expressions inside %s are not supported by this server", operator.Key)
			}
			if _, ok := isExpression(item); ok {
				return nil, Errorf(BadValue, "cannot nest $ under %s", operator.Key)
			}
		}
	case "$not":
		compiled, err := compileCondition(operator.Value)
		if err != nil {
			return nil, err
		}
		if _, ok := isExpression(compiled); !ok {
			return nil, Errorf(BadValue, "$not needs a regex or a document")
		}
		return &bson.E{Key: "$not", Value: compiled}, nil
	case "$elemMatch":
		return compileElementMatch(operator)
	default:
		if expressionOperators[operator.Key] == nil || operator.Key == "" {
			return nil, Errorf(BadValue, "unknown operator: %s", operator.Key)
		}
	}
	return &operator, nil
}

func compileElementMatch(operator bson.E) (*bson.E, *Error) {
	query, ok := operator.Value.(bson.D)
	if !ok {
		return nil, Errorf(BadValue, "$elemMatch needs an Object")
	}
	if _, ok := isExpression(query); ok {
		for _, element := range query {
			if mongokit.TopLevelQueryOperators[element.Key] != nil {
				return nil, Errorf(CommandNotSupported, "%s inside $elemMatch is not supported by this server", element.Key)
			}
		}
		compiled, err := compileCondition(query)
		if err != nil {
			return nil, err
		}
		return &bson.E{Key: "$elemMatch", Value: compiled}, nil
	}
	for _, element := range query {
		if isOperator(element.Key) {
			return nil, Errorf(CommandNotSupported, "%s inside $elemMatch is not supported by this server", element.Key)
		}
	}
	compiled, err := compileQuery(query)
	if err != nil {
		return nil, err
	}
	return &bson.E{Key: "$elemMatch", Value: compiled}, nil
}

func compileRegex(pattern, options string) (*regexp.Regexp, *Error) {
	for _, option := range options {
		if !strings.ContainsRune("ims", option) {
			return nil, Errorf(BadValue, "regular expression option %q is not supported by this server", option)
		}
	}
	if options != "" {
		pattern = "(?" + options + ")" + pattern
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, Errorf(BadValue, "Regular expression is invalid: %s", err)
	}
	return expression, nil
}

func matchRegex(_ mongokit.Context, document bsonkit.Doc, _, path string, operand any) error {
	expression := operand.(*regexp.Regexp)
	value, _ := bsonkit.All(document, path, true, true)
	values, ok := value.(bson.A)
	if !ok {
		values = bson.A{value}
	}
	for _, value := range values {
		if text, ok := value.(string); ok && expression.MatchString(text) {
			return nil
		}
	}
	return mongokit.ErrNotMatched
}
