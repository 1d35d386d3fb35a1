// Runs that failed all their attempts are listed, tried again once their cause is fixed, and purged.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const twice = "retry: {max_attempts: 2, delay: 1ms, max_delay: 1ms}";

const it = site({
  prepare: async (server) => {
    await server.push("fetch", `#!/bin/sh\n[ -e ${server.folder}/harbour ] || { echo "error: the harbour is closed" >&2; exit 3; }\necho open\n`);
    await server.apply(`kind: Job\nname: fetch\nbinary: fetch@stable\n${twice}\n---\nkind: Job\nname: other\nbinary: fetch@stable\n${twice}\n`);
  },
});

const row = (page, job) => page.getByRole("region", { name: "Dead letters" }).getByRole("row").filter({ hasText: job });

both("dead runs are found from the overview, tried again and purged", async (hand) => {
  const harbour = path.join(it.server.folder, "harbour");
  await rm(harbour, { force: true });
  const dead = [];
  for (const job of ["fetch", "fetch", "other"]) dead.push(await it.server.reaches(await it.server.run(job), "dead"));

  const page = await it.open("/");
  await hand.press(page.getByRole("link", { name: /3\s+dead letters/ }));
  await page.getByRole("heading", { level: 1, name: "Dead letters" }).waitFor();
  await page.getByText("3 runs, the newest first").waitFor();
  await row(page, "other").getByText("exit 3; failed 2 of 2 attempts").waitFor();

  // One of them, with a question that can be left.
  await hand.press(row(page, "other").getByRole("link", { name: "Purge" }));
  await page.getByText("1 dead run", { exact: true }).waitFor();
  await hand.press(page.getByRole("link", { name: "Cancel" }));
  await hand.press(row(page, "other").getByRole("link", { name: "Purge" }));
  await hand.press(page.getByRole("button", { name: "Purge 1 dead letter" }));
  await page.getByText("1 dead letter is deleted in ten seconds.").waitFor();
  await row(page, "other").waitFor({ state: "detached" });
  assert.equal((await it.server.api(`runs/${dead[2]}`)).status, "dead", "its run stays in the history");

  // All of one job.
  await writeFile(harbour, "");
  await hand.type(page.getByLabel("Job, DAG or DAG/task"), "fetch");
  await hand.press(page.getByRole("button", { name: "Show" }));
  await page.getByRole("link", { name: "Show all" }).waitFor();
  await hand.press(page.getByRole("link", { name: "Try all again…" }));
  await page.getByText("2 dead runs of fetch").waitFor();
  await hand.press(page.getByRole("button", { name: "Try 2 runs again" }));
  await page.getByText("2 runs were queued for another attempt.").waitFor();
  for (const run of dead.slice(0, 2)) await it.server.reaches(run, "succeeded");
  await page.getByText("No dead letter is of fetch.").waitFor(); // the list follows
  await hand.press(page.getByRole("link", { name: "Show all dead letters" }));
  await page.getByText("There are no dead letters.").waitFor();
});
