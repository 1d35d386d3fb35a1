// Bundles what lies directly in src into dist, under names that carry a hash of the content, so that a browser may
// keep each file for ever:
//
//   src/app.js       → dist/app.<hash>.js        and, in dist/manifest.json, "app.js": "app.<hash>.js"
//   src/app.css      → dist/app.<hash>.css       "app.css": …
//   src/favicon.svg  → dist/favicon.<hash>.svg   "favicon.svg": …
//
// Beside each file that it makes smaller lies what brotli and gzip make of it, as "app.<hash>.js.br" and ".gz", at their best and
// once: the server sends these as they are. A .ts file gets the name of the .js that it becomes. Folders in src hold what the entry points import. The program
// embeds dist; nothing is loaded from another site. `--watch` rebuilds whenever a source changes.

import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const root = path.dirname(fileURLToPath(import.meta.url));
const source = path.join(root, "src");
const dist = path.join(root, "dist");

const entry = /\.(js|ts|css|svg|png|ico|woff2)$/;
const entryPoints = (await readdir(source, { withFileTypes: true }))
  .filter((file) => file.isFile() && entry.test(file.name))
  .map((file) => path.join(source, file.name))
  .sort();

const encodings = { ".br": promisify(zlib.brotliCompress), ".gz": (data) => promisify(zlib.gzip)(data, { level: 9 }) };

// compressed writes the encodings of a file that are smaller, and returns their names.
async function compressed({ path: file, contents }) {
  const names = [];
  for (const [suffix, encode] of Object.entries(encodings)) {
    const encoded = await encode(contents);
    if (encoded.length >= contents.length) continue;
    await writeFile(file + suffix, encoded);
    names.push(path.relative(dist, file + suffix));
  }
  return names;
}

// The manifest is written last and in one step, and what it no longer names goes after it. So whoever reads dist
// while it is built finds the files that the manifest names. dist/.gitkeep is committed, for embed wants a file.
const manifest = {
  name: "manifest",
  setup(build) {
    build.onEnd(async (result) => {
      if (result.errors.length > 0) return;
      const files = {};
      const kept = new Set([".gitkeep", "manifest.json"]);
      for (const file of result.outputFiles) {
        await writeFile(file.path, file.contents);
        for (const name of [path.relative(dist, file.path), ...(await compressed(file))]) kept.add(name);
      }
      for (const [output, { entryPoint }] of Object.entries(result.metafile.outputs)) {
        const name = path.relative(dist, path.join(root, output));
        if (entryPoint) files[path.basename(entryPoint, path.extname(entryPoint)) + path.extname(name)] = name;
      }
      const sorted = Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)));
      const temporary = path.join(dist, ".manifest.json");
      await writeFile(temporary, JSON.stringify(sorted, null, 2) + "\n");
      await rename(temporary, path.join(dist, "manifest.json"));
      for (const name of await readdir(dist)) {
        if (!kept.has(name)) await rm(path.join(dist, name), { recursive: true });
      }
    });
  },
};

const options = {
  absWorkingDir: root,
  entryPoints,
  outdir: dist,
  entryNames: "[name].[hash]",
  assetNames: "[name].[hash]",
  chunkNames: "[name].[hash]",
  bundle: true,
  format: "esm",
  splitting: true,
  minify: true,
  metafile: true,
  write: false,
  target: ["chrome123", "firefox121", "safari17.5"],
  loader: { ".svg": "copy", ".png": "copy", ".ico": "copy", ".woff2": "copy" },
  logLevel: "info",
  plugins: [manifest],
};

await mkdir(dist, { recursive: true });
if (process.argv.includes("--watch")) {
  const context = await esbuild.context(options);
  await context.watch();
} else {
  await esbuild.build(options);
}
