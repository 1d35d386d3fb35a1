// Several jobs are chosen in their list, and what was chosen stays so while the list is fetched again.
import assert from "node:assert/strict";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const names = ["ebb", "flood", "neap", "spring"];
const it = site({
  prepare: async (server) => {
    await server.push("chart", "#!/bin/sh\necho charted\n");
    await server.apply(names.map((name) => `kind: Job\nname: ${name}\nbinary: chart@stable\n`).join("---\n"));
  },
});

both("jobs are chosen, paused, resumed and deleted together", async (hand) => {
  await it.server.apply(names.map((name) => `kind: Job\nname: ${name}\nbinary: chart@stable\n`).join("---\n"));
  const paused = async () => (await it.server.api("jobs")).items.filter((job) => job.paused).map((job) => job.name).sort();
  const page = await it.open("/jobs");
  await page.waitForLoadState();
  const box = (name) => page.getByRole("checkbox", { name: `Choose ${name}`, exact: true });
  const choose = async (one) => {
    if (hand.name.includes("mouse")) return one.click();
    await one.focus();
    return page.keyboard.press("Space");
  };
  await choose(box("ebb"));
  await choose(box("neap"));
  await page.getByText("2 chosen").waitFor();
  await page.waitForResponse((answer) => answer.url().endsWith("/jobs") && answer.request().headers()["hx-request"] === "true");
  assert.equal(await box("neap").isChecked(), true, "a list that is fetched again keeps the choice");
  await hand.press(page.getByRole("button", { name: "Pause" }));
  await page.getByText("2 jobs paused.").waitFor();
  assert.deepEqual(await paused(), ["ebb", "neap"]);

  await choose(page.getByRole("checkbox", { name: "Choose all on this page" }));
  await page.getByText("4 chosen").waitFor();
  await hand.press(page.getByRole("button", { name: "Resume" }));
  await page.getByText("4 jobs resumed.").waitFor();
  assert.deepEqual(await paused(), []);

  await choose(box("flood"));
  await choose(box("spring"));
  await hand.press(page.getByRole("button", { name: "Delete…" }));
  await page.getByRole("heading", { level: 1, name: "Delete 2 jobs" }).waitFor();
  await hand.type(page.getByLabel("Type 2 to delete them"), "2");
  await hand.press(page.getByRole("button", { name: "Delete 2 jobs" }));
  await page.getByText("2 jobs are deleted in ten seconds.").waitFor();
  await box("flood").waitFor({ state: "detached" });
  assert.deepEqual((await it.server.api("jobs")).items.map((job) => job.name).sort(), ["ebb", "neap"]);
});
