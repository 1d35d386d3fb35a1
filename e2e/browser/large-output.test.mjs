// A program prints a gigabyte. Its end shows at once, any line of it is a moment away, and the tab stays quick.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { site, tabTo } from "./support/journey.mjs";

/** How many lines the program prints at first, each of 100 bytes with its end. */
const lines = 10_000_000;
const needle = 6_543_210;

/** Budgets of the tab, for a machine of two busy cores. */
const budget = {
  tail: 5000, // milliseconds from opening the page to its last line
  heap: 32 << 20, // bytes of JavaScript's heap
  rows: 3500, // rows in the page
  task: 500, // milliseconds of the longest task
};

const it = site({
  prepare: async (server) => {
    await server.push("flood", `#!/bin/sh
awk 'BEGIN {
  pad = sprintf("%80s", ""); gsub(/ /, ".", pad)
  for (i = 1; i <= ${lines}; i++) printf("%09d %s %s\\n", i, i == ${needle} ? "needle  " : "haystack", pad)
}'
until [ -e ${server.folder}/go ]; do sleep 0.05; done
for word in one two three; do echo "and $word more"; sleep 0.05; done
`);
    await server.apply("kind: Job\nname: flood\nbinary: flood@stable\nlimits: {output: 4GiB}\ntimeout: 20m\n");
    it.run = await server.run("flood");
  },
});

/** Watches how long the tab is busy without a pause. */
async function watch(page) {
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
    }).observe({ type: "longtask", buffered: true });
  });
}

async function weight(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  return { heap: usedSize, rows: await page.locator(".output .row").count(), longest: await page.evaluate(() => window.longest) };
}

test("a gigabyte is read from its end, by line and by search, and followed", async (t) => {
  const ready = await it.open(`/runs/${it.run}`);
  await watch(ready);
  const last = String(lines).padStart(9, "0");
  await ready.getByText(`${last} haystack`).waitFor({ timeout: 240_000 }); // it follows while the program prints

  const began = Date.now();
  const page = await it.open(`/runs/${it.run}`);
  const output = page.getByRole("region", { name: "Output", exact: true }).last();
  await output.getByText(`${last} haystack`).waitFor();
  const tail = Date.now() - began;
  assert.ok(tail < budget.tail, `the end was there after ${tail} ms`);
  await watch(page);

  await page.getByRole("spinbutton", { name: "Line" }).fill("5000000");
  const jumped = Date.now();
  await page.getByRole("form", { name: "Go to a line" }).getByRole("button", { name: "Go" }).click();
  await output.locator(".row.marked").filter({ hasText: "005000000 haystack" }).waitFor();
  t.diagnostic(`a line in the middle after ${Date.now() - jumped} ms`);

  // The wheel turns through some ten thousand lines, and the page fetches them as they come into sight.
  await output.hover();
  for (let i = 0; i < 60; i++) {
    await page.mouse.wheel(0, 3000);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  await page.waitForFunction(() => Number(document.querySelector(".output .row:last-child").id.slice(1)) > 5_001_500);

  await page.getByRole("searchbox", { name: "Find in the output" }).fill("needle");
  const searched = Date.now();
  await page.getByRole("search", { name: "Find in the output" }).getByRole("button", { name: "Find" }).click();
  await output.locator(".row.marked").filter({ hasText: `00${needle} needle` }).waitFor({ timeout: 120_000 });
  t.diagnostic(`the needle after ${Date.now() - searched} ms`);

  await page.getByRole("button", { name: "Follow" }).click();
  await output.getByText(`${last} haystack`).waitFor();
  await writeFile(path.join(it.server.folder, "go"), "");
  await output.getByText("and three more").waitFor();
  await page.getByText("complete", { exact: true }).waitFor();

  t.diagnostic(`the end after ${tail} ms`);
  for (const [who, tab] of Object.entries({ "who followed it from its beginning": ready, "who looked around in it": page })) {
    const { heap, rows, longest } = await weight(tab);
    t.diagnostic(`${who}: ${(heap / (1 << 20)).toFixed(1)} MiB of heap, ${rows} rows, longest task ${longest} ms`);
    assert.ok(heap < budget.heap, `${who}: ${heap} bytes of heap`);
    assert.ok(rows < budget.rows, `${who}: ${rows} rows in the page`);
    assert.ok(longest < budget.task, `${who}: a task of ${longest} ms`);
  }
});

test("the same by keyboard alone", async () => {
  const page = await it.open(`/runs/${it.run}`);
  const output = page.getByRole("region", { name: "Output", exact: true }).last();
  await output.getByText("and three more").waitFor();
  await tabTo(page, page.getByRole("spinbutton", { name: "Line" }));
  await page.keyboard.type("5000000");
  await page.keyboard.press("Enter");
  await output.locator(".row.marked").filter({ hasText: "005000000 haystack" }).waitFor();
  await tabTo(page, output);
  await page.keyboard.press("Home");
  await output.getByText("000000001 haystack").waitFor();
  await page.keyboard.press("End");
  await output.getByText("and three more").waitFor();
});
