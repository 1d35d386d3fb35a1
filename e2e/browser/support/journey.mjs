// What a file of journeys needs: one server and one browser for its tests, and a way to press keys as a person does.
import assert from "node:assert/strict";
import { after, afterEach, before } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { Server, artifacts } from "./server.mjs";
import { assertCalm, launch, open } from "./browser.mjs";

/**
 * Prepares a server and a browser for the tests of a file. `args` are the server's flags; without "--auth" among
 * them nobody has to sign in. `prepare(server)` runs once the server is ready.
 */
export function site({ args = ["--auth", "off"], prepare } = {}) {
  const it = { server: new Server({ args }), pages: [] };
  before(async () => {
    await it.server.start();
    it.browser = await launch();
    await prepare?.(it.server);
  });
  afterEach(async (t) => {
    const pages = it.pages.splice(0);
    if (t.passed === false) for (const [i, page] of pages.entries()) await keep(page, `${t.name}-${i + 1}`);
    for (const page of pages) await page.context().close();
    for (const page of pages) assertCalm(page);
  });
  after(async () => {
    await it.browser?.close();
    await it.server.remove();
  });
  it.open = async (address, options) => {
    const page = await open(it.browser, it.server.url, options);
    it.pages.push(page);
    page.answered = (await page.goto(address))?.status();
    return page;
  };
  return it;
}

/** Lets axe look at the page as it is. No page has frames, so it runs within the page and needs no other: that is half of its time. */
export async function assertAccessible(page, what = "the page") {
  const { violations } = await new AxeBuilder({ page })
    .options({ resultTypes: ["violations"] })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
    .setLegacyMode(true)
    .analyze();
  assert.deepEqual(violations.map((v) => `${what}: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).join("\n")}`), []);
}

/** Keeps what a page showed when its test failed. */
async function keep(page, name) {
  const folder = path.join(artifacts, "failures");
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, name.replaceAll(/[^\w-]+/g, "-"));
  await page.screenshot({ path: `${file}.png`, fullPage: true }).catch(() => {});
  await writeFile(`${file}.html`, `<!-- ${page.url()} -->\n${await page.content().catch(String)}`);
}

/**
 * Presses Tab until the element that `locator` names has the focus, as a user without a mouse does, and fails if Tab
 * does not reach it.
 */
export async function tabTo(page, locator, limit = 150) {
  for (let i = 0; i < limit; i++) {
    if (await locator.evaluate((element) => element === element.getRootNode().activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`no way by Tab to ${locator}`);
}
