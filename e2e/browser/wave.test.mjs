// A wave as people look at it: its graph live, a task beside it, the same tasks as a table and by their times.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { phone } from "./support/browser.mjs";
import { both } from "./support/hands.mjs";
import { assertAccessible, site, tabTo } from "./support/journey.mjs";
import { until } from "./support/server.mjs";

/** What may pass until a graph of 1,000 tasks is seen, and between two frames while it is moved; in milliseconds. */
const paintLimit = Number(process.env.PAINT_LIMIT ?? 1500);
const frameGoal = 25; // one frame of 60 Hz takes 16.7
const frameLimit = Number(process.env.FRAME_LIMIT ?? 34); // two take 33.4: where others use the machine, too

const weightLimit = 150 * 1024; // bytes that a first visit is sent

const waves = {};
const layers = 25;
const width = 40;

const it = site({
  prepare: async (server) => {
    await server.push("step", `#!/bin/sh
echo "working on $TIDEWHEEL_TASK"
case $TIDEWHEEL_TASK in
  load) echo "no such table" >&2; exit 3 ;;
  list) echo 'shops=["north", "south", "west"]' >> "$TIDEWHEEL_OUTPUT" ;;
  wait) while [ ! -e ${server.folder}/harbour ]; do sleep 0.1; done ;;
esac
`);
    let large = "---\nkind: DAG\nname: large\ndefaults: {binary: step@stable}\ntasks:\n  load: {}\n";
    for (let l = 0; l < layers; l++) {
      for (let i = 0; i < width; i++) large += `  l${l}-${i}: {needs: [${l === 0 ? "load" : `l${l - 1}-${i}, l${l - 1}-${(i + 7) % width}`}]}\n`;
    }
    await server.apply(`kind: DAG
name: etl
defaults: {binary: step@stable, retry: {max_attempts: 2, delay: 1ms, max_delay: 1ms}}
tasks:
  zone: {}
  list: {needs: [zone]}
  shops: {needs: [list], for_each: outputs.list.shops}
  load: {needs: [zone]}
  alarm: {needs: [load], trigger: one_failed}
  report: {needs: [shops, load]}
---
kind: DAG
name: live
defaults: {binary: step@stable}
tasks:
  wait: {}
  after: {needs: [wait]}
${large}`);
    waves.etl = await server.wave("etl");
    waves.large = await server.wave("large");
  },
});

const graph = (page) => page.getByRole("group", { name: "Graph of the tasks" });
const task = (page, name) => graph(page).getByRole("link", { name: new RegExp(`^${name},`) });
const panel = (page) => page.locator(".task-panel");

/** Opens the panel of a task from the graph; by keyboard along the edges, and up and down among neighbours. */
async function lookInto(page, hand, name) {
  await task(page, "zone").waitFor();
  if (hand.name === "with the mouse") return task(page, name).click();
  await tabTo(page, page.locator('.graph-task[tabindex="0"]'));
  const held = page.locator(".graph-task:focus");
  for (let i = 0; i < 8 && (await task(page, name).and(held).count()) === 0; i++) {
    const [here, there] = [await held.boundingBox(), await task(page, name).boundingBox()];
    const along = Math.abs(here.x - there.x) > 4 ? (here.x < there.x ? "ArrowRight" : "ArrowLeft") : undefined;
    await page.keyboard.press(along ?? (here.y < there.y ? "ArrowDown" : "ArrowUp"));
  }
  await task(page, name).and(held).waitFor();
  return page.keyboard.press("Enter");
}

/** Where the tasks of a graph stand, by their names. */
const places = (page) =>
  page.locator(".graph-task").evaluateAll((nodes) => Object.fromEntries(nodes.map((node) => [node.getAttribute("aria-label").split(",")[0], node.style.transform])));

test("a graph is the same in the editor, in the definition and in a wave, and says how each task stands", async () => {
  const page = await it.open(`/waves/${waves.etl}`);
  await task(page, "zone").waitFor();
  for (const words of [/^load, dead, .*exit 3/, /^shops, succeeded, .*3 of 3 items ended/, /^report, upstream failed/, /^alarm, succeeded, .*starts at the first failure/, /^zone, succeeded/]) {
    await graph(page).getByRole("link", { name: words }).waitFor();
  }
  assert.equal(await page.locator(".graph-rule", { hasText: "one failed" }).count(), 1);
  assert.ok((await page.locator(".graph-edge.critical").count()) > 0, "the critical path is drawn");
  const wave = await places(page);
  await page.goto("/dags/etl");
  await task(page, "zone").waitFor();
  assert.deepEqual(await places(page), wave);
  await page.goto("/dags/etl/edit");
  await page.locator("form[data-ready]").waitFor();
  await page.getByRole("option", { name: /^zone,/ }).waitFor();
  assert.deepEqual(await places(page), wave);
});

