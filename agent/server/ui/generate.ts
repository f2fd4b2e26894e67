// Builds the page into a folder at set-up: `node agent/server/ui/generate.ts <folder>`. The terminal is a piece of its own, loaded when opened.

import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const [folder = join(import.meta.dirname, "../../../.generated/ui")] = process.argv.slice(2);
const page = join(import.meta.dirname, "page");
mkdirSync(folder, { recursive: true });
const fresh = mkdtempSync(`${folder}-`);
await build({
  entryPoints: { app: join(page, "main.tsx"), terminal: "@xterm/xterm/css/xterm.css" },
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]",
  chunkNames: "[name]-[hash]",
  outdir: fresh,
  absWorkingDir: join(page, "../../../.."),
  logLevel: "error",
});
copyFileSync(join(page, "index.html"), join(fresh, "index.html"));
writeFileSync(join(fresh, "stamp"), "");
// File by file, the one that leads to the others last: whoever asks meanwhile gets a whole page.
const late = ["index.html", "stamp"];
const names = readdirSync(fresh).sort((a, b) => late.indexOf(a) - late.indexOf(b));
// A release takes the pieces that the stamp names, and none of before.
writeFileSync(join(fresh, "stamp"), `${names.join("\n")}\n`);
for (const name of names) renameSync(join(fresh, name), join(folder, name));
rmSync(fresh, { recursive: true });
// Pieces of before may still be asked for by a page that is open.
const keptMs = 60 * 60_000;
for (const name of readdirSync(folder)) {
  const made = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (!names.includes(name) && Date.now() - made > keptMs) rmSync(join(folder, name), { force: true });
}
