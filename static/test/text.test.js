import assert from "node:assert/strict";
import { test } from "node:test";
import { Text } from "../src/js/editor/text.js";

const schema = { $defs: { Job: { properties: { kind: { const: "Job" }, name: {}, binary: {}, timeout: {}, labels: {} } } } };
const written = "kind: Job\nname: a # short\nbinary: b\n";

function make() {
  const heard = [];
  const text = new Text(written, schema, (fresh, by) => heard.push([by, fresh]));
  return { text, heard };
}

test("edits are steps that can be undone and done again", () => {
  const { text, heard } = make();
  assert.equal(text.patchAll([{ path: ["labels"], value: { team: "x" } }]), true);
  assert.equal(text.patchAll([{ path: ["timeout"], value: "5m" }]), true);
  assert.equal(text.text(), "kind: Job\nname: a # short\nbinary: b\ntimeout: 5m\nlabels: {team: x}\n");
  assert.deepEqual(text.past(), { undo: 2, redo: 0 });
  text.undo();
  text.undo();
  text.undo(); // there is no more
  assert.equal(text.text(), written);
  assert.deepEqual(text.past(), { undo: 0, redo: 2 });
  text.redo();
  assert.equal(text.text(), "kind: Job\nname: a # short\nbinary: b\nlabels: {team: x}\n");
  text.setText("kind: Job\n");
  assert.deepEqual(text.past(), { undo: 2, redo: 0 }, "what was undone cannot be done again after another change");
  assert.equal(heard.length, 6);
  assert.deepEqual(heard.at(-1), ["set", "kind: Job\n"]);
});

test("what is typed into a field at a stretch is one step", () => {
  const { text } = make();
  for (const timeout of ["5", "5m", "5ms"]) text.patch(["timeout"], timeout);
  assert.equal(text.past().undo, 1);
  text.patchAll([{ path: ["labels"], value: { team: "x" } }]);
  assert.equal(text.past().undo, 2);
  text.patch(["timeout"], "6m");
  assert.equal(text.past().undo, 3, "a step of its own is not gone on with");
  for (let i = 0; i < 3; i++) text.undo();
  assert.equal(text.text(), written);
});

test("what is typed and taken away again is no step", () => {
  const { text } = make();
  text.patchAll([{ path: ["labels"], value: { team: "x" } }]);
  const before = text.text();
  text.patch(["timeout"], "5");
  text.patch(["timeout"], undefined);
  assert.equal(text.text(), before);
  assert.deepEqual(text.steps, [written, before]);
  assert.deepEqual(text.past(), { undo: 1, redo: 0 });
  text.setText(before);
  assert.deepEqual(text.past(), { undo: 1, redo: 0 });
});

test("an edit that changes nothing is no step, and a text that cannot be read takes none", () => {
  const { text, heard } = make();
  assert.equal(text.patch(["binary"], "b"), true);
  assert.deepEqual(text.past(), { undo: 0, redo: 0 });
  assert.deepEqual(heard, []);
  text.setText("kind: [Job\n");
  assert.equal(text.patch(["binary"], "c"), false);
  assert.equal(text.text(), "kind: [Job\n");
  assert.equal(text.read().values, null);
});

test("the editor is led to where one was to go", () => {
  const { text } = make();
  text.reveal(2);
  text.goTo(3, 1);
  const led = [];
  text.later({ goTo: (...place) => led.push(place) });
  assert.deepEqual(led, [[3, 1]]);
});
