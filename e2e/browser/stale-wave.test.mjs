// The page of a wave that has ended shows that it goes on, also where another user has asked for it.
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { site } from "./support/journey.mjs";
import { until } from "./support/server.mjs";

const it = site({
  prepare: async (server) => {
    await server.push("fetch", `#!/bin/sh\n[ -e ${server.folder}/harbour ] || exit 3\n`);
    await server.apply("kind: DAG\nname: etl\ndefaults: {binary: fetch@stable}\ntasks:\n  fetch: {}\n  load: {needs: [fetch]}\n");
  },
});

const resume = async (wave) => {
  const answer = await fetch(`${it.server.url}/api/v1/waves/${wave}/resume`, { method: "POST" });
  if (!answer.ok) throw new Error(`resume: ${answer.status} ${await answer.text()}`);
};

test("a wave that is resumed elsewhere goes on in the page of a user who looks at it", async () => {
  const harbour = path.join(it.server.folder, "harbour");
  await rm(harbour, { force: true });
  const wave = await it.server.wave("etl");
  const page = await it.open(`/waves/${wave}`);
  const title = page.getByRole("heading", { level: 1 });
  await title.filter({ hasText: "failed" }).waitFor();
  const skipped = (await it.server.api("runs?dag=etl")).items.find((run) => run.task === "load");
  const task = await it.open(`/runs/${skipped.id}`);
  await task.getByRole("heading", { level: 1 }).filter({ hasText: /skipped|upstream/ }).waitFor();
  // Not by the first look after it was opened: the page has been asked for anew, and nothing had changed.
  await page.waitForResponse((answer) => answer.url().includes(`/waves/${wave}`), { timeout: 40_000 });
  await writeFile(harbour, "");
  await resume(wave);
  await title.filter({ hasText: "succeeded" }).waitFor();
  await task.getByRole("heading", { level: 1 }).filter({ hasText: "succeeded" }).waitFor();
});

test("a wave that one resumes oneself is not stale", async () => {
  const harbour = path.join(it.server.folder, "harbour");
  await rm(harbour, { force: true });
  const wave = await it.server.wave("etl");
  const page = await it.open(`/waves/${wave}`);
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "failed" }).waitFor();
  await writeFile(harbour, "");
  await page.getByRole("button", { name: "Resume from failure" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "succeeded" }).waitFor();
  await until(async () => (await it.server.api(`waves/${wave}`)).status === "succeeded", "the wave to succeed");
});
