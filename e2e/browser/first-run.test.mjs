// From a first start to the first run of an own program.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { Server } from "./support/server.mjs";
import { assertCalm, launch, open } from "./support/browser.mjs";
import { both } from "./support/hands.mjs";
import { assertAccessible } from "./support/journey.mjs";

both("a newcomer becomes the first admin by the printed link, uploads a program, writes its job and reads its output", async (hand, t) => {
  const server = await new Server().start();
  t.after(() => server.remove());
  const browser = await launch();
  t.after(() => browser.close());
  assert.ok(server.login, "the first start prints a login link");

  const page = await open(browser, server.url);
  const title = (name) => page.getByRole("heading", { level: 1, name });
  await page.goto("/");
  await page.getByRole("heading", { level: 1 }).waitFor();
  assert.match(page.url(), /login/, "nobody comes in without the link");
  await assertAccessible(page, "the login page");
  await page.goto(server.login);
  await title("Welcome to Tidewheel").waitFor();
  await assertAccessible(page, "the page of the first admin");
  await hand.type(page.getByLabel("Name", { exact: true }), "ada");
  await hand.type(page.getByLabel("Password, at least 10 characters"), "a password of some words");
  await hand.type(page.getByLabel("Password again"), "a password of some words");
  await hand.press(page.getByRole("button", { name: "Create admin" }));
  await title("Overview").waitFor();
  await page.getByText("Welcome. Two steps to your first run:").waitFor();

  const file = path.join(server.folder, "hello.sh");
  await writeFile(file, '#!/bin/sh\necho "hello from $TIDEWHEEL_JOB"\n');
  await hand.press(page.getByRole("link", { name: "Upload a program" }).first());
  await hand.file(page.getByLabel("File", { exact: true }), file);
  assert.equal(await page.getByLabel("Name of the program").inputValue(), "hello", "the name is taken from the file's");
  await hand.press(page.getByRole("button", { name: "Upload", exact: true }));
  await title("hello").waitFor();

  await hand.press(page.getByRole("link", { name: "Create a job" }).first());
  await title("New job").waitFor();
  await page.getByLabel("Binary", { exact: true }).waitFor();
  assert.equal(await page.getByLabel("Binary", { exact: true }).inputValue(), "hello", "the program is chosen already");
  await hand.type(page.getByLabel("Name", { exact: true }), "greeting");
  await hand.pick(page.getByRole("radio", { name: "Manual" }));
  await page.getByRole("region", { name: "Check" }).getByText("Manual only").waitFor();
  await hand.press(page.getByRole("button", { name: "Save", exact: true }));
  await title("greeting").waitFor();

  await hand.press(page.getByRole("button", { name: "Run now" }));
  await title("Run of greeting").waitFor();
  await page.getByText("hello from greeting").waitFor();
  await title("Run of greeting").filter({ hasText: "succeeded" }).waitFor();
  assertCalm(page);
});
