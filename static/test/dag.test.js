import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, lineOf, patchAll, read } from "../src/js/editor/document.js";
import { add, connect, disconnect, duplicate, freeName, remove, rename } from "../src/js/dag/edits.js";
import { model, taskOf } from "../src/js/dag/model.js";

const keys = ["binary", "args", "env", "needs", "schedule", "timezone", "trigger", "when", "for_each", "tier", "timeout", "retry"];
const order = (path) => (path.length === 0 ? ["kind", "name", "schedule", "defaults", "tasks"] : path.length === 2 && path[0] === "tasks" ? keys : []);

const etl = `# Shops by the hour.
kind: DAG
name: etl

tasks:
  # where it comes from
  orders:  {binary: fetch, args: [orders], schedule: "0 * * * *"}   # hourly
  rates:   {binary: fetch, args: [rates],  schedule: "*/30 * * * *"}

  # both together
  join:
    binary: join      # the new one
    needs: [orders, rates] # both
    timeout: 2h
  shops:   {binary: shop-total, needs: [join], for_each: "outputs.join.shops"}
  # the end of tasks
  tell:    {binary: notify, needs: [shops], when: 'outputs["join"].rows > 0 && args.x != "outputs.join.rows"', args: ["\${outputs.join.rows}"], trigger: all_done}
# the end
`;

const read1 = (text) => model(read(text).values);
function edited(text, edits) {
  const changes = patchAll(text, edits, order);
  for (let i = 1; i < changes.length; i++) assert.ok(changes[i - 1].to <= changes[i].from, "changes overlap");
  const after = apply(text, changes);
  assert.equal(read(after).problem, "", after);
  return after;
}

test("an edge changes the one line that it is written on", () => {
  const { tasks } = read1(etl);
  assert.equal(edited(etl, connect(tasks, "rates", "shops")), etl.replace("needs: [join], for", "needs: [join, rates], for"));
  assert.equal(edited(etl, disconnect(tasks, [{ from: "rates", to: "join" }])), etl.replace("[orders, rates] # both", "[orders] # both"));
  assert.equal(edited(etl, disconnect(tasks, [{ from: "shops", to: "tell" }])).split("\n").length, etl.split("\n").length);
});

test("a root that gets a need loses its schedule, and a task that loses its last need its trigger rule", () => {
  const { tasks } = read1(etl);
  const values = read(edited(etl, connect(tasks, "orders", "rates"))).values;
  assert.deepEqual(values.tasks.rates, { binary: "fetch", args: ["rates"], needs: ["orders"] });
  assert.ok(!("trigger" in read(edited(etl, disconnect(tasks, [{ from: "shops", to: "tell" }]))).values.tasks.tell));
});

test("a task that is taken away is needed no more, and all other lines stay", () => {
  const { tasks } = read1(etl);
  const after = edited(etl, remove(tasks, ["join"]));
  assert.equal(after, etl.replace(/ {2}join:\n(?: {4}.*\n)+/, "").replace("needs: [join], ", ""));
  const none = edited(etl, remove(tasks, tasks.map(({ name }) => name)));
  assert.deepEqual(read(none).values.tasks, {});
  assert.ok(none.includes("# Shops by the hour."));
});

test("a task is added at the end of the tasks, and to none", () => {
  const after = edited(etl, add("report", { binary: "report@stable", needs: ["tell"] }));
  assert.ok(after.includes("trigger: all_done}\n  report: {binary: report@stable, needs: [tell]}\n"), after);
  assert.ok(after.endsWith("# the end\n"));
  for (const text of ["kind: DAG\nname: x\ntasks: {}\n", "kind: DAG\nname: x\ntasks:\n", "kind: DAG\nname: x\n"]) {
    assert.equal(edited(text, add("a", { binary: "b" })), "kind: DAG\nname: x\ntasks:\n  a: {binary: b}\n", text);
  }
});

test("a key goes to its place in a task, in braces and below each other", () => {
  assert.equal(edited(etl, [{ path: ["tasks", "shops", "timeout"], value: "5m" }, { path: ["tasks", "shops", "args"], value: ["-v"] }]),
    etl.replace('shop-total, needs: [join], for_each: "outputs.join.shops"}', 'shop-total, args: [-v], needs: [join], for_each: "outputs.join.shops", timeout: 5m}'));
  assert.equal(edited(etl, [{ path: ["tasks", "join", "retry", "max_attempts"], value: 3 }, { path: ["tasks", "join", "tier"], value: "heavy" }]),
    etl.replace("# both\n", "# both\n    tier: heavy\n").replace("timeout: 2h\n", "timeout: 2h\n    retry: {max_attempts: 3}\n"));
});

test("what a task no longer has goes, the task stays", () => {
  assert.equal(edited(etl, ["binary", "needs", "timeout"].map((key) => ({ path: ["tasks", "join", key], value: undefined }))).includes("  join: {}"), true);
  assert.equal(edited("tasks:\n  a: {binary: b}\n", [{ path: ["tasks", "a", "binary"], value: undefined }]), "tasks:\n  a: {}\n");
});

