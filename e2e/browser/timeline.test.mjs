// What ran and what is to come, by jobs and DAGs; and where more is planned at once than there are slots for.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { phone } from "./support/browser.mjs";
import { both } from "./support/hands.mjs";
import { assertAccessible, site, tabTo } from "./support/journey.mjs";
import { until } from "./support/server.mjs";

const night = 40; // jobs that all fire at two
const runs = {};

const it = site({
  prepare: async (server) => {
    await server.push("step", `#!/bin/sh
case $1 in
  fail) echo "no such table" >&2; exit 3 ;;
  wait) while [ ! -e ${server.folder}/harbour ]; do sleep 0.1; done ;;
esac
`);
    const job = (name, more) => `---\nkind: Job\nname: ${name}\nbinary: step@stable\n${more}\n`;
    await server.apply(
      job("gauge", 'schedule: "*/5 * * * *"\nlabels: {team: harbour}') +
        job("broken", "args: [fail]\nretry: {max_attempts: 1}\nlabels: {team: harbour}") +
        job("long", "args: [wait]\ntier: medium") +
        `---\nkind: DAG\nname: etl\ndefaults: {binary: step@stable}\ntasks:\n  load: {}\n  report: {needs: [load]}\n` +
        Array.from({ length: night }, (_, i) => job(`night-${i + 1}`, `schedule: "0 2 * * *"\ntimezone: Europe/Berlin\nlabels: {night: "yes"}`)).join(""),
    );
    const [gauge, broken, long] = await Promise.all(["gauge", "broken", "long"].map((name) => server.run(name)));
    runs.gauge = await server.reaches(gauge, "succeeded");
    runs.broken = await server.reaches(broken);
    runs.long = await server.reaches(long, "running");
    runs.wave = await server.wave("etl");
  },
});

const timeline = (page) => page.locator("#timeline");
const lane = (page, name) => page.locator(".lane", { has: page.locator(".lane-name", { hasText: name }) });
const bar = (page, words) => timeline(page).getByRole("link", { name: words });
const length = (page) => timeline(page).evaluate((part) => Date.parse(part.dataset.until) - Date.parse(part.dataset.from));
const from = (page) => timeline(page).evaluate((part) => Date.parse(part.dataset.from));
const minute = 60_000;

both("runs of all jobs and DAGs stand in lanes, and a bar leads to its run or wave", async (hand) => {
  for (const [words, address] of [[/^broken: failed; manual,/, () => `/runs/${runs.broken}`], [/^etl, wave 1: succeeded/, () => `/waves/${runs.wave}`]]) {
    const page = await it.open("/timeline?span=1h");
    await bar(page, /^gauge: succeeded; manual, .*took/).waitFor();
    await bar(page, /^long: running; .*running for/).waitFor();
    assert.ok((await lane(page, "gauge").locator("rect.planned").count()) > 0, "what is to come is drawn");
    if (hand.name === "with the mouse") {
      await bar(page, words).click();
    } else {
      await tabTo(page, page.locator("[data-lanes]"));
      await page.keyboard.press("ArrowDown");
      const held = page.locator(".lane-bars a:focus");
      for (let i = 0; i < 5 && (await bar(page, words).and(held).count()) === 0; i++) await page.keyboard.press(i < 3 ? "ArrowUp" : "ArrowDown");
      for (let i = 0; i < 5 && (await bar(page, words).and(held).count()) === 0; i++) await page.keyboard.press("ArrowDown");
      await page.locator(".lane-tip strong").filter({ hasText: /broken|etl/ }).waitFor();
      await page.keyboard.press("Enter");
    }
    await page.waitForURL(`**${address()}`);
  }
});

both("the window of the timeline is zoomed, moved and brought back to now", async (hand) => {
  const page = await it.open("/timeline?span=1h");
  await bar(page, /^gauge: succeeded/).first().waitFor();
  const mouse = hand.name === "with the mouse";
  const step = async (link, key, holds, what) => {
    const before = await from(page);
    if (mouse) await timeline(page).getByRole("link", { name: link, exact: true }).click();
    else {
      await tabTo(page, page.locator("[data-lanes]"));
      await page.keyboard.press(key);
    }
    await until(() => holds(before), what);
  };
  await step("Zoom out", "-", async () => (await length(page)) === 120 * minute, "a window of two hours");
  await step("Zoom in", "+", async () => (await length(page)) === 60 * minute, "a window of one hour");
  await step("Earlier", "Shift+ArrowLeft", async (before) => (await from(page)) < before, "an earlier window");
  assert.match(page.url(), /from=/);
  await page.reload();
  await timeline(page).getByRole("link", { name: "1 h", exact: true }).and(page.locator("[aria-current]")).waitFor();
  await step("Now", "0", async () => page.url().includes("span="), "a window that goes with the time");
  assert.equal(await length(page), 60 * minute);
  await bar(page, /^gauge: succeeded/).first().waitFor();
  await hand.press(timeline(page).getByRole("link", { name: "7 d", exact: true }));
  await until(async () => (await length(page)) === 7 * 24 * 60 * minute, "seven days");
  await bar(page, /^gauge: /).first().waitFor();
});

