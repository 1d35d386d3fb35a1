// Two people edit one job: the second sees what the first has changed before anything is lost.
import assert from "node:assert/strict";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const it = site({ prepare: (server) => server.push("pump", "#!/bin/sh\necho pumped\n") });

const spec = async () => (await it.server.api("jobs/pump")).spec;

both("who saves second sees the other's change, and chooses", async (hand) => {
  await it.server.apply('kind: Job\nname: pump\nbinary: pump@stable\nschedule: "0 3 * * *"\n');
  const first = await it.open("/jobs/pump/edit");
  const second = await it.open("/jobs/pump/edit");
  const save = (page) => hand.press(page.getByRole("button", { name: "Save", exact: true }));
  const describe = (page, words) => hand.type(page.getByLabel("Description"), words);

  await describe(first, "Keeps the dock dry");
  await hand.type(first.getByLabel("Why"), "so that all know");
  await save(first);
  await first.getByRole("heading", { level: 1, name: "pump" }).waitFor();

  await describe(second, "Empties the dock");
  await save(second);
  const conflict = second.getByRole("alert").filter({ hasText: "changed by another user" });
  await conflict.getByText("so that all know").waitFor();
  await conflict.getByText("Keeps the dock dry").waitFor();
  await conflict.getByText("Empties the dock").waitFor();
  assert.equal((await spec()).description, "Keeps the dock dry", "nothing is lost before a user decides");

  await hand.press(conflict.getByRole("button", { name: "Overwrite with my version" }));
  await second.getByRole("heading", { level: 1, name: "pump", exact: false }).waitFor();
  await second.getByRole("link", { name: "Pause" }).waitFor();
  assert.equal((await spec()).description, "Empties the dock");

  // The form that the first has left open in another tab is behind again: this time it is dropped.
  const third = await it.open("/jobs/pump/edit");
  await it.server.apply('kind: Job\nname: pump\nbinary: pump@stable\nschedule: "0 4 * * *"\n');
  await describe(third, "Something else");
  await save(third);
  await hand.press(third.getByRole("link", { name: "Discard mine and edit the saved version" }));
  await third.getByText("No changes.").waitFor();
  await third.locator("form[data-ready]").waitFor();
  assert.equal(await third.getByLabel("Expression", { exact: true }).inputValue(), "0 4 * * *");
});
