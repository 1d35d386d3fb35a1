// What is typed outlives a tab that is killed, a server that is away and a save that is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { both } from "./support/hands.mjs";
import { site, tabTo } from "./support/journey.mjs";

const it = site({ prepare: async (server) => {
  await server.push("pump", "#!/bin/sh\necho pumped\n");
  await server.apply("kind: DAG\nname: voyage\ntasks:\n  cast-off: {binary: pump@stable}\n  sail: {binary: pump@stable, needs: [cast-off]}\n");
} });

const job = (description) => it.server.apply(`kind: Job\nname: pump\ndescription: ${description}\nbinary: pump@stable\n`);
const ready = (page) => page.locator("form[data-ready]").waitFor();
const offer = (page) => page.getByRole("status").filter({ hasText: "There is a draft of yours" });
const save = (page) => page.getByRole("button", { name: "Save", exact: true });

/** Opens a page in the browser of another one, whose tab is killed: it is asked nothing. */
async function again(page, address, kept = "A draft is kept in this browser.") {
  await page.getByText(kept).waitFor();
  const context = page.context();
  await page.close({ runBeforeUnload: false });
  const next = await context.newPage();
  next.faults = [];
  await next.goto(address);
  await ready(next);
  return next;
}

both("a tab that was killed has its draft again, once it is asked for", async (hand) => {
  const name = hand.name.includes("mouse") ? "by-mouse" : "by-keys";
  let page = await it.open("/jobs/new");
  await ready(page);
  await hand.type(page.getByLabel("Name", { exact: true }), name);
  await hand.type(page.getByLabel("Why"), "for the dock");
  page = await again(page, "/jobs/new");
  await offer(page).waitFor();
  assert.notEqual(await page.getByLabel("Name", { exact: true }).inputValue(), name, "nothing is put into the form before it is asked for");
  await hand.press(page.getByRole("button", { name: "Restore the draft" }));
  await offer(page).waitFor({ state: "hidden" });
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), name);
  assert.equal(await page.getByLabel("Why").inputValue(), "for the dock");
  await hand.press(save(page));
  await page.getByRole("heading", { level: 1, name }).waitFor();
  await page.goto("/jobs/new");
  await ready(page);
  assert.equal(await offer(page).count(), 0, "what was saved is no draft");
});

both("a draft that is discarded is not offered again", async (hand) => {
  await job("Keeps the dock dry");
  let page = await it.open("/jobs/pump/edit");
  await ready(page);
  await hand.type(page.getByLabel("Description"), "Empties it");
  page = await again(page, "/jobs/pump/edit");
  await hand.press(page.getByRole("button", { name: "Discard it" }));
  await offer(page).waitFor({ state: "hidden" });
  await page.reload();
  await ready(page);
  assert.equal(await offer(page).count(), 0);
  assert.equal(await page.getByLabel("Description").inputValue(), "Keeps the dock dry");
});

both("a draft of an earlier version never replaces a newer one unseen", async (hand) => {
  await job("Keeps the dock dry");
  let page = await it.open("/jobs/pump/edit");
  await ready(page);
  await hand.type(page.getByLabel("Description"), "Empties it");
  await job("Keeps two docks dry");
  page = await again(page, "/jobs/pump/edit");
  await offer(page).getByText("was saved since by a newer edit").waitFor();
  assert.equal(await page.getByLabel("Description").inputValue(), "Keeps two docks dry");
  await hand.press(page.getByRole("button", { name: "Restore the draft" }));
  await hand.press(save(page));
  const conflict = page.getByRole("alert").filter({ hasText: "changed by another user" });
  await conflict.getByText("Keeps two docks dry").waitFor();
  assert.equal((await it.server.api("jobs/pump")).spec.description, "Keeps two docks dry");
  // A conflict that is left alone is a draft, too.
  page = await again(page, "/jobs/pump/edit", "Not saved: another user has changed it.");
  await offer(page).waitFor();
  await hand.press(page.getByRole("button", { name: "Restore the draft" }));
  await hand.press(save(page));
  await hand.press(page.getByRole("button", { name: "Overwrite with my version" }));
  await page.waitForURL((url) => url.pathname === "/jobs/pump");
  assert.equal((await it.server.api("jobs/pump")).spec.description, "Empties it");
});

both("a DAG that cannot be saved keeps what can be undone and what is selected", async (hand) => {
  const page = await it.open("/dags/voyage/edit");
  await ready(page);
  const text = () => page.locator("[data-definition]").inputValue();
  const before = await text();
  const task = (name) => page.getByRole("option", { name: new RegExp(`^${name},`) });
  if (hand.name.includes("mouse")) await task("sail").click();
  else {
    await tabTo(page, task("cast-off"));
    await page.keyboard.press("ArrowRight");
  }
  const binary = page.getByLabel("Binary", { exact: true }).and(page.locator(":visible"));
  await hand.type(binary, "no-such-pump");
  await hand.press(save(page));
  await page.getByText(/^Not saved: 1 problem/).waitFor();
  assert.equal(await binary.inputValue(), "no-such-pump", "sail is still selected");
  assert.equal(await task("sail").getAttribute("aria-selected"), "true");
  while ((await text()) !== before) await hand.press(page.getByRole("button", { name: "Undo" }));
});

test("a server that is away takes nothing that was typed", async () => {
  await job("Keeps the dock dry");
  const page = await it.open("/jobs/pump/edit");
  await ready(page);
  await page.getByLabel("Description").fill("Empties it");
  await page.getByText("A draft is kept in this browser.").waitFor();
  await page.route("**/jobs/pump/edit", (route) => (route.request().method() === "POST" ? route.abort() : route.continue()));
  await save(page).click();
  await page.getByText("Not saved: the server does not answer.").waitFor();
  assert.equal(await page.getByLabel("Description").inputValue(), "Empties it");
});
