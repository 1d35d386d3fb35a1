// Programs and their versions: a job right after the upload, the source of a script, and what a version changed.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { site } from "./support/journey.mjs";
import { both } from "./support/hands.mjs";
import { phone } from "./support/browser.mjs";

const it = site();

let count = 0;

both("a script is uploaded, becomes a job, and its next version is compared with it", async (hand) => {
  const name = `count-${++count}`;
  const file = path.join(it.server.folder, `${name}.sh`);
  await writeFile(file, "#!/bin/sh\necho one # the first\nexit 0\n");
  const page = await it.open("/binaries/upload");
  await hand.file(page.getByLabel("File", { exact: true }), file);
  await page.getByText("script for sh").waitFor();
  await hand.press(page.getByRole("button", { name: "Upload", exact: true }));
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  await hand.press(page.getByRole("link", { name: "Create a job" }).first());
  await page.locator("form[data-ready]").waitFor();
  await hand.press(page.getByRole("button", { name: "Save" }));
  await page.getByRole("heading", { name: `${name}-job` }).waitFor();
  assert.equal((await it.server.api(`jobs/${name}-job`)).spec.binary, `${name}@stable`);

  await it.server.push(name, "#!/bin/sh\necho two # the first\nexit 0\n");
  await page.goto(`/binaries/${name}`);
  await hand.press(page.getByRole("link", { name: "Changes of version 2" }));
  await page.getByText("1 line only left, 1 line only right").waitFor();
  await hand.press(page.getByRole("link", { name: "version 2" }));
  await page.locator("[data-source=shell]").waitFor();
  assert.equal(await page.locator("#L2 .t-comment").textContent(), "# the first");
  await hand.press(page.getByRole("link", { name: "Previous version" }));
  await page.getByText("echo one").waitFor();
  await hand.press(page.getByRole("button", { name: "Compare" }));
  await page.getByRole("heading", { name: "Difference between two versions" }).waitFor();
});

test("several files that were uploaded at once each lead to a job", async () => {
  const page = await it.open("/binaries/upload");
  const files = ["first", "second"].map((name) => ({ name: `${name}.sh`, mimeType: "text/plain", buffer: Buffer.from(`#!/bin/sh\necho ${name}\n`) }));
  await page.getByLabel("File", { exact: true }).setInputFiles(files);
  await page.getByRole("button", { name: "Upload 2 files" }).click();
  await page.getByRole("listitem").filter({ hasText: "second.sh" }).getByRole("link", { name: "Create a job" }).click();
  await page.locator("form[data-ready]").waitFor();
  assert.match(await page.locator("textarea[name=definition]").inputValue(), /binary: second@stable/);
});

test("a script of 5,000 lines is light and coloured to its end", async () => {
  const line = (i) => `def step_${i}(day="2026-01-01"): return sum(r["n"] for r in rows if r["day"] == day) * ${i * 7919}  # ${i}`;
  await it.server.push("long", `#!/usr/bin/env python3\n${Array.from({ length: 4999 }, (_, i) => line(i)).join("\n")}\n`);
  const page = await it.open("/binaries/long/versions/1");
  await page.locator("[data-source=python]").waitFor();
  assert.equal(await page.locator("#L5000 .t-comment").textContent(), "# 4998");
  const weight = await page.evaluate(() =>
    ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type)).reduce((sum, entry) => sum + entry.transferSize, 0));
  assert.ok(weight < 250 * 1024, `it weighs ${weight} bytes`);
  await page.goto("/binaries/long/versions/1#L4000");
  await page.locator("#L4000").filter({ visible: true }).waitFor();
  assert.ok(await page.locator("#L4000").evaluate((row) => Math.abs(row.getBoundingClientRect().top) < innerHeight), "the line of the link is in view");
});

test("a program with 500 versions comes in pages, and any two of its versions are compared", async () => {
  for (let i = 1; i <= 500; i++) await it.server.push("often", `#!/bin/sh\necho ${i}\n`);
  const page = await it.open("/binaries/often");
  assert.equal(await page.getByRole("row").filter({ hasText: "Changes" }).count(), 50);
  await page.getByRole("link", { name: "Next page" }).click();
  await page.getByRole("link", { name: "450", exact: true }).click();
  await page.getByLabel("Compare with version").fill("7");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText("1 line only left, 1 line only right").waitFor();
  assert.match(page.url(), /a=7&b=450/);
});

test("on a phone two versions are compared below each other", async () => {
  await it.server.push("narrow", "#!/bin/sh\necho one\nsame\n");
  await it.server.push("narrow", "#!/bin/sh\necho two\nsame\n");
  const page = await it.open("/binaries/narrow/diff?a=1&b=2", { viewport: phone });
  const box = (text) => page.locator("table.diff code").filter({ hasText: text, visible: true }).evaluateAll((all) => all.map((code) => code.parentElement.getBoundingClientRect().toJSON()));
  const [[one], [two], same] = [await box("echo one"), await box("echo two"), await box("same")];
  assert.ok(two.top > one.top && two.left === one.left, "the new line is below the old one");
  assert.equal(same.length, 1, "a line that is alike is there once");
  assert.ok(one.right <= phone.width && one.width > 200, "and has the width of the screen");
});
