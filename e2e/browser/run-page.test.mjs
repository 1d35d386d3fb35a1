// The page of a run: its output beside its facts, what a terminal would show of it, and what was done said once.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { phone, wide } from "./support/browser.mjs";
import { both } from "./support/hands.mjs";
import { assertAccessible, site } from "./support/journey.mjs";

const ids = {};
const it = site({
  prepare: async (server) => {
    await server.push("broken", `#!/bin/sh
echo begin
printf 'loading 10%%\\rloading 100%%\\n'
echo "::progress 0.7 most of it"
echo "FileNotFoundError: tides.csv" >&2
exit 3
`);
    await server.push("bar", `#!/bin/sh
echo begin
i=0
while [ ! -e "$GO" ]; do i=$((i + 1)); printf 'copied %s \\r' $i; sleep 0.1; done
printf 'copied all\\n'
`);
    await server.apply(`kind: Job\nname: broken\nbinary: broken@stable\nretry: {max_attempts: 1}\n---\nkind: Job\nname: bar\nbinary: bar@stable\nenv: {GO: ${server.folder}/go}\n`);
    ids.first = await server.run("broken");
    await server.reaches(ids.first);
    ids.second = await server.run("broken");
    await server.reaches(ids.second);
  },
});

test("the reason and the last lines are in the first screen, and the output is beside the facts", async () => {
  const page = await it.open(`/runs/${ids.second}`);
  for (const words of [page.getByLabel("Last lines of the output").getByText("FileNotFoundError"), page.getByRole("region", { name: "Output", exact: true })]) {
    const box = await words.boundingBox();
    assert.ok(box.y >= 0 && box.y + Math.min(box.height, 100) < wide.height, `in the first screen: ${JSON.stringify(box)}`);
  }
  const facts = await page.locator(".run-facts").boundingBox();
  const output = await page.locator("#output").boundingBox();
  assert.ok(output.x >= facts.x + facts.width && Math.abs(output.y - facts.y) < 40, "they stand beside each other");

  await page.setViewportSize(phone);
  const narrow = await page.locator("#output").boundingBox();
  const above = await page.locator(".run-facts").boundingBox();
  assert.ok(narrow.y >= above.y + above.height - 1, "on a phone one stands below the other");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
});

both("a switch shows when each line came, and lines of standard error are marked", async (hand) => {
  await it.server.push("pair", `#!/bin/sh
echo "reading the gauge"
echo "the gauge is dry" >&2
while [ ! -e ${it.server.folder}/tide-${hand.name.length} ]; do sleep 0.1; done
echo "read it"
`);
  await it.server.apply("kind: Job\nname: pair\nbinary: pair@stable\nstderr: marked\n");
  const page = await it.open("/");
  const run = await it.server.run("pair");
  await page.goto(`/runs/${run}`);
  const output = page.getByRole("region", { name: "Output", exact: true });
  const row = (words) => output.locator(".row", { hasText: words });
  await row("reading the gauge").waitFor(); // live
  await hand.press(page.getByRole("button", { name: "Times" }));
  const time = row("reading the gauge").locator("time");
  await time.waitFor();
  const at = Date.parse(await time.getAttribute("datetime"));
  assert.ok(Math.abs(Date.now() - at) < 120_000, "it came just now");
  const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: "Europe/Berlin" }).format(at);
  assert.match(await time.innerText(), new RegExp(`^${clock}\\.\\d{3}$`));
  assert.match(await row("the gauge is dry").getAttribute("class"), /stderr/);
  assert.doesNotMatch(await row("reading the gauge").getAttribute("class"), /stderr/);
  await writeFile(`${it.server.folder}/tide-${hand.name.length}`, "");
  await row("read it").locator("time").waitFor();
  await it.server.reaches(run, "succeeded");
  await page.reload();
  await row("read it").locator("time").waitFor(); // the switch stays, and the times are kept
  await output.getByRole("link", { name: "Line 2, standard error" }).waitFor();
  await assertAccessible(page);
  await hand.press(page.getByRole("button", { name: "Times" }));
  await row("read it").locator("time").waitFor({ state: "hidden" });
});

test("a line shows what was drawn last, and lines about progress are left out until they are asked for", async () => {
  const page = await it.open(`/runs/${ids.second}`);
  const output = page.getByRole("region", { name: "Output" });
  await output.getByText("loading 100%", { exact: true }).waitFor();
  const progress = output.getByText("::progress 0.7");
  assert.equal(await progress.isVisible(), false);
  await page.getByRole("button", { name: "Progress lines" }).click();
  await progress.waitFor();
});

test("a bar that draws itself anew stays one line that goes on", async () => {
  const page = await it.open("/");
  const run = await it.server.run("bar");
  await it.server.reaches(run, "running");
  await page.goto(`/runs/${run}`);
  const line = page.locator("#L2 code");
  await line.getByText(/^copied \d+/).waitFor();
  const first = Number((await line.textContent()).match(/\d+/)[0]);
  await page.waitForFunction((n) => Number(document.querySelector("#L2 code").textContent.match(/\d+/)?.[0]) > n + 3, first);
  assert.equal(await page.locator(".output .row").count(), 2);
  await (await import("node:fs/promises")).writeFile(`${it.server.folder}/go`, "");
  await line.getByText("copied all", { exact: true }).waitFor();
});

test("the runs before and after are one step away, and another is chosen to compare with", async () => {
  const page = await it.open(`/runs/${ids.second}`);
  await page.getByRole("link", { name: "Previous run" }).click();
  await page.waitForURL(`**/runs/${ids.first}`);
  await page.getByRole("link", { name: "Compare…" }).click();
  await page.getByRole("link", { name: `Compare with ${ids.second}` }).click();
  await page.getByRole("heading", { level: 1, name: "Difference between two runs" }).waitFor();
  assert.equal(new URL(page.url()).search, `?a=${ids.second}&b=${ids.first}`);
});

test("a run is repeated with a changed payload, which is said once", async () => {
  const page = await it.open(`/runs/${ids.first}`);
  await page.getByRole("link", { name: "Run again with…" }).click();
  await page.getByLabel("Payload").fill('{"day": 8}');
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("heading", { level: 1, name: "Run of broken" }).waitFor();
  const toast = page.locator(".toast").getByText("Run queued.");
  await toast.waitFor();
  assert.equal(new URL(page.url()).search, "", "the address says nothing of it");
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Run of broken" }).waitFor();
  assert.equal(await page.getByText("Run queued.").count(), 0, "a reload does not say it again");
  await page.getByText('"day": 8').waitFor();
});

test("a text is found in the outputs of all runs", async () => {
  const page = await it.open(`/runs/${ids.second}`);
  await page.getByRole("link", { name: "Search all outputs" }).click();
  await page.getByLabel("Text").fill("filenotfound");
  await page.getByRole("button", { name: "Search", exact: true }).last().click();
  await page.getByText("these are all").waitFor();
  await page.getByRole("link", { name: /FileNotFoundError: tides/ }).last().click();
  await page.locator("#L4.marked").waitFor();
});
