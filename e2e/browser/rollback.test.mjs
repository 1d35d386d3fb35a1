// A bad version is rolled back: what it will change is read first, with the mouse and by keyboard alone.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { site, tabTo } from "./support/journey.mjs";

const it = site();

const stable = async () => (await it.server.api("binaries/report")).aliases.stable;

let count = 0;
beforeEach(async () => {
  for (const word of ["good", "bad"]) await it.server.push("report", `#!/bin/sh\necho ${word} ${++count}\n`);
  await it.server.apply("kind: Job\nname: totals\nbinary: report@stable\n");
});

test("the alias points back, and the page said beforehand which job that concerns", async () => {
  const bad = await stable();
  const page = await it.open("/binaries/report");
  await page.getByRole("link", { name: `Roll back to ${bad - 1}` }).click();
  await page.getByRole("heading", { name: `Roll stable back to version ${bad - 1}` }).waitFor();
  await page.getByText(`1 job runs version ${bad - 1} from its next run on.`).waitFor();
  await page.getByRole("link", { name: "totals" }).waitFor();
  assert.equal(await stable(), bad, "reading changes nothing");
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("status").filter({ hasText: "The alias" }).waitFor();
  assert.equal(await stable(), bad - 1);
});

test("by keyboard alone, first left as it is, then done", async () => {
  const bad = await stable();
  const page = await it.open("/binaries/report");
  const back = page.getByRole("link", { name: `Roll back to ${bad - 1}` });
  await tabTo(page, back);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /Roll stable back/ }).waitFor();
  await tabTo(page, page.getByRole("link", { name: "Cancel" }));
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "report", level: 1 }).waitFor();
  assert.equal(await stable(), bad);
  await tabTo(page, back);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /Roll stable back/ }).waitFor();
  await tabTo(page, page.getByRole("button", { name: "Roll back" }));
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "report", level: 1 }).waitFor();
  assert.equal(await stable(), bad - 1);
});
