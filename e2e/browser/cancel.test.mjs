// A run that goes on is cancelled, after a question, and its program is gone.
import assert from "node:assert/strict";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const it = site({
  prepare: async (server) => {
    await server.push("tide", '#!/bin/sh\ntrap \'echo "told to stop"; exit 0\' TERM\necho "waiting for the tide"\nwhile :; do sleep 600 & wait; done\n');
    await server.apply("kind: Job\nname: tide\nbinary: tide@stable\noverlap: allow\n");
  },
});

both("a run is cancelled once the question is answered", async (hand) => {
  const run = await it.server.reaches(await it.server.run("tide"), "running");
  const page = await it.open("/");
  await hand.press(page.getByRole("region", { name: "Running now" }).getByRole("link", { name: "running" }).first());
  await page.getByText("waiting for the tide").waitFor();
  assert.equal(new URL(page.url()).pathname, `/runs/${run}`);

  const cancel = page.locator("main").getByRole("button", { name: "Cancel" });
  const question = page.getByRole("dialog");
  await hand.press(cancel);
  await question.getByText("Cancel this run?").waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "hidden" });
  assert.equal((await it.server.api(`runs/${run}`)).status, "running", "Escape leaves it alone");

  await hand.press(cancel);
  await hand.press(question.getByRole("button", { name: "Cancel the run" }));
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "cancelled" }).waitFor();
  await page.getByText("told to stop").waitFor();
  await page.getByText("complete", { exact: true }).waitFor();
});
