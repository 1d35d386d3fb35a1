// The server goes away under an open page and comes back: the page says so, and is fresh again by itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { site } from "./support/journey.mjs";

const it = site({
  prepare: async (server) => {
    await server.push("lamp", "#!/bin/sh\necho lit\n");
    await server.apply("kind: Job\nname: lamp\nbinary: lamp@stable\n");
  },
});

test("the banner comes and goes, and what happened meanwhile is shown", async () => {
  const page = await it.open("/");
  await page.getByText("Nothing has run yet").or(page.getByText("No run has ended yet.")).waitFor();
  const banner = page.getByRole("alert").filter({ hasText: "The server does not answer" });
  assert.equal(await banner.count(), 0);

  await it.server.stop();
  await banner.waitFor();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

  await it.server.start();
  await banner.waitFor({ state: "hidden" });
  await it.server.reaches(await it.server.run("lamp"), "succeeded");
  await page.getByRole("region", { name: "Recently finished" }).getByRole("link", { name: "lamp" }).waitFor();
  page.faults = page.faults.filter((fault) => !/^console: htmx:(sendError|afterRequest)/.test(fault)); // of requests while nobody answered
});
