// Several jobs are chosen in their list, and what was chosen stays so while the list is fetched again. What is deleted can be
// had back for a while, and what is looked at often has a star.
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

both("jobs are labelled and run together", async (hand) => {
  await it.server.apply(names.map((name) => `kind: Job\nname: ${name}\nbinary: chart@stable\nlabels: {old: "1"}\n`).join("---\n"));
  const page = await it.open("/jobs?q=f");
  await page.waitForLoadState();
  await page.getByRole("checkbox", { name: "Choose flood", exact: true }).check();
  await hand.press(page.getByRole("button", { name: "Labels…" }));
  await page.getByRole("heading", { level: 1, name: "Label 1 job" }).waitFor();
  await hand.type(page.getByLabel("Labels", { exact: true }), "team=harbour old-");
  await hand.press(page.getByRole("button", { name: "Change the labels" }));
  await page.getByRole("link", { name: "team=harbour" }).waitFor();
  assert.deepEqual((await it.server.api("jobs/flood")).spec.labels, { team: "harbour" });
  assert.deepEqual((await it.server.api("jobs/ebb")).spec.labels, { old: "1" }, "only the chosen");
  await page.goto("/jobs?label=team");
  await page.waitForLoadState();
  const before = (await it.server.api("runs?job=flood")).items.length;
  await page.getByRole("checkbox", { name: "Choose flood", exact: true }).check();
  await hand.press(page.getByRole("button", { name: "Run", exact: true }));
  await page.getByText("1 job started.").waitFor();
  assert.equal((await it.server.api("runs?job=flood")).items.length, before + 1);
});

both("a job that was deleted comes back when that is undone in time", async (hand) => {
  const page = await it.open("/jobs/neap");
  await hand.press(page.getByRole("link", { name: "Delete", exact: true }));
  const dialog = page.getByRole("dialog");
  await hand.type(dialog.getByRole("textbox"), "neap");
  await hand.press(dialog.getByRole("button", { name: "Delete", exact: true }));
  const offer = page.getByRole("button", { name: "Undo" });
  await offer.waitFor();
  await page.getByRole("row", { name: /neap being deleted/ }).waitFor();
  if (hand.name === "with the mouse") await offer.click();
  else await page.keyboard.press("u");
  await page.getByText("Undone. Nothing was deleted.").waitFor();
  await page.getByRole("row", { name: /neap/ }).waitFor();
  await page.getByText("being deleted").waitFor({ state: "detached" });
  assert.equal((await it.server.api("jobs/neap")).name, "neap");
});

both("favourites stand on the overview, and can be listed alone", async (hand) => {
  const page = await it.open("/jobs");
  await page.waitForLoadState();
  const star = (name) => page.getByRole("button", { name: `Favourite: ${name}` });
  const pressed = (name, is) => star(name).and(page.locator(`[aria-pressed="${is}"]`)).waitFor();
  const given = page.waitForResponse((answer) => answer.url().endsWith("/favourite"));
  await hand.press(star("ebb"));
  await pressed("ebb", true);
  await given;
  await page.goto("/");
  await page.getByRole("region", { name: "Favourites" }).getByRole("link", { name: "ebb" }).waitFor();
  await page.goto("/jobs");
  await hand.choose(page.getByLabel("State"), "favourite");
  await page.waitForURL("**state=favourite*");
  assert.equal(await page.getByRole("checkbox", { name: /^Choose \w+$/ }).count(), 1);
  const taken = page.waitForResponse((answer) => answer.url().endsWith("/favourite"));
  await hand.press(star("ebb"));
  await taken;
  await page.goto("/");
  await page.getByRole("heading", { level: 1 }).waitFor();
  assert.equal(await page.getByRole("region", { name: "Favourites" }).count(), 0);
});
