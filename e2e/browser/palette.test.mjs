// The palette finds jobs by a part of their names and acts on them; the keys that it lists do what they say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";
import { until } from "./support/server.mjs";

const it = site({
  prepare: async (server) => {
    await server.push("chart", "#!/bin/sh\necho charted\n");
    await server.apply(["harbour-charts", "tide-tables", "pilot-rota"].map((name) => `kind: Job\nname: ${name}\nbinary: chart@stable\n`).join("---\n"));
    await server.apply("kind: DAG\nname: voyage\ntasks:\n  cast-off: {binary: chart@stable}\n");
  },
});

test("a DAG is paused and resumed, and a program leads to a new job", async () => {
  const page = await it.open("/");
  await page.waitForLoadState();
  const ask = async (words, option) => {
    await page.waitForLoadState(); // of the page that the last command led to
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Search and commands" });
    await palette.getByRole("combobox").waitFor();
    await page.keyboard.type(words);
    await palette.getByRole("option", { name: option, exact: false }).first().click();
  };
  await ask("pause voyage", "Pause voyage");
  await page.getByText("Paused. Running runs continue.").waitFor();
  assert.equal((await it.server.api("dags/voyage")).paused, true);
  await ask("resume voyage", "Resume voyage");
  await page.getByText("Resumed.").first().waitFor();
  await ask("new job of chart", "New job of chart");
  await page.getByRole("heading", { level: 1, name: "New job" }).waitFor();
  await page.locator("form[data-ready]").waitFor();
  await until(async () => (await page.getByLabel("Name", { exact: true }).first().inputValue()) === "chart-job", "the form to name its program");
});

both("a job is found by a part of its name and run", async (hand) => {
  const page = await it.open("/binaries");
  await page.waitForLoadState();
  const palette = page.getByRole("dialog", { name: "Search and commands" });
  if (hand.name.includes("mouse")) await page.getByRole("button", { name: "Search" }).click();
  else await page.keyboard.press("Control+k");
  const field = palette.getByRole("combobox");
  await field.waitFor();
  await palette.getByRole("option", { name: "Go to Runs" }).waitFor();
  await page.keyboard.type("run tables");
  const run = palette.getByRole("option", { name: "Run tide-tables now" });
  await run.waitFor();
  await palette.getByRole("option", { name: /pilot-rota/ }).first().waitFor({ state: "detached" });
  assert.match(await palette.getByRole("option", { selected: true }).innerText(), /Run tide-tables now/, "what was asked for stands first");
  if (hand.name.includes("mouse")) await run.click();
  else await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Run of tide-tables" }).waitFor();
  await page.getByText("charted").waitFor();
});

test("keys lead through the pages and the rows, and the list of keys says which", async () => {
  const page = await it.open("/");
  await page.waitForLoadState();
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("pilot");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=pilot/);
  await page.getByRole("link", { name: "pilot-rota", exact: true }).waitFor();
  assert.equal(await page.getByRole("link", { name: "tide-tables", exact: true }).count(), 0);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "pilot-rota" }).waitFor();
  await page.keyboard.press("?");
  const list = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await list.getByText("Use single-key shortcuts").waitFor();
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "hidden" });
  await page.keyboard.press("n");
  await page.getByRole("heading", { level: 1, name: "New job" }).waitFor();
});
