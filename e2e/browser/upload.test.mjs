// Programs are uploaded: dropped on the page, several at once, by keyboard, and one that breaks off.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { site, tabTo } from "./support/journey.mjs";
import { chooseFile } from "./support/hands.mjs";

const it = site();

/** Drops files on the page as a mouse does. files: name to text. */
async function drop(page, files) {
  const transfer = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(files)) transfer.items.add(new File([text], name));
    return transfer;
  }, files);
  await page.dispatchEvent("main", "dragover", { dataTransfer: transfer });
  await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
}

const versions = async (name) => (await (await fetch(`${it.server.url}/api/v1/binaries/${name}`)).json()).versions?.length ?? 0;

test("several programs are dropped on the page, named, and uploaded one after the other", async () => {
  const page = await it.open("/binaries/upload");
  await drop(page, { "Tide Report.sh": "#!/bin/sh\necho report\n", "empty.sh": "", "notes.txt": "no program\n" });
  const files = page.getByRole("list", { name: "Files" }).getByRole("listitem");
  await files.nth(2).waitFor();
  assert.equal(await files.nth(0).getByLabel("Name of the program").inputValue(), "tide-report");
  await files.nth(0).getByText("script for sh").waitFor();
  await files.nth(1).getByText("The file is empty").waitFor();
  await files.nth(2).getByText("has to name an interpreter").waitFor();
  await files.nth(2).getByRole("button", { name: "Remove" }).click();
  assert.equal(await files.count(), 2);
  await page.getByRole("button", { name: "Upload 2 files" }).click();
  await files.nth(0).getByText("Uploaded.").waitFor();
  await files.nth(1).getByText("The file is empty").waitFor();
  assert.equal(await versions("tide-report"), 1);
  assert.equal(await versions("empty"), 0);
});

test("a program for another processor is told before it is sent, and refused by the server", async () => {
  const page = await it.open("/binaries/upload");
  const head = Buffer.alloc(4096);
  head.write("\x7fELF", "latin1");
  head.set([2, 1, 1], 4); // 64 bits, little endian
  head.set([2, 0, 0xb7, 0, 1], 16); // an executable for arm64
  await page.getByLabel("File", { exact: true }).setInputFiles({ name: "foreign", mimeType: "application/octet-stream", buffer: head });
  await page.getByText("ELF program for arm64").waitFor();
  await page.getByText("Built for linux/arm64; this server runs on").waitFor();
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.getByRole("listitem").getByText(/arm64|cut off|damaged/).first().waitFor();
  assert.equal(await versions("foreign"), 0);
});

test("an upload that is cancelled on its way leaves nothing behind", async () => {
  const page = await it.open("/binaries/upload");
  const network = await page.context().newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 256 * 1024 });
  const file = path.join(it.server.folder, "large.sh");
  await writeFile(file, Buffer.concat([Buffer.from("#!/bin/sh\n"), randomBytes(8 << 20)]));
  await page.getByLabel("File", { exact: true }).setInputFiles(file);
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.getByText(/of 8\.0 MiB, .*\/s/).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Cancelled. Nothing was kept.").waitFor();
  assert.equal(await versions("large"), 0);
});

test("a version is uploaded by keyboard alone", async () => {
  const file = path.join(it.server.folder, "keys.sh");
  await writeFile(file, "#!/bin/sh\necho keys\n");
  const page = await it.open("/binaries");
  await tabTo(page, page.getByRole("link", { name: /upload a program/i }).first());
  await page.keyboard.press("Enter");
  const input = page.getByLabel("File", { exact: true });
  await input.waitFor();
  await chooseFile(input, file);
  const name = page.getByLabel("Name of the program");
  await tabTo(page, name);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("by-keys");
  await tabTo(page, page.getByRole("button", { name: "Upload", exact: true }));
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "by-keys", level: 1 }).waitFor();
  assert.equal(await versions("by-keys"), 1);
});
