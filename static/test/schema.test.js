import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { about, at, keys, order, pathAt, values } from "../src/js/editor/schema.js";

const schema = JSON.parse(await readFile(new URL("../../docs/schema.json", import.meta.url), "utf8"));

test("the schema is asked by path", () => {
  assert.ok(order(schema, "Job").indexOf("name") < order(schema, "Job").indexOf("schedule"));
  assert.deepEqual(values(schema, "Job", ["overlap"]), ["skip", "queue", "allow", "replace"]);
  assert.deepEqual(keys(schema, "Job", ["alerts"]).map((key) => key.name), ["on", "lag", "duration", "silent_for", "to"]);
  assert.ok(keys(schema, "Job", ["retry"]).some((key) => key.name === "max_delay" && key.about !== ""));
  assert.match(about(at(schema, "Job", ["exclude", "from"]) ?? at(schema, "Job", ["timezone"])), /./);
  assert.equal(at(schema, "Job", ["no", "such"]), undefined);
  assert.match(about(at(schema, "Job", ["timezone"])), /By default UTC\.$/);
});

test("the place of the writer is told from the lines before", () => {
  for (const [text, path] of [
    ["ov", [""]],
    ["overlap: ", ["overlap"]],
    ["retry:\n  del", ["retry", ""]],
    ["retry:\n  delay: 5", ["retry", "delay"]],
    ["retry:\n  delay: 5s\n  max", ["retry", ""]],
    ["retry: {max", ["retry", ""]],
    ["retry: {max_attempts: 3, delay: 5", ["retry", "delay"]],
    ["retry:\n  delay: 5s\nna", [""]],
    ["tasks:\n  one:\n    binary: a\n    retry:\n      on: ", ["tasks", "one", "retry", "on"]],
  ]) {
    assert.deepEqual(pathAt(text.split("\n")), path, text);
  }
});
