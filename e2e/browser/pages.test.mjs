// Every page, in both themes and at two widths: axe finds nothing, nothing overflows, a screenshot is kept. Every page
// is light, and can be read without scripts.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { artifacts } from "./support/server.mjs";
import { phone, wide } from "./support/browser.mjs";
import { assertAccessible, site } from "./support/journey.mjs";
import { fill } from "./support/fill.mjs";

/** What a first visit to a page may weigh as it is sent, in bytes. */
const weightLimit = 150 * 1024;
/** The pages on which jobs and DAGs are written fetch their editors on top. */
const editorLimit = 250 * 1024;

const it = site({ prepare: async (server) => Object.assign(places, await fill(server)) });
const places = {};

const dialog = (name) => async (page) => {
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("dialog").waitFor();
};

/** The pages by name: an address, which may depend on what there is, and what is done there before one looks. */
const pages = {
  overview: { at: () => "/" },
  jobs: { at: () => "/jobs" },
  "jobs-empty": { at: () => "/jobs?q=no-such-job" },
  job: { at: () => "/jobs/ticker" },
  "job-slots": { at: () => "/jobs/ticker/slots" },
  "job-definition": { at: () => "/jobs/ticker/definition?from=1&to=2" },
  "job-backfill": { at: () => "/jobs/nightly-report/backfill" },
  "job-run": { at: () => "/jobs/ticker/run" },
  "job-run-dialog": { at: () => "/jobs/ticker", act: dialog("Run with…") },
  "job-pause-dialog": { at: () => "/jobs/ticker", act: dialog("Pause") },
  "job-delete-dialog": { at: () => "/jobs/ticker", act: dialog("Delete") },
  "job-new": { at: () => "/jobs/new", act: (page) => page.locator("[data-jobform-editor]").waitFor(), limit: editorLimit },
  "dag-new": { at: () => "/dags/new", act: (page) => page.locator("form[data-ready]").waitFor(), limit: editorLimit },
  "job-edit": { at: () => "/jobs/ticker/edit", act: (page) => page.locator("[data-jobform-editor]").waitFor(), limit: editorLimit },
  "job-problems": {
    at: () => "/jobs/new",
    act: async (page) => {
      await page.getByLabel("Expression", { exact: true }).fill("99 * * * *");
      await page.getByRole("heading", { name: "1 problem" }).waitFor();
    },
    limit: editorLimit,
  },
  runs: { at: () => "/runs" },
  "runs-failed": { at: () => "/runs?status=failed" },
  "runs-none": { at: () => "/runs?job=nightly-report" },
  run: { at: () => `/runs/${places.good}` },
  "run-failed": { at: () => `/runs/${places.bad}` },
  "run-busy": { at: () => `/runs/${places.busy}` },
  "run-found": {
    at: () => `/runs/${places.bad}`,
    act: async (page) => {
      await page.getByRole("link", { name: "First error" }).click();
      await page.locator(".row.marked").waitFor();
    },
  },
  "run-cancel-dialog": {
    at: () => `/runs/${places.busy}`,
    act: async (page) => {
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  "run-compare": { at: () => `/runs/diff?b=${places.bad}` },
  outputs: { at: () => "/runs/search?job=breaker&q=gauge" },
  "outputs-none": { at: () => "/runs/search" },
  "run-diff": { at: () => `/runs/diff?a=${places.good}&b=${places.bad}` },
  notifications: { at: () => "/notifications" },
  "target-new": { at: () => "/notifications/targets/new" },
  "dead-letters": { at: () => "/dead-letters" },
  "dead-letters-empty": { at: () => "/dead-letters?job=no-such-job" },
  "dead-letters-replay": { at: () => "/dead-letters/replay" },
  "dead-letters-purge": { at: () => `/dead-letters/purge?run=${places.dead}` },
  dags: { at: () => "/dags" },
  dag: { at: () => "/dags/etl" },
  "dag-waves": { at: () => "/dags/etl/waves" },
  "dag-grid": { at: () => "/dags/etl/grid" },
  "dag-slots": { at: () => "/dags/etl/slots?root=rates" },
  "dag-definition": { at: () => "/dags/etl/definition" },
  "dag-backfill": { at: () => "/dags/etl/backfill" },
  "dag-run": { at: () => "/dags/etl/run" },
  "dag-edit": { at: () => "/dags/etl/edit", act: (page) => page.locator("form[data-ready]").waitFor(), limit: editorLimit },
  wave: { at: () => `/waves/${places.wave}` },
  "wave-task": { at: () => `/waves/${places.wave}/task?name=load` },
  "wave-clear": { at: () => `/waves/${places.wave}/clear?task=load` },
  "wave-mark": { at: () => `/waves/${places.wave}/mark?task=load` },
  timeline: { at: () => "/timeline" },
  collisions: { at: () => "/timeline/collisions" },
  binaries: { at: () => "/binaries" },
  binary: { at: () => "/binaries/ticker" },
  "binary-rollback": { at: () => "/binaries/ticker/alias?alias=stable" },
  "binary-version": { at: () => "/binaries/ticker/versions/2", act: (page) => page.locator("[data-source=shell]").waitFor() },
  "binary-diff": { at: () => "/binaries/ticker/diff?a=1&b=2" },
  upload: { at: () => "/binaries/upload" },
  executors: { at: () => "/executors" },
  search: { at: () => "/ui/search?q=ticker" },
  palette: {
    at: () => "/executors",
    act: async (page) => {
      await page.waitForLoadState();
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: "Go to Runs" }).waitFor();
      await page.keyboard.type("tick");
      await page.getByRole("option", { name: /ticker/ }).first().waitFor();
    },
  },
  scaling: { at: () => "/executors/scaling" },
  "settings-tokens": { at: () => "/settings/tokens" },
  "settings-retention": { at: () => "/settings/retention" },
  about: { at: () => "/settings/about" },
  settings: { at: () => "/settings" },
  users: { at: () => "/users" },
  user: { at: () => "/users/ada" },
  "user-delete-dialog": {
    at: () => "/users/ada",
    act: async (page) => {
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  namespaces: { at: () => "/namespaces" },
  secrets: { at: () => "/settings/secrets" },
  audit: { at: () => "/audit" },
  docs: { at: () => "/docs" },
  document: { at: () => "/docs/guarantees" },
  reference: { at: () => "/docs/api" },
  shortcuts: { at: () => "/ui/shortcuts" },
  kit: { at: () => "/ui/kit" },
  missing: { at: () => "/no-such-page", status: 404 },
};

/** Looks at a page as it is: keeps a picture, measures its width, and lets axe look if it is asked to. */
async function inspect(page, name, withAxe) {
  await page.screenshot({ path: path.join(artifacts, "screenshots", `${name}.png`), fullPage: true });
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(beyond <= 0, `${name}: the page is ${beyond} px wider than the window`);
  if (withAxe) await assertAccessible(page, name);
}

for (const [name, { at, act, status = 200, limit = weightLimit }] of Object.entries(pages)) {
  test(`${name} can be used in both themes and at two widths`, async () => {
    await mkdir(path.join(artifacts, "screenshots"), { recursive: true });
    const page = await it.open(at());
    assert.equal(page.answered, status);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await act?.(page);
    for (const [width, viewport] of Object.entries({ wide, phone })) {
      await page.setViewportSize(viewport);
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        // A narrow page in the dark has the layout of the light one and the colours of the wide one.
        await inspect(page, `${name}-${theme}-${width}`, theme === "light" || width === "wide");
      }
    }
  });

  if (act && limit === weightLimit) continue; // its page is among the others
  test(`${name} is light and can be read without scripts`, async () => {
    const page = await it.open("about:blank", {});
    let weight = 0;
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Network.enable");
    cdp.on("Network.loadingFinished", (event) => (weight += event.encodedDataLength));
    await page.goto(at());
    await page.waitForLoadState("load");
    await act?.(page);
    assert.ok(weight > 0 && weight < limit, `${weight} bytes were sent for the first visit`);
    if (limit === editorLimit) console.log(`${name}: ${weight} bytes were sent for the first visit`);

    const plain = await it.open(at(), { javaScriptEnabled: false });
    const words = (await plain.getByRole("main").innerText()).trim();
    assert.ok(words.length > 20, `without scripts the page says only: ${words}`);
  });
}
