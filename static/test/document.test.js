import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, patch, read } from "../src/js/editor/document.js";

const order = ["kind", "name", "description", "binary", "args", "env", "schedule", "every", "timezone", "timeout", "retry", "overlap", "labels"];

const written = `# The night report.

kind: Job
name: night   # keep short
binary: 'report@stable'

# when the shops are closed
schedule: "0 3 * * *"     # every night
env:
  # how much it says
  LEVEL: info # or debug

  MODE: "full"
  # the end of env

retry: { max_attempts: 3,   delay: 5s }
# the end
`;

const set = (text, path, value) => apply(text, patch(text, path, value, order));

// changed holds a patch to changing these lines only.
function changed(path, value, from, to) {
  assert.equal(set(written, path, value), written.replace(from, to));
  assert.deepEqual(read(set(written, path, value)).values, wanted(path, value));
}

function wanted(path, value) {
  const values = structuredClone(read(written).values);
  let at = values;
  for (const key of path.slice(0, -1)) at = at[key] ??= {};
  if (value === undefined) delete at[path.at(-1)];
  else at[path.at(-1)] = value;
  return values;
}

test("a scalar changes where it stands, with its quotes", () => {
  changed(["name"], "day", "name: night   #", "name: day   #");
  changed(["binary"], "report@3", "'report@stable'", "'report@3'");
  changed(["schedule"], "*/5 * * * *", '"0 3 * * *"     #', '"*/5 * * * *"     #');
  changed(["env", "LEVEL"], "a: b", "LEVEL: info #", 'LEVEL: "a: b" #');
  changed(["env", "MODE"], "3", '"full"', '"3"');
  changed(["retry", "max_attempts"], 5, "max_attempts: 3,   delay", "max_attempts: 5,   delay");
});

test("a text that looks like something else is quoted", () => {
  for (const value of ["3", "true", "null", "- x", "#x", "a, b]", "two\nlines", "", "'", '"', "{x}", "*x", "é 🌊 ‮x"]) {
    for (const path of [["name"], ["env", "LEVEL"], ["retry", "delay"], ["description"], ["labels", "x"]]) {
      assert.deepEqual(read(set(written, path, value)).values, wanted(path, value), JSON.stringify([path, value]));
    }
  }
});

test("a new key goes to its place and a new part into its parent", () => {
  changed(["description"], "Totals", "keep short\n", "keep short\ndescription: Totals\n");
  changed(["timezone"], "Asia/Dhaka", "# every night\n", "# every night\ntimezone: Asia/Dhaka\n");
  changed(["args"], ["-v"], "'report@stable'\n", "'report@stable'\nargs: [-v]\n");
});

test("a key that comes last is written before the closing comment of the file or after it, and never lost", () => {
  const text = set(written, ["labels", "team"], "finance");
  assert.match(text, /labels: \{team: finance\}\n/);
  assert.match(text, /# the end\n/);
  assert.deepEqual(read(text).values, wanted(["labels", "team"], "finance"));
});

test("a part is added to a mapping whose comments stay", () => {
  const text = set(written, ["env", "NEW"], "1");
  for (const words of ["# how much it says", "# or debug", "# the end of env", "# when the shops are closed", "# every night", "# the end"]) assert.ok(text.includes(words), words);
  assert.ok(text.indexOf("MODE") < text.indexOf("NEW"));
  assert.deepEqual(read(text).values, wanted(["env", "NEW"], "1"));
  assert.equal(set(written, ["retry", "max_delay"], "1m").split("\n").length, written.split("\n").length);
});

test("what is taken away takes its line and an emptied parent with it", () => {
  changed(["schedule"], undefined, /schedule:.*\n/, "");
  let text = set(written, ["retry", "delay"], undefined);
  assert.ok(text.includes("retry: {max_attempts: 3}\n"));
  text = set(text, ["retry", "max_attempts"], undefined);
  assert.ok(!text.includes("retry"));
  assert.ok(text.includes("# the end\n"));
});

test("lists and mappings are written as people do", () => {
  assert.ok(set(written, ["args"], ["--day", "3"]).includes('args: [--day, "3"]\n'));
  assert.ok(set(written, ["schedule"], ["0 9 * * *", "0 12 * * *"]).includes('schedule: ["0 9 * * *", "0 12 * * *"] # every night\n'));
  const long = Array.from({ length: 12 }, (_, i) => `--an-argument-${i}`);
  assert.ok(set(written, ["args"], long).includes("args:\n  - --an-argument-0\n  - --an-argument-1\n"));
});

test("an empty text, an empty value and a missing end of line", () => {
  assert.equal(set("", ["name"], "x"), "name: x\n");
  assert.equal(set("# only words", ["name"], "x"), "# only words\nname: x\n");
  assert.equal(set("kind: Job\nname:\n", ["name"], "x"), "kind: Job\nname: x\n");
  assert.equal(set("kind: Job", ["name"], "x"), "kind: Job\nname: x\n");
  assert.equal(set("kind: Job\nname: # say it\nbinary: a\n", ["name"], "x").replace(/ +#/, " #"), "kind: Job\nname: x # say it\nbinary: a\n");
});

test("what cannot be read is left alone", () => {
  for (const text of ["name: [", "- a\n- b\n", "a: b: c", "just words", "{kind: Job}"]) {
    assert.equal(patch(text, ["name"], "x"), null, text);
    assert.notEqual(read(text).problem, "");
  }
});

test("a value that is there already changes nothing", () => {
  assert.equal(patch(written, ["name"], "night"), null);
  assert.equal(patch(written, ["retry"], { max_attempts: 3, delay: "5s" }), null);
  assert.equal(patch(written, ["labels"], undefined), null);
});

test("any order of changes reads back as the values that were set, and keeps every other comment", () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const paths = [["name"], ["description"], ["binary"], ["args"], ["env", "LEVEL"], ["env", "A"], ["timezone"], ["timeout"], ["retry", "delay"], ["retry", "on"], ["overlap"], ["labels", "t"]];
  const values = ["x", "1", "a b", [1, 2], ["p", "q: r"], undefined, "long ".repeat(30)];
  for (let round = 0; round < 60; round++) {
    let text = written;
    const want = structuredClone(read(written).values);
    for (let i = 0; i < 12; i++) {
      const path = paths[random(paths.length)];
      const value = values[random(values.length)];
      text = set(text, path, value);
      let at = want;
      if (path.length === 2) {
        if (value === undefined && !want[path[0]]) continue;
        at = want[path[0]] ??= {};
      }
      if (value === undefined) delete at[path.at(-1)];
      else at[path.at(-1)] = value;
      if (path.length === 2 && Object.keys(at).length === 0) delete want[path[0]];
      const { values: got, problem } = read(text);
      assert.equal(problem, "", text);
      assert.deepEqual(got, want, text);
    }
    for (const words of ["# The night report.", "# when the shops are closed", "# every night"]) assert.ok(text.includes(words), text);
  }
});
