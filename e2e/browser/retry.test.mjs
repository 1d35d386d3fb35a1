// What a run failed of is mended outside, and the run is tried again.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const it = site({
  prepare: async (server) => {
    await server.push("fetch", `#!/bin/sh\n[ -e ${server.folder}/harbour ] || { echo "error: the harbour is closed" >&2; exit 3; }\necho open\n`);
    await server.apply("kind: Job\nname: fetch\nbinary: fetch@stable\n");
  },
});

both("a failed run is tried again and succeeds", async (hand) => {
  const harbour = path.join(it.server.folder, "harbour");
  await rm(harbour, { force: true });
  const run = await it.server.reaches(await it.server.run("fetch"));
  const page = await it.open(`/runs/${run}`);
  await page.getByLabel("Last lines of the output").getByText("error: the harbour is closed").waitFor();
  await writeFile(harbour, "");
  await hand.press(page.getByRole("button", { name: "Try again" }));
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "succeeded" }).waitFor();
  await page.getByRole("region", { name: "Output" }).getByText("open", { exact: true }).waitFor();
  assert.equal(await page.locator(".attempt").count(), 2, "both attempts are told of");
  assert.equal(new URL(page.url()).pathname, `/runs/${run}`, "it is the same run");
});
