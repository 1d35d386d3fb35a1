// Two ways to act on a page, so that each journey is walked with the mouse and by keyboard alone.
import { test } from "node:test";
import { tabTo } from "./journey.mjs";

/** Acts as a user with a mouse. */
const mouse = {
  name: "with the mouse",
  press: (locator) => locator.click(),
  type: (locator, text) => locator.fill(text),
  choose: (locator, label) => locator.selectOption({ label }),
  pick: (locator) => locator.check(),
  file: (locator, file) => locator.setInputFiles(file),
};

/** Acts as a user without a mouse: moves by Tab, and acts by keys. */
const keys = {
  name: "by keyboard alone",
  async press(locator) {
    await locator.waitFor();
    await tabTo(locator.page(), locator);
    await locator.page().keyboard.press("Enter");
  },
  async type(locator, text) {
    await locator.waitFor();
    await tabTo(locator.page(), locator);
    await locator.page().keyboard.press("Control+a");
    await locator.page().keyboard.type(text);
  },
  async choose(locator, label) {
    await locator.waitFor();
    await tabTo(locator.page(), locator);
    await locator.page().keyboard.type(label);
  },
  /** Radios are one stop of Tab: the arrow keys go from one to the next, and choose. */
  async pick(locator) {
    await locator.waitFor();
    const { keyboard } = locator.page();
    const name = await locator.getAttribute("name");
    await tabTo(locator.page(), locator.page().locator(`input[name="${name}"]:checked`));
    for (let i = 0; i < 20 && !(await locator.isChecked()); i++) await keyboard.press("ArrowRight");
  },
  file: chooseFile,
};

/** Chooses a file by keyboard alone in the file input that `locator` names. */
export async function chooseFile(locator, file) {
  await locator.waitFor();
  const page = locator.page();
  // Chromium is told to hand over its dialogs when the first listener comes, without a word when it does: a key that
  // is faster opens a dialog that nobody sees. So the listener comes first, and a press without an answer is repeated.
  const chosen = new Promise((resolve) => page.once("filechooser", resolve));
  const patience = () => new Promise((resolve) => setTimeout(resolve, 5000).unref());
  for (let i = 0; i < 6; i++) {
    await tabTo(page, locator);
    await page.keyboard.press("Space");
    const chooser = await Promise.race([chosen, patience()]);
    if (chooser) return chooser.setFiles(file);
  }
  throw new Error(`no dialog to choose a file for ${locator}`);
}

/** Makes two tests of a journey: `walk(hand, t)` acts by `hand.press`, `type`, `choose`, `pick` and `file`. */
export function both(name, walk) {
  for (const hand of [mouse, keys]) test(`${name}, ${hand.name}`, (t) => walk(hand, t));
}
