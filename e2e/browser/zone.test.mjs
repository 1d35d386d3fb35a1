// One rule for time zones: every time is the reader's, or as the switch at the foot of the page says, and the zone is named beside it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const it = site({
  prepare: async (server) => {
    await server.push("chart", "#!/bin/sh\necho charted\n");
    await server.apply('kind: Job\nname: nightly\nbinary: chart@stable\nschedule: "30 2 * * *"\ntimezone: Asia/Dhaka\n');
    await server.reaches(await server.run("nightly"));
  },
});

const choice = (page) => page.getByRole("form", { name: "Time zone of the pages" });

both("the times of a page are those of the zone that is chosen, and nothing is loaded anew", async (hand) => {
  const page = await it.open("/jobs/nightly");
  const next = page.locator("time[datetime]").filter({ hasText: /\d\d:30:00$/ }).first();
  await next.waitFor();
  const shown = async (zone) => {
    const at = new Date(await next.getAttribute("datetime"));
    const wanted = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: zone }).format(at);
    await page.waitForFunction(([instant, words]) => document.querySelector(`time[datetime="${instant}"][data-form="moment"]`)?.textContent === words, [await next.getAttribute("datetime"), wanted]);
  };
  await page.evaluate(() => (window.same_ = true));
  await shown("Europe/Berlin");
  await hand.press(choice(page).getByRole("button", { name: "UTC" }));
  await shown("UTC");
  await hand.press(choice(page).getByRole("button", { name: "Schedule: Asia/Dhaka" }));
  await shown("Asia/Dhaka");
  assert.match(await next.innerText(), /02:30:00$/);
  assert.equal(await page.evaluate(() => window.same_), true);
  await page.goto("/jobs/nightly/backfill");
  assert.equal(await page.locator("[data-zone-name]").first().innerText(), "Asia/Dhaka", "the choice goes along");
  await page.goto("/timeline");
  await page.locator("[data-zone-name]", { hasText: "Europe/Berlin" }).first().waitFor(); // it is about no schedule
  await hand.press(choice(page).getByRole("button", { name: "UTC" }));
  await page.locator("#timeline-span", { hasText: /UTC$/ }).waitFor();
  await hand.press(choice(page).getByRole("button", { name: "Europe/Berlin" }));
});

test("the first page of all shows the browser's own times, where the server has drawn them too", async () => {
  const page = await it.open("/timeline?from=2026-01-10T10:00:00Z&until=2026-01-10T16:00:00Z");
  await page.getByRole("heading", { name: "10 Jan 11:00 to 17:00" }).waitFor();
});

both("what was typed stays the same instant in another zone", async (hand) => {
  const page = await it.open("/jobs/nightly/backfill");
  await page.waitForLoadState();
  const from = page.locator('input[type="datetime-local"]').first();
  await from.fill("2026-11-20T12:00");
  await hand.press(choice(page).getByRole("button", { name: "UTC" }));
  await page.waitForFunction(() => document.querySelector('input[type="datetime-local"]').value.startsWith("2026-11-20T11:00"));
});

test("a profile's zone goes before that of the browser", async () => {
  const page = await it.open("/settings");
  await page.getByLabel("Time zone", { exact: true }).fill("Asia/Tokyo");
  await page.getByRole("button", { name: "Save" }).click();
  await choice(page).getByRole("button", { name: "Asia/Tokyo" }).waitFor();
  await page.goto("/jobs/nightly/backfill");
  assert.equal(await page.locator("[data-zone-name]").first().innerText(), "Asia/Tokyo");
  await page.goto("/settings");
  await page.getByLabel("Time zone", { exact: true }).fill("Atlantis/Harbour");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Atlantis/Harbour").first().waitFor();
  await page.getByLabel("Time zone", { exact: true }).fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await choice(page).getByRole("button", { name: "Europe/Berlin" }).waitFor();
});
