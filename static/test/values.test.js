import assert from "node:assert/strict";
import { test } from "node:test";
import { build, parse } from "../src/js/editor/cron.js";
import { amount, duration, localInstant, show, take } from "../src/js/editor/values.js";

const control = (kind, value = "") => ({ dataset: { kind }, value, nodeName: "INPUT" });

test("durations are Go's", () => {
  assert.equal(duration("1h30m"), 5400);
  assert.equal(duration("1.5s"), 1.5);
  assert.ok(Number.isNaN(duration("5")));
  assert.ok(Number.isNaN(duration("5 s")));
  assert.deepEqual(amount("90s"), { number: 90, unit: "s" });
  assert.deepEqual(amount("120s"), { number: 2, unit: "m" });
  assert.deepEqual(amount("1h30m"), { number: 90, unit: "m" });
  assert.deepEqual(amount("500ms"), { number: 0.5, unit: "s" });
});

test("an instant is shown on the reader's clock and kept in UTC", () => {
  for (const at of ["2026-12-31T23:59:59Z", "2026-07-01T00:00:00+06:00"]) {
    const field = control("instant");
    assert.ok(show(field, at));
    assert.equal(new Date(take(field)).getTime(), new Date(at).getTime());
  }
  assert.equal(localInstant("soon"), "");
});

test("what a control shows it gives back", () => {
  for (const [kind, value] of [
    ["text", "a b"], ["number", 3], ["numbers", [1, 75]], ["lines", ["--day", "3 4"]], ["schedule", "0 3 * * *"],
    ["schedule", ["0 3 * * *", "0 9 * * SAT"]], ["pairs", { A: "1", B: "x=y", C: "" }], ["json", { shops: [1, { a: null }] }], ["json", 0],
  ]) {
    const field = control(kind);
    assert.ok(show(field, value), kind);
    assert.deepEqual(take(field), value, kind);
    assert.ok(show(field, undefined), kind);
    assert.equal(take(field), undefined, kind);
  }
});

test("what a control cannot hold is refused, not shown wrong", () => {
  for (const [kind, value] of [
    ["lines", ["a", { from: "x" }]], ["lines", ["two\nlines"]], ["lines", [" kept "]], ["lines", "text"], ["pairs", { A: "1\n2" }], ["pairs", [1]],
    ["pairs", "x"], ["text", { a: 1 }], ["text", [1]], ["numbers", 3],
  ]) {
    assert.equal(show(control(kind), value), false, JSON.stringify([kind, value]));
  }
  assert.throws(() => take(control("json", "{")));
});

test("choices are a list of the words that are checked, in their order", () => {
  const boxes = ["failed", "missed"].map((value) => ({ value, checked: false }));
  const box = { dataset: { kind: "choices" }, nodeName: "DIV", querySelectorAll: () => boxes };
  assert.ok(show(box, ["missed"]));
  assert.deepEqual(boxes.map((one) => one.checked), [false, true]);
  boxes[0].checked = true;
  assert.deepEqual(take(box), ["failed", "missed"]);
  assert.ok(show(box, undefined));
  assert.equal(take(box), undefined);
  for (const value of ["failed", [1], { a: 1 }]) assert.equal(show(box, value), false, JSON.stringify(value));
});

test("the builder makes what it reads", () => {
  for (const expression of ["* * * * *", "*/5 * * * *", "7 * * * *", "0 3 * * *", "30 23 * * MON-FRI", "0 9 * * SAT", "0 0 1 * *", "15 6 L * *"]) {
    const choices = parse(expression);
    assert.notEqual(choices.preset, "", expression);
    assert.equal(build(choices), expression);
  }
  assert.equal(build(parse("0 9 * * 0")), "0 9 * * SUN");
  for (const expression of ["", "@daily", "*/7 * * * *", "0 3 * 2 *", "0 3 1 * MON", "0 0 3 * * *", "61 * * * *", "0 25 * * *", "H 3 * * *", "0 3 * * MON#2", undefined]) {
    assert.equal(parse(expression).preset, "", expression);
  }
});
