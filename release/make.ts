// Makes the release archives: one for each kind of machine, their checksums beside them, and what they weigh and take to start.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Arch, arches, fillRelease, sha256 } from "./contents.ts";
import { readSigningKey, signFile } from "./sign.ts";

const project = join(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    arch: { type: "string", multiple: true, default: [...arches] },
    images: { type: "string", multiple: true, default: [] },
    packages: { type: "boolean", default: false },
    out: { type: "string", default: join(project, "dist/release") },
    sign: { type: "string" },
  },
});
const signingKey = values.sign === undefined ? undefined : readSigningKey(values.sign);
if (!signingKey) console.log("no --sign key.pem: the archives will not be signed");
const unknown = values.arch.find((arch) => !arches.includes(arch as Arch));
if (unknown) throw new Error(`--arch is one of ${arches.join(", ")}, not ${unknown}`);
const out = resolve(values.out);
const { version } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { version: string };

mkdirSync(out, { recursive: true });
const scratch = mkdtempSync(join(tmpdir(), "skiff-release-"));
try {
  for (const arch of values.arch as Arch[]) {
    const name = `skiff-${version}-linux-${arch}`;
    const folder = join(scratch, name);
    console.log(`${name}: collecting what goes in`);
    fillRelease({
      project,
      packages: values.packages,
      arch,
      images: values.images,
      cache: join(project, ".cache/release"),
      folder,
    });
    if (signingKey) signFile(join(folder, "SHA256SUMS"), signingKey);
    const archive = join(out, `${name}.tar.gz`);
    console.log(`${name}: packing ${megabytes(sizeOf(folder))}`);
    execFileSync("tar", ["-C", scratch, "--owner=0", "--group=0", "--sort=name", "-czf", archive, name]);
    console.log(`${archive}: ${megabytes(statSync(archive).size)}, ${megabytes(sizeOf(folder))} unpacked`);
    if (arch === process.arch) console.log(`  skiff --version from it: ${timeToVersion(folder).toFixed(2)} s`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
const archives = readdirSync(out).filter((file) => file.endsWith(".tar.gz"));
writeFileSync(
  join(out, "SHA256SUMS"),
  archives.map((file) => `${sha256(join(out, file))}  ${basename(file)}\n`).join(""),
);
// One of an earlier run would not fit.
rmSync(join(out, "SHA256SUMS.sig"), { force: true });
if (signingKey) signFile(join(out, "SHA256SUMS"), signingKey);

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.reduce((total, entry) => total + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** The second time, with what the first compiled. */
function timeToVersion(folder: string): number {
  execFileSync(join(folder, "skiff"), ["--version"]);
  const startedAt = performance.now();
  execFileSync(join(folder, "skiff"), ["--version"]);
  return (performance.now() - startedAt) / 1000;
}
