// What worked yesterday fails today: the failed run is compared with the last good one.
import assert from "node:assert/strict";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const job = (day) => `kind: Job\nname: totals\nbinary: totals@stable\nargs: [--day, "${day}"]\nenv: {API_TOKEN: secret-${day}}\n`;

const it = site({
  prepare: async (server) => {
    await server.push("totals", '#!/bin/sh\necho "reading 12 shops"\necho "total: 4711"\n');
    await server.apply(job("monday"));
    it.good = await server.reaches(await server.run("totals"), "succeeded");
    await server.push("totals", '#!/bin/sh\necho "reading 12 shops"\necho "error: no till" >&2\nexit 4\n');
    await server.apply(job("tuesday"));
    it.bad = await server.reaches(await server.run("totals"));
  },
});

both("a failed run is compared with the last good one in one click", async (hand) => {
  const page = await it.open(`/runs/${it.bad}`);
  await hand.press(page.getByRole("link", { name: "Compare with the last good run" }));
  await page.getByRole("heading", { level: 1, name: "Difference between two runs" }).waitFor();
  const row = (name) => page.getByRole("region", { name: "What differs" }).getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
  assert.match(await row("status").innerText(), /succeeded[^]*(failed|dead)/);
  assert.match(await row("args").innerText(), /monday[^]*tuesday/);
  await row("digest").waitFor();
  assert.equal(await page.getByText("secret-monday").count(), 0, "what may be secret is not shown");

  const output = page.getByRole("region", { name: "Outputs side by side" });
  await output.getByText("total: 4711").waitFor();
  await output.getByText("error: no till").waitFor();
  await hand.press(page.getByRole("link", { name: "Swap sides" }));
  await page.waitForURL((url) => url.searchParams.get("a") === it.bad);
  assert.match(await row("status").innerText(), /(failed|dead)[^]*succeeded/);
  await hand.press(page.getByRole("main").getByRole("link", { name: it.good, exact: true }));
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "succeeded" }).waitFor();
});