test("a new name is written wherever the old one was meant, and nowhere else", () => {
  const { tasks } = read1(etl);
  const { values } = read(edited(etl, rename(tasks, "join", "join-all")));
  assert.deepEqual(Object.keys(values.tasks), ["orders", "rates", "join-all", "shops", "tell"]);
  assert.deepEqual(values.tasks.shops.needs, ["join-all"]);
  assert.equal(values.tasks.shops.for_each, 'outputs["join-all"].shops');
  assert.equal(values.tasks.tell.when, 'outputs["join-all"].rows > 0 && args.x != "outputs.join.rows"');
  assert.deepEqual(values.tasks.tell.args, ["${outputs.join-all.rows}"]);
  const text = edited(etl, rename(tasks, "join", "joined"));
  assert.equal(text, etl.replace("  join:\n", "  joined:\n").replace("[join], for_each: \"outputs.join.", "[joined], for_each: \"outputs.joined.")
    .replace('outputs["join"]', "outputs.joined").replace("${outputs.join.rows}", "${outputs.joined.rows}"));
  const flow = edited(etl, rename(tasks, "tell", "say"));
  assert.equal(flow, etl.replace("  tell: ", "  say: "));
});

test("copies have the edges of what they are copied from", () => {
  const { tasks } = read1(etl);
  const { edits, names } = duplicate(tasks, ["join", "shops"]);
  assert.deepEqual(names, ["join-2", "shops-2"]);
  const { values } = read(edited(etl, edits));
  assert.deepEqual(values.tasks["join-2"].needs, ["orders", "rates"]);
  assert.deepEqual(values.tasks["shops-2"].needs, ["join-2"]);
  assert.equal(values.tasks["shops-2"].for_each, 'outputs["join-2"].shops');
  assert.equal(freeName("Orders", new Set(["orders"])), "Orders-2");
});

test("any order of edits keeps every comment, and leaves the values that were meant", () => {
  let seed = 11;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 40; round++) {
    let text = etl;
    for (let i = 0; i < 15; i++) {
      const { tasks, edges } = read1(text);
      const pick = () => tasks[random(tasks.length)].name;
      const kinds = [
        () => add(freeName("new", new Set(tasks.map(({ name }) => name.toLowerCase()))), { binary: "b", needs: tasks.length ? [pick()] : [] }),
        () => (tasks.length ? rename(tasks, pick(), freeName("name", new Set(tasks.map(({ name }) => name.toLowerCase())))) : []),
        () => (edges.length ? disconnect(tasks, [edges[random(edges.length)]]) : []),
        () => (tasks.length ? duplicate(tasks, [pick()]).edits : []),
        () => (tasks.length > 3 ? remove(tasks, [pick()]) : []),
        () => (tasks.length ? [{ path: ["tasks", pick(), "env", "X"], value: ["1", "a: b", undefined][random(3)] }] : []),
      ];
      const edits = kinds[random(kinds.length)]();
      const want = structuredClone(read(text).values);
      for (const { path, value, name } of edits) {
        const parent = path.slice(0, -1).reduce((inside, key) => (inside[key] ??= {}), want);
        if (name !== undefined) want.tasks = Object.fromEntries(Object.entries(want.tasks).map(([key, task]) => [key === path[1] ? name : key, task]));
        else if (value === undefined) delete parent[path.at(-1)];
        else parent[path.at(-1)] = value;
      }
      for (const task of Object.values(want.tasks)) if (task?.env && Object.keys(task.env).length === 0) delete task.env;
      text = edited(text, edits);
      const got = read(text).values;
      for (const [name, task] of Object.entries(got.tasks)) if (task === null) got.tasks[name] = {};
      assert.deepEqual(got, want, text);
      for (const words of ["# Shops by the hour.", "# where it comes from", "# both together", "# the end of tasks", "# the end\n"]) assert.ok(text.includes(words), `${words} is lost in\n${text}`);
    }
  }
});

test("what is not written as it should be is left out of the graph", () => {
  for (const text of ["", "tasks: 3", "tasks: [a]", "tasks:\n  a:\n  b: 3\n  c: {needs: a}\n  d: {needs: [x, d, a, a]}"]) {
    const { tasks, edges } = read1(text);
    assert.ok(tasks.length === (text.includes("d:") ? 4 : 0));
    assert.deepEqual(edges, text.includes("d:") ? [{ from: "a", to: "d" }] : []);
  }
  assert.equal(taskOf("tasks.my-task.needs[0]"), "my-task");
  assert.equal(taskOf("name"), "");
  assert.equal(lineOf(etl, ["tasks", "join"]), 11);
  assert.equal(lineOf(etl, ["tasks", "none"]), 0);
});
