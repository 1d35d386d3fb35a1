// A DAG is made in the browser: drawn with the mouse and by keyboard alone, its YAML edited beside it, saved.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { site, tabTo } from "./support/journey.mjs";
import { until } from "./support/server.mjs";

const it = site({
  prepare: async (server) => {
    const file = path.join(server.folder, "step.sh");
    await writeFile(file, '#!/bin/sh\necho "$TIDEWHEEL_TASK"\n');
    await server.cli("binary", "push", "step", file, "--alias", "stable");
  },
});

const yaml = (page) => page.locator("[data-definition]").inputValue();
const line = async (page, task) => (await yaml(page)).match(new RegExp(`^  ${task}:.*$`, "m"))?.[0].replace(/: +/, ": ");
/** Waits until the definition says so of a task: a dialog is gone a moment before what was chosen in it is written. */
async function says(page, task, text) {
  await until(async () => (await line(page, task)) === text, `${task} to be written as it should`, 5_000).catch(() => {});
  assert.equal(await line(page, task), text);
}
const task = (page, name) => page.getByRole("option", { name: new RegExp(`^${name},`) });
const saved = async (name) => (await fetch(`${it.server.url}/api/v1/dags/${name}`)).json();

async function editor(page) {
  await page.locator("form[data-ready]").waitFor();
}

/** Presses the mouse on a task's handle and moves it to a task, or to an empty place of the graph. */
async function draw(page, from, to, side = "out") {
  await page.getByRole("button", { name: "Show all of it" }).click();
  await task(page, from).hover();
  const handle = await task(page, from).locator(`.graph-handle.${side}`).boundingBox();
  await page.mouse.move(handle.x + handle.width / 2, handle.y + handle.height / 2);
  await page.mouse.down();
  const end = to ? await task(page, to).boundingBox() : await page.locator(".graph-view").boundingBox();
  const [x, y] = to ? [end.x + end.width / 2, end.y + end.height / 2] : [end.x + end.width / 2, end.y + end.height - 20];
  await page.mouse.move(x, y, { steps: 6 });
}

async function addTask(page, name) {
  const dialog = page.getByRole("dialog", { name: "Add a task" });
  await dialog.waitFor();
  await dialog.getByLabel("Binary", { exact: true }).fill("step");
  await dialog.getByLabel("Version").selectOption("stable");
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByRole("button", { name: "Add" }).click();
  await task(page, name).waitFor();
}

test("a DAG of five tasks is drawn with the mouse, a cycle is refused, and saved and run it turns green", async () => {
  const page = await it.open("/dags/new");
  await editor(page);
  await page.getByLabel("Name", { exact: true }).first().fill("drawn");
  await task(page, "first").click();
  for (const name of ["left", "right"]) {
    await draw(page, "first", null);
    await page.mouse.up();
    await addTask(page, name);
  }
  await page.locator(".graph-view").click({ position: { x: 10, y: 10 } });
  await page.getByRole("button", { name: "Add a task" }).click();
  await addTask(page, "join");
  for (const name of ["left", "right"]) {
    await draw(page, name, "join");
    await page.mouse.up();
  }
  await draw(page, "join", null);
  await page.mouse.up();
  await addTask(page, "tell");
  await says(page, "left", "  left: {binary: step@stable, needs: [first]}");
  await says(page, "join", "  join: {binary: step@stable, needs: [left, right]}");
  await says(page, "tell", "  tell: {binary: step@stable, needs: [join]}");

  const before = await yaml(page);
  await draw(page, "tell", "first");
  await page.getByText("would close a cycle: tell → first → left → join → tell", { exact: true }).waitFor();
  await page.mouse.up();
  assert.equal(await yaml(page), before, "an edge that was refused changes nothing");

  await task(page, "tell").click();
  await page.keyboard.press("Delete");
  await task(page, "tell").waitFor({ state: "detached" });
  await page.keyboard.press("Control+z");
  await task(page, "tell").waitFor();
  assert.equal(await yaml(page), before);
  await page.keyboard.press("Control+Shift+z");
  await task(page, "tell").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await task(page, "tell").waitFor();

  await page.getByLabel(/^Why/).fill("drawn by hand");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("heading", { name: "drawn", level: 1 }).waitFor();
  assert.deepEqual(Object.keys((await saved("drawn")).spec.tasks), ["first", "left", "right", "join", "tell"]);

  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("heading", { name: /^Wave/, level: 1 }).waitFor();
  const graph = page.getByRole("group", { name: "Graph of the tasks" });
  for (const name of ["first", "left", "right", "join", "tell"]) {
    await graph.getByRole("link", { name: new RegExp(`^${name}.*succeeded`) }).waitFor();
  }
  await page.locator("main .status", { hasText: "succeeded" }).first().waitFor();
});

