// The system's Chromium, and pages in it that tell of every error that a reader would not see.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export async function launch() {
  const executablePath = places.find((place) => place && existsSync(place));
  if (!executablePath) throw new Error("Chromium is missing: install the package chromium, or name it in $CHROMIUM");
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export const wide = { width: 1400, height: 900 };
export const phone = { width: 390, height: 844 };

/**
 * Opens a page of its own. Its `faults` gathers errors of scripts, refusals of the content security policy and
 * requests that another site would have had to answer; a test ends with assertCalm(page).
 */
export async function open(browser, url, { theme = "light", viewport = wide, ...options } = {}) {
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: theme,
    viewport,
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    reducedMotion: "reduce",
    ...options,
  });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(`script: ${error.stack}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.faults.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const to = new URL(request.url());
    if (/^https?:$/.test(to.protocol) && to.host !== new URL(url).host) page.faults.push(`another site: ${to.href}`);
  });
  return page;
}

export function assertCalm(page) {
  if (page.faults.length > 0) throw new Error(`the page had faults:\n${page.faults.join("\n")}`);
}
