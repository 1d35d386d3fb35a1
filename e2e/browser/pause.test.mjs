// A job, or a DAG, that makes noise is paused, with the reason for those who find it so, and resumed.
import assert from "node:assert/strict";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const it = site({
  prepare: async (server) => {
    await server.push("bell", "#!/bin/sh\necho ding\n");
    await server.apply('kind: Job\nname: bell\nbinary: bell@stable\nschedule: "* * * * * *"\ncatch_up: {policy: none}\n');
    await server.apply('kind: DAG\nname: chime\nschedule: "0 * * * *"\ntasks:\n  strike: {binary: bell@stable}\n');
  },
});

for (const { kind, list, name } of [
  { kind: "job", list: "jobs", name: "bell" },
  { kind: "DAG", list: "dags", name: "chime" },
]) {
  both(`a noisy ${kind} is paused with a reason, found paused, and resumed`, (hand) => pauses(hand, list, name));
}

async function pauses(hand, list, name) {
  const paused = async () => Boolean((await it.server.api(`${list}/${name}`)).paused);
  const page = await it.open(`/${list}`);
  await hand.press(page.getByRole("link", { name, exact: true }));
  await page.getByRole("heading", { level: 1, name }).waitFor();

  await hand.press(page.getByRole("link", { name: "Pause" }));
  const question = page.getByRole("dialog", { name: `Pause ${name}` });
  await question.waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "hidden" });
  assert.equal(await paused(), false, "Escape leaves it as it is");

  await hand.press(page.getByRole("link", { name: "Pause" }));
  await hand.type(question.getByLabel("Why"), "rings all night");
  await hand.press(question.getByRole("button", { name: "Pause" }));
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "paused" }).waitFor();
  await page.getByText("rings all night").first().waitFor();
  assert.equal(await paused(), true);

  await hand.press(page.getByRole("button", { name: "Resume" }));
  await page.getByRole("link", { name: "Pause" }).waitFor();
  assert.equal(await paused(), false);
}