test("the window follows the hand: it is dragged, and the wheel zooms it a little", async () => {
  const page = await it.open("/timeline?span=1h");
  await bar(page, /^gauge: succeeded/).first().waitFor();
  const box = await lane(page, "gauge").locator(".lane-bars").boundingBox();
  const first = await from(page);
  await page.mouse.move(box.x + 200, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 200 + box.width / 4, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  await until(async () => Math.abs(first - (await from(page)) - 15 * minute) < minute, "the window a quarter of an hour earlier");
  assert.equal(new URL(page.url()).pathname, "/timeline", "what was dragged is not clicked");
  const long = await length(page);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, 100);
  await page.keyboard.up("Control");
  await until(async () => (await length(page)) > long, "a longer window");
  assert.ok((await length(page)) < long * 1.5, "one notch does not zoom far");
});

both("the timeline is narrowed by name, label, tier and status, and keeps its window", async (hand) => {
  const page = await it.open("/timeline?span=24h");
  const names = async (...wanted) => {
    const shown = () => page.locator(".lane .lane-name").evaluateAll((all) => all.slice(1).map((one) => one.textContent.trim()));
    await page.waitForLoadState();
    await until(async () => (await shown().catch(() => [])).join() === wanted.join(), `the lanes ${wanted.join()}`);
    assert.equal(await length(page), 24 * 60 * minute);
  };
  const field = (name) => page.getByRole("search").getByLabel(name);
  const show = () => hand.press(page.getByRole("button", { name: "Show", exact: true }));
  await hand.type(field("Label"), "team=harbour");
  await show();
  await names("broken", "gauge");
  await hand.press(page.getByText("Status", { exact: true }).first());
  if (hand.name === "with the mouse") await field("failed").check();
  else {
    await tabTo(page, field("failed"));
    await page.keyboard.press("Space");
  }
  await show();
  await names("broken");
  await hand.press(page.getByRole("link", { name: "Show all" }));
  await hand.type(field("Name"), "lon");
  await show();
  await names("long");
  await hand.type(field("Name"), "");
  await hand.type(field("Label"), "=harbour");
  await show();
  await page.getByText(/The label was ignored: .*write key or key=value/).waitFor();
});

test("a run that ends is seen to end on the timeline", async () => {
  const page = await it.open("/timeline?span=1h&q=long");
  await bar(page, /^long: running/).waitFor();
  await writeFile(path.join(it.server.folder, "harbour"), "");
  await bar(page, /^long: succeeded/).waitFor();
});

both("a collision is spread by H once old and new times have been seen", async (hand) => {
  const page = await it.open("/timeline/collisions");
  const heading = page.getByRole("heading", { name: /^\d+ medium runs at \w+ \d+ \w+ 02:00/ });
  await page.setViewportSize(phone);
  await assertAccessible(page, "collisions on a phone");
  await page.setViewportSize({ width: 1400, height: 900 });
  const planned = Number(/^\d+/.exec(await heading.first().innerText())[0]);
  assert.ok(planned >= night / 2, `${planned} runs are said to collide`);
  const first = hand.name === "with the mouse"; // the second reader spreads what the first left
  const name = first ? "night-9" : "night-1";
  for (const box of (await page.getByRole("checkbox", { name: /^Spread night-/ }).all()).slice(0, first ? night / 2 : 0)) await box.uncheck();
  await hand.press(page.getByRole("button", { name: "Spread by H…" }).first());
  const row = page.getByRole("row", { name: new RegExp(`^${name} `) });
  await row.getByText("H 2 * * *").waitFor();
  const schedule = async () => [(await it.server.api(`jobs/${name}`)).spec.schedule].flat().join();
  assert.equal(await schedule(), "0 2 * * *", "nothing is saved yet");
  await assertAccessible(page, "what would become of the schedules");
  await hand.press(page.getByRole("button", { name: /^Save \d+ schedules/ }));
  await page.getByRole("status").getByText(/^(\d+) of \1 schedules saved/).waitFor();
  assert.equal(await schedule(), "H 2 * * *");
  await hand.press(page.getByRole("link", { name: "Back to the collisions" }));
  await page.getByRole("heading", { name: "Collisions", level: 1 }).waitFor();
  if (first) assert.ok((await heading.count()) > 0, "the other half still collides");
  else await page.getByText("No collisions.").waitFor();
});

test("the timeline of many jobs fits a phone in the dark, and axe finds nothing in it", async () => {
  const page = await it.open("/timeline?span=24h&label=night", { viewport: phone, theme: "dark" });
  await lane(page, "night-40").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
  await assertAccessible(page, "the timeline on a phone");
});
