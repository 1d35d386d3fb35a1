import assert from "node:assert/strict";
import { test } from "node:test";
import { curve, layout, size } from "../src/js/graph/layout.js";
import { layers, pathBetween, refusal } from "../src/js/graph/structure.js";

const edges = (text) => text.split(" ").filter(Boolean).map((pair) => ({ from: pair[0], to: pair[1] }));

test("an edge that would close a cycle is refused with its path", () => {
  const there = edges("ab bc cd");
  assert.equal(refusal(there, "d", "a"), "would close a cycle: d → a → b → c → d");
  assert.equal(refusal(there, "b", "a"), "would close a cycle: b → a → b");
  assert.equal(refusal(there, "a", "a"), "a cannot need itself");
  assert.equal(refusal(there, "a", "b"), "b needs a already");
  assert.equal(refusal(there, "a", "d"), "");
  assert.deepEqual(pathBetween(there, "a", "d"), ["a", "b", "c", "d"]);
  assert.equal(pathBetween(there, "d", "a"), null);
});

test("a task stands behind all that it needs, and a cycle ends no layout", () => {
  const { layer, closing } = layers([..."abcd"], edges("ab bc ac ca cd"));
  assert.deepEqual([...layer.values()], [0, 1, 2, 3]);
  assert.deepEqual([...closing].map(({ from, to }) => from + to), ["ca"]);
  const { places, routes } = layout([..."abcd"], edges("ab bc ac ca cd"));
  assert.equal(places.size, 4);
  for (const route of routes.values()) assert.match(curve(route), /^M-?[\d.]+ -?[\d.]+[CL]/);
});

for (const [name, count, needs] of [
  ["a tree", 60, (i) => (i === 0 ? [] : [(i - 1) >> 1])],
  ["a fan of 1,000", 1000, (i) => (i === 0 ? [] : i === 999 ? Array.from({ length: 998 }, (_, k) => k + 1) : [0])],
  ["20 layers of 50", 1000, (i) => (i < 50 ? [] : [i - 50, i - 50 - (i % 50) + ((i + 7) % 50)])],
  ["a chain of 1,000", 1000, (i) => (i === 0 ? [] : [i - 1])],
  ["10,000 tasks", 10000, (i) => (i < 100 ? [] : [i - 100])],
]) {
  test(`in ${name} no task lies upon another, and all lead to the right`, () => {
    const names = Array.from({ length: count }, (_, i) => `t${i}`);
    const all = names.flatMap((to, i) => [...new Set(needs(i))].map((need) => ({ from: `t${need}`, to })));
    const { places, width, height } = layout(names, all);
    const cells = new Set();
    for (const { x, y } of places.values()) {
      assert.ok(x >= 0 && y >= 0 && x + size.width <= width && y + size.height <= height + 1, `${x} ${y} in ${width} ${height}`);
      const cell = `${x}:${y}`;
      assert.ok(!cells.has(cell));
      cells.add(cell);
    }
    const sorted = [...places.values()].sort((a, b) => a.x - b.x || a.y - b.y);
    for (let i = 1; i < sorted.length; i++) if (sorted[i].x === sorted[i - 1].x) assert.ok(sorted[i].y - sorted[i - 1].y >= size.height);
    for (const { from, to } of all) assert.ok(places.get(from).x + size.width < places.get(to).x, `${from} ${to}`);
  });
}

test("nothing at all has a layout", () => {
  assert.equal(layout([], []).places.size, 0);
});