test("what is typed in the YAML shows in the graph, and comments outlive what is drawn", async () => {
  const page = await it.open("/dags/new");
  await editor(page);
  await page.getByRole("button", { name: "Diamond" }).click();
  await page.getByRole("button", { name: "YAML", exact: true }).click();
  await page.getByLabel("Definition, YAML").click();
  await page.locator('.cm-content[aria-autocomplete="list"]').waitFor(); // brackets are closed from then on
  await page.keyboard.press("Control+End");
  await page.keyboard.type("  # says that it is done\ntell: {binary: step");
  await page.keyboard.type(", needs: [join]");
  await task(page, "tell").waitFor();
  await page.keyboard.type(", @");
  await page.getByText("The graph is that of the YAML when it could last be read.").waitFor();
  assert.equal(await task(page, "tell").count(), 1, "the last good graph stays");
  for (let i = 0; i < ", @".length; i++) await page.keyboard.press("Backspace");
  await page.keyboard.press("End");
  await page.getByText("The graph is that of the YAML when it could last be read.").waitFor({ state: "hidden" });
  await draw(page, "fetch", "tell");
  await page.mouse.up();
  const text = await yaml(page);
  assert.match(text, /needs: \[join, fetch\]/);
  for (const comment of ["# every night", "# both have to succeed", "# says that it is done"]) assert.ok(text.includes(comment), text);
  await task(page, "join").click();
  await page.getByRole("button", { name: /^Settings/ }).click();
  const name = page.locator("[data-dagform-rename]");
  await name.fill("join-all");
  await name.press("Enter");
  await task(page, "join-all").waitFor();
  assert.match(await yaml(page), /needs: \[join-all, fetch\]/);
});

test("what was done before the YAML is seen is undone and done again in it", async () => {
  const page = await it.open("/dags/new");
  await editor(page);
  assert.equal(await page.locator(".cm-editor").count(), 0, "the editor comes when it is needed");
  const texts = [await yaml(page)];
  await page.getByRole("button", { name: "Diamond" }).click();
  texts.push(await yaml(page));
  await task(page, "join").click();
  await page.keyboard.press("Delete");
  await task(page, "join").waitFor({ state: "detached" });
  texts.push(await yaml(page));
  await page.getByRole("button", { name: "Undo" }).click();
  await task(page, "join").waitFor();
  assert.equal(await yaml(page), texts[1]);

  await page.getByRole("button", { name: "YAML", exact: true }).click();
  await page.locator(".cm-editor").waitFor();
  assert.equal(await yaml(page), texts[1]);
  await page.getByRole("button", { name: "Redo" }).click();
  await task(page, "join").waitFor({ state: "detached" });
  assert.equal(await yaml(page), texts[2]);
  await page.getByLabel("Definition, YAML").click();
  for (const text of [texts[1], texts[0]]) {
    await page.keyboard.press("Control+z");
    await until(async () => (await yaml(page)) === text, "a step to be undone", 5_000);
  }
  await page.getByRole("button", { name: "Undo" }).and(page.locator(":disabled")).waitFor();
  await page.keyboard.press("Control+y");
  await until(async () => (await yaml(page)) === texts[1], "a step to be done again", 5_000);
});

test("a DAG is made and saved by keyboard alone", async () => {
  const page = await it.open("/dags/new");
  await editor(page);
  const { keyboard } = page;
  const name = page.getByLabel("Name", { exact: true }).first();
  await tabTo(page, name);
  await keyboard.press("Control+a");
  await keyboard.type("typed");
  await page.evaluate(() => document.activeElement.blur());
  await tabTo(page, task(page, "first"));
  await keyboard.press("Space");
  for (const next of ["second", "third"]) {
    await keyboard.press("a");
    const dialog = page.getByRole("dialog", { name: "Add a task" });
    await dialog.waitFor();
    await keyboard.type("step");
    await tabTo(page, dialog.getByLabel("Name", { exact: true }));
    await keyboard.press("Control+a");
    await keyboard.type(next);
    await keyboard.press("Enter");
    await task(page, next).waitFor();
    assert.equal(await task(page, next).evaluate((element) => element === document.activeElement), true, "the new task has the focus");
  }
  await keyboard.press("n");
  const needs = page.getByRole("dialog", { name: "What third needs" });
  await needs.waitFor();
  await tabTo(page, needs.getByLabel("first"));
  await keyboard.press("Space");
  await tabTo(page, needs.getByRole("button", { name: "Apply" }));
  await keyboard.press("Enter");
  await needs.waitFor({ state: "hidden" });
  await says(page, "third", "  third: {binary: step, needs: [second, first]}");
  await keyboard.press("ArrowLeft");
  await keyboard.press("n");
  await page.getByText(/would close a cycle: third → second → third/).waitFor();
  await keyboard.press("Escape");
  await keyboard.press("Control+z");
  await says(page, "third", "  third: {binary: step, needs: [second]}");
  await keyboard.press("Control+s");
  await page.getByRole("heading", { name: "typed", level: 1 }).waitFor();
  assert.deepEqual((await saved("typed")).spec.tasks.third.needs, ["second"]);
});

test("a DAG of 1,000 tasks is edited", async () => {
  const layers = 25;
  const width = 40;
  let definition = "kind: DAG\nname: vast\ndefaults: {binary: step@stable}\ntasks:\n";
  for (let l = 0; l < layers; l++) {
    for (let i = 0; i < width; i++) definition += `  l${l}-${i}: {needs: [${l === 0 ? "" : `l${l - 1}-${i}, l${l - 1}-${(i + 7) % width}`}]}\n`;
  }
  await it.server.apply(definition);
  const page = await it.open("/dags/vast/edit");
  await editor(page);
  await page.locator('[data-map-tasks="1000"]').waitFor();
  await task(page, "l24-39").focus();
  await page.keyboard.press("Enter");
  const began = Date.now();
  await page.getByLabel("Description", { exact: true }).last().fill("the last of all");
  await says(page, "l24-39", "  l24-39: {description: the last of all, needs: [l23-39, l23-6]}");
  console.log(`1,000 tasks: what is typed is written after ${Date.now() - began} ms`);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForURL("**/dags/vast");
  assert.equal((await saved("vast")).spec.tasks["l24-39"].description, "the last of all");
});
