// Takes the pictures for README.md and docs/pages.md into docs/images: `make screenshots`, of which SHOTS="dag wave" takes
// some. They show the examples of
// --demo, and a job that fails. Where pngquant is installed the pictures are made smaller by a palette.
import { mkdir, stat } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { Server, root, until } from "./support/server.mjs";
import { launch, open } from "./support/browser.mjs";

const folder = path.join(root, "docs", "images");
const largest = 200 * 1024; // bytes
const width = 1280;

const pumps = (answer) => `#!/bin/sh
echo "lock 1: closed"
for pump in 1 2 3 4 5 6; do echo "pump $pump: $((pump * 211)) litres a second"; done
${answer}
`;
const well = pumps('echo "chamber is level after 402 s"');
const ill = pumps('echo "error: pump 7 does not answer; the chamber is 38 cm too low" >&2\nexit 4');

const job = (args) => `
kind: Job
name: lock-pumps
description: Levels the chamber of the sea lock before each tide.
binary: lock-pumps@stable
args: [${args}]
schedule: "15 */3 * * *"
timezone: Europe/Amsterdam
labels: {team: locks}
`;

/** Puts onto the server what the pictures show; gives the ids of a good and of a failed run, and of a wave. */
async function fill(server) {
  await server.push("lock-pumps", well);
  await server.apply(job("--chamber, sea"));
  const good = await server.reaches(await server.run("lock-pumps"), "succeeded");
  for (let i = 0; i < 24; i++) await server.reaches(await server.run("harbour-log"));
  await server.run("slow-tide");
  for (let i = 0; i < 4; i++) await server.wave("tide-station");
  const waves = (await server.api("waves?dag=tide-station")).items;
  await server.push("lock-pumps", ill);
  await server.apply(job("--chamber, sea, --fast"));
  return { good, bad: await server.reaches(await server.run("lock-pumps")), wave: waves[0].id };
}

const shots = {
  overview: { at: () => "/", ready: (page) => page.getByText("exit 4").first() },
  job: { at: () => "/jobs/harbour-log", ready: (page) => page.getByRole("heading", { name: "Performance" }), height: 1180 },
  "job-new": { at: () => "/jobs/new?from=lock-pumps", ready: (page) => page.locator("[data-jobform-editor]") },
  run: {
    at: (runs) => `/runs/${runs.bad}`,
    ready: (page) => page.locator(".row.marked"),
    act: (page) => page.getByRole("link", { name: "First error" }).click(),
    theme: "dark",
    height: 1060,
  },
  "run-diff": { at: (runs) => `/runs/diff?a=${runs.good}&b=${runs.bad}`, ready: (page) => page.getByText("pump 7").first(), height: 1120 },
  dag: { at: () => "/dags/tide-station", ready: (page) => page.locator(".graph-task").first(), height: 1120 },
  wave: {
    at: (runs) => `/waves/${runs.wave}`,
    act: (page) => page.getByRole("link", { name: /^surge,/ }).first().click(),
    ready: (page) => page.locator(".task-panel .row").first(),
    theme: "dark",
  },
  grid: { at: () => "/dags/tide-station/grid", ready: (page) => page.getByRole("table").first() },
  timeline: { at: () => "/timeline?span=10m", ready: (page) => page.getByRole("link", { name: /^tide-station/ }).last(), age: 7 * 60_000 },
  palette: {
    at: () => "/jobs",
    ready: (page) => page.getByRole("option", { name: "Run lock-pumps now" }),
    act: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: "Go to Runs" }).waitFor();
      await page.keyboard.type("run lock");
      await page.getByRole("option", { name: "lock-pumps", exact: false }).nth(2).waitFor();
    },
    theme: "dark",
  },
};

const wanted = process.env.SHOTS?.split(" ") ?? Object.keys(shots);

const server = new Server({ args: ["--auth", "off", "--demo"] });
const browser = await launch();
try {
  await server.start();
  const begun = Date.now();
  await until(async () => (await server.api("jobs")).items.some((job) => job.name === "slow-tide"), "the examples");
  await until(async () => (await server.api("binaries")).items.some((binary) => binary.name === "harbour-log"), "their programs");
  const runs = await fill(server);
  await mkdir(folder, { recursive: true });
  for (const [name, { at, act, ready, theme = "light", height = 840, age = 0 }] of Object.entries(shots).filter(([name]) => wanted.includes(name))) {
    await new Promise((resolve) => setTimeout(resolve, begun + age - Date.now())); // so that there is a past to be seen
    const page = await open(browser, server.url, { theme, viewport: { width, height } });
    await page.goto(at(runs));
    await page.waitForLoadState();
    await act?.(page);
    await ready(page).waitFor();
    const file = path.join(folder, `${name}.png`);
    await page.screenshot({ path: file });
    spawnSync("pngquant", ["--force", "--ext", ".png", "--speed", "1", "128", file]); // not there: it stays as it is
    const { size } = await stat(file);
    console.log(`${name}.png ${Math.ceil(size / 1024)} KiB`);
    if (size > largest) throw new Error(`${file} is larger than ${largest} bytes: install pngquant, or show less`);
    await page.context().close();
  }
} finally {
  await browser.close();
  await server.remove();
}
