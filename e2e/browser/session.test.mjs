// The session ends while a user writes: after signing in again what was typed is there.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { site } from "./support/journey.mjs";

const it = site({ args: [], prepare: async (server) => {
  server.token = (await readFile(path.join(server.folder, "data", "token"), "utf8")).trim();
  await server.push("hello", "#!/bin/sh\ncat; echo\n");
  await server.apply("kind: Job\nname: greeting\nbinary: hello@stable\n");
} });

const signIn = async (page) => {
  await page.getByRole("heading", { level: 1, name: "Sign in to Tidewheel" }).waitFor();
  await page.getByLabel("Token").fill(it.server.token);
  await page.getByRole("button", { name: "Sign in" }).click();
};

const loseSession = (page) => page.context().clearCookies();

test("a definition that is saved after the session has ended is there again after signing in", async () => {
  const page = await it.open("/jobs/new?from=greeting");
  await signIn(page);
  await page.locator("form[data-ready]").waitFor();
  assert.equal(new URL(page.url()).search, "?from=greeting");
  // The session must not end before the check of the new name, which would lead to the login page before Save is pressed.
  const checked = page.waitForResponse((answer) => new URL(answer.url()).pathname.endsWith("/check"));
  await page.getByLabel("Name", { exact: true }).fill("second-greeting");
  await checked;
  await page.getByLabel("Why").fill("a greeting for the evening");
  await page.getByRole("region", { name: "Check" }).getByText("Manual only").waitFor();
  await loseSession(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await signIn(page);
  await page.locator("form[data-ready]").waitFor();
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, "/jobs/new?from=greeting");
  await page.getByText("Your session had expired").waitFor();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "second-greeting");
  assert.equal(await page.getByLabel("Why").inputValue(), "a greeting for the evening");
  await page.getByText("Not saved yet.").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "second-greeting" }).waitFor();
  await page.goto("/jobs/new?from=greeting");
  await page.locator("form[data-ready]").waitFor();
  assert.equal(await page.getByText("Your session had expired").count(), 0, "a draft is put back once");
});

test("a definition is kept when the check of it finds that the session has ended", async () => {
  const page = await it.open("/jobs/greeting/edit");
  await signIn(page);
  await page.locator("form[data-ready]").waitFor();
  await loseSession(page);
  await page.getByLabel("Description").fill("It says good evening");
  await signIn(page);
  await page.getByText("Your session had expired").waitFor();
  await page.locator("form[data-ready]").waitFor();
  assert.equal(new URL(page.url()).pathname, "/jobs/greeting/edit");
  assert.equal(await page.getByLabel("Description").inputValue(), "It says good evening");
});

test("the dialog to run a job opens again with its payload", async () => {
  const page = await it.open("/jobs/greeting");
  await signIn(page);
  await page.getByRole("link", { name: "Run with" }).click();
  const dialog = page.getByRole("dialog", { name: "Run greeting with" });
  await dialog.getByLabel("Payload").fill('{"to": "everybody"}');
  await loseSession(page);
  await dialog.getByRole("button", { name: "Run now" }).click();
  await signIn(page);
  await dialog.getByText("Your session had expired").waitFor();
  assert.equal(await dialog.getByLabel("Payload").inputValue(), '{"to": "everybody"}');
  await dialog.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("heading", { level: 1, name: "Run of greeting" }).waitFor();
  const { items } = await it.server.api("runs?job=greeting");
  assert.deepEqual(items.map((run) => run.payload), [{ to: "everybody" }], "it ran once, with what was typed");
});