test("a wave goes on in its graph while one looks", async () => {
  const id = JSON.parse(await it.server.cli("run", "live", "-o", "json")).id;
  const page = await it.open(`/waves/${id}`);
  await graph(page).getByRole("link", { name: /^wait, running/ }).waitFor();
  await graph(page).getByRole("link", { name: /^after, waiting/ }).waitFor();
  const node = await task(page, "wait").elementHandle();
  await task(page, "wait").click();
  await panel(page).getByText("working on wait").waitFor();
  await panel(page).getByRole("button", { name: "Cancel the run" }).waitFor();
  await writeFile(path.join(it.server.folder, "harbour"), "");
  await graph(page).getByRole("link", { name: /^after, succeeded/ }).waitFor();
  await panel(page).locator(".pill", { hasText: "succeeded" }).waitFor();
  assert.equal(await node.evaluate((element) => element.isConnected), true, "the graph is not drawn anew");
});

both("a task is looked into beside its wave", async (hand) => {
  const page = await it.open(`/waves/${waves.etl}`);
  await task(page, "zone").waitFor();
  await lookInto(page, hand, "load");
  await panel(page).getByRole("heading", { name: "load", exact: true }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/waves/${waves.etl}`, "the page stays");
  await panel(page).getByText("no such table").waitFor();
  assert.equal(await panel(page).locator(".task-attempts li").count(), 2);
  assert.equal(await panel(page).getByRole("heading", { name: "load", exact: true }).evaluate((node) => node === document.activeElement), true);
  const right = async (place) => (await place.boundingBox()).x + (await place.boundingBox()).width;
  const beside = async (name) => (await right(task(page, name))) <= (await panel(page).boundingBox()).x + 1;
  await until(() => beside("load"), "the task stands beside its panel, not behind it");
  await hand.press(panel(page).getByRole("link", { name: "Attempt 1" }));
  await panel(page).getByText("of attempt 1").waitFor();
  await hand.press(panel(page).getByRole("link", { name: "alarm" }));
  await until(() => beside("alarm"), "so does the next one");
  await panel(page).getByRole("heading", { name: "alarm", exact: true }).waitFor();
  await page.reload();
  await panel(page).getByRole("heading", { name: "alarm", exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await panel(page).waitFor({ state: "detached" });
  assert.ok(!page.url().includes("task="), page.url());
  await task(page, "load").focus();
  await page.keyboard.press("Enter");
  await panel(page).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await task(page, "load").evaluate((node) => node === document.activeElement), true, "the focus goes back");
});

test("a task is a link where one asks for another window, and without scripts", async () => {
  const page = await it.open(`/waves/${waves.etl}`);
  await task(page, "load").waitFor();
  const [other] = await Promise.all([page.context().waitForEvent("page"), task(page, "load").click({ modifiers: ["Control"] })]);
  await other.getByRole("heading", { name: "load", level: 1 }).waitFor();
  assert.equal(await panel(page).count(), 0);
  const plain = await it.open(`/waves/${waves.etl}`, { javaScriptEnabled: false });
  await plain.getByRole("link", { name: "load", exact: true }).click();
  await plain.getByText("no such table").first().waitFor();
});

test("on a phone the panel is a sheet, and axe finds nothing in it", async () => {
  for (const [viewport, theme] of [[phone, "light"], [undefined, "dark"]]) {
    const page = await it.open(`/waves/${waves.etl}?task=${encodeURIComponent(`${waves.etl}/task?name=load`)}`, { theme, ...(viewport && { viewport }) });
    await panel(page).getByText("no such table").waitFor();
    if (viewport) assert.equal(Math.round((await panel(page).boundingBox()).width), viewport.width);
    await assertAccessible(page);
  }
});

both("the tasks are a graph, a table and times of one height, and the address remembers which", async (hand) => {
  const page = await it.open(`/waves/${waves.etl}`);
  const tab = (name) => page.getByRole("tab", { name });
  await task(page, "zone").waitFor();
  const height = async () => (await page.locator("#views").boundingBox()).height;
  const first = await height();
  if (hand.name === "with the mouse") await tab("Table").click();
  else {
    await tabTo(page, tab("Graph"));
    await page.keyboard.press("ArrowRight");
  }
  await page.getByRole("row", { name: /^load/ }).waitFor();
  assert.equal(await height(), first);
  await page.reload();
  await page.getByRole("row", { name: /^load/ }).waitFor();
  await tab("Gantt").click();
  await page.getByRole("link", { name: /^load: dead, .*2 attempts/ }).waitFor();
  assert.equal(await height(), first);
  // A refresh leaves the reader where they are.
  await page.waitForResponse((answer) => answer.url().includes(`/waves/${waves.etl}`), { timeout: 40_000 });
  await page.waitForFunction(() => document.getElementById("views").dataset.shows === "gantt");
  assert.equal(await tab("Gantt").getAttribute("aria-selected"), "true");
  await hand.press(page.getByRole("link", { name: /^zone: succeeded/ }));
  await panel(page).getByRole("heading", { name: "zone", exact: true }).waitFor();
  for (const name of ["Gantt", "Table", "Graph"]) {
    await tab(name).click();
    await assertAccessible(page, name);
  }
});

test("levels are folded and opened as the reader likes, and tasks that they choose", async () => {
  const page = await it.open(`/waves/${waves.large}`);
  const fold = (name) => graph(page).getByRole("button", { name });
  await task(page, "load").waitFor();
  await page.getByRole("button", { name: "Fold levels" }).click();
  await fold(/^Level 2, 40 tasks, folded: 40 upstream failed/).waitFor();
  assert.equal(await page.locator(".graph-task").count(), layers + 1);
  await page.reload();
  await fold(/^Level 2,/).click();
  await task(page, "l0-39").waitFor();
  assert.equal(await page.locator(".graph-task.fold").count(), layers - 1);
  await page.getByRole("button", { name: "Open all" }).click();
  await page.goto(`/waves/${waves.etl}`);
  await task(page, "list").click({ modifiers: ["Shift"] });
  await task(page, "report").click({ modifiers: ["Shift"] });
  await page.getByRole("button", { name: "Fold 2 tasks" }).click();
  await fold(/^list \+ 2 more, 3 tasks, folded: 1 upstream failed, 2 succeeded/).click(); // shops lies between them
  await task(page, "shops").waitFor();
});

test("every task has its row among the times, of which few are in the page", async () => {
  const server = it.server;
  await server.apply(`kind: DAG\nname: wide\ndefaults: {binary: step@stable}\ntasks:\n  first: {}\n${Array.from({ length: 120 }, (_, i) => `  part-${i}: {needs: [first]}\n`).join("")}`);
  const page = await it.open(`/waves/${await server.wave("wide")}?tab=gantt`);
  const rows = page.locator(".gantt-row");
  await rows.first().waitFor();
  assert.equal(await rows.first().getAttribute("aria-setsize"), "121");
  assert.ok((await rows.count()) < 60, `${await rows.count()} rows are in the page`);
  await page.locator(".gantt-row a").first().focus();
  await page.keyboard.press("End");
  assert.equal(await page.locator('.gantt-row[aria-posinset="121"] a').evaluate((node) => node === document.activeElement), true);
});

test("a wave of 1,000 tasks is seen soon, and moves smoothly", async () => {
  const page = await it.open("about:blank");
  const seen = [];
  let weight = 0;
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  const weigh = (event) => (weight += event.encodedDataLength);
  cdp.on("Network.loadingFinished", weigh);
  for (let i = 0; i < 6 && !(Math.min(...seen) < paintLimit && i >= 2); i++) {
    await page.goto(`/waves/${waves.large}`);
    await page.locator(".graph-task").first().waitFor();
    cdp.off("Network.loadingFinished", weigh); // the first visit has brought all
    // By the clock of the page: from the beginning of the visit to the frame that shows the graph.
    seen.push(await page.evaluate(() => new Promise((resolve) => {
      const look = () => (document.querySelector(".graph-task") ? requestAnimationFrame(() => resolve(performance.getEntriesByName("graph-drawn")[0]?.startTime ?? performance.now())) : requestAnimationFrame(look));
      look();
    })));
  }
  assert.equal(await page.locator("[data-map-tasks]").getAttribute("data-map-tasks"), "1001");
  const box = await page.locator(".graph-view").boundingBox();
  const measure = async () => {
    await page.evaluate(() => {
      const frames = (window.frames_ = []);
      let last = performance.now();
      const count = (now) => {
        frames.push(now - last);
        last = now;
        window.counting_ = requestAnimationFrame(count);
      };
      window.counting_ = requestAnimationFrame(count);
    });
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let i = 0; i < 90; i++) await page.mouse.move(x + 220 * Math.sin(i / 8), y + 140 * Math.cos(i / 8));
    await page.mouse.up();
    return page.evaluate(() => {
      cancelAnimationFrame(window.counting_);
      return window.frames_.slice(2).sort((a, b) => a - b);
    });
  };
  const at = {};
  for (const [name, zoom] of [["whole", 0], ["near", 6]]) {
    for (let i = 0; i < zoom; i++) await page.getByRole("button", { name: "Zoom in" }).click();
    // On a machine that others use, too, the best of some gestures says what the page can do.
    for (let i = 0; i < 6 && !(at[name]?.p95 < frameGoal); i++) {
      const frames = await measure();
      const found = { p50: frames[Math.floor(frames.length * 0.5)], p95: frames[Math.floor(frames.length * 0.95)], frames: frames.length, gestures: i + 1 };
      at[name] = !at[name] || found.p95 < at[name].p95 ? found : at[name];
    }
  }
  const paint = Math.min(...seen);
  console.log(`1,000 tasks: graph after ${paint.toFixed(0)} ms and ${weight} bytes; frames ${JSON.stringify(at, (_, v) => (typeof v === "number" ? Math.round(v * 10) / 10 : v))}`);
  assert.ok(weight > 0 && weight < weightLimit, `${weight} bytes were sent for the first visit`);
  assert.ok(paint < paintLimit, `the graph is seen after ${paint} ms`);
  for (const [name, { p95 }] of Object.entries(at)) assert.ok(p95 < frameLimit, `${name}: of 20 frames one takes ${p95} ms or more`);
});

both("the grid shows when waves ran and how long, and a task beside it", async (hand) => {
  const page = await it.open("/dags/etl/grid");
  await page.getByRole("link", { name: /^wave 1, failed, took/ }).waitFor();
  const cell = (name) => page.getByRole("link", { name });
  await cell(/^shops in wave 1: 3 items, 3 succeeded/).waitFor();
  assert.match(await page.locator('.grid [data-form="day"]').first().innerText(), /^\d+ \w+$/);
  assert.ok((await page.locator(".grid-took rect").count()) >= 3);
  if (hand.name === "with the mouse") await cell(/^load in wave 1/).click();
  else {
    await tabTo(page, page.locator(".grid td a:not([tabindex])"));
    for (let i = 0; i < 6 && (await cell(/^load in wave 1/).and(page.locator(":focus")).count()) === 0; i++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
  }
  await panel(page).getByText("no such table").waitFor();
  assert.equal(new URL(page.url()).pathname, "/dags/etl/grid");
  await page.keyboard.press("Escape");
  await panel(page).waitFor({ state: "detached" });
  assert.equal(await cell(/^load in wave 1/).evaluate((node) => node === document.activeElement), true);
  await assertAccessible(page);
});

both("a task that succeeded is run again alone, one that failed with what comes after it, and one item of many", async (hand) => {
  const id = await it.server.wave("etl");
  const attempts = async (name) => (await it.server.api(`waves/${id}`)).tasks.find((one) => one.name === name).attempt;
  const page = await it.open(`/waves/${id}`);
  const again = async (name, what, wanted) => {
    await lookInto(page, hand, name);
    await panel(page).getByRole("heading", { name, exact: true }).waitFor();
    await hand.press(panel(page).getByRole("link", { name: "Run again…" }));
    await page.getByRole("heading", { level: 1, name: new RegExp(name) }).waitFor();
    await hand.pick(page.getByRole("radio", { name: what }));
    await hand.press(page.getByRole("button", { name: "Run again" }));
    await page.waitForURL(`**/waves/${id}*`);
    await until(async () => (await it.server.api(`waves/${id}`)).status === "failed" && (await wanted()), `${name} run again`);
    await page.goto(`/waves/${id}`);
  };
  await again("alarm", /^Only this task/, async () => (await attempts("alarm")) === 2);
  assert.equal(await attempts("load"), 2, "what it waited for stays as it was");
  await again("load", /^With the \d tasks? after it/, async () => (await attempts("load")) === 4 && (await attempts("alarm")) === 3);
  assert.equal(await attempts("zone"), 1);
  await lookInto(page, hand, "shops");
  await hand.press(panel(page).getByRole("link", { name: "item 1" }));
  await panel(page).getByText("working on shops").waitFor();
  await hand.press(panel(page).getByRole("link", { name: "Run again…" }));
  await hand.pick(page.getByRole("radio", { name: /^Only this (item|task)/ }));
  await hand.press(page.getByRole("button", { name: "Run again" }));
  await page.waitForURL(`**/waves/${id}*`);
  const items = async () => (await it.server.api("runs?dag=etl&task=shops&limit=100")).items.filter((run) => run.id.startsWith(id)).map((run) => run.attempt).sort().join();
  await until(async () => (await items()) === "1,1,2", "one item run again");
});
