// What lies in a release archive for one kind of machine: the bundle, the packages that have machine code, and Node itself.

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fetchDebianPackages } from "./debian-packages.ts";
import { fetchPackage } from "./fetch-package.ts";
import { readLockFile, runPackages } from "./lock-file.ts";
import { sbomOf } from "./sbom.ts";

export const arches = ["x64", "arm64"] as const;
export type Arch = (typeof arches)[number];

export interface ReleaseParts {
  /** The checkout, with its bundle and generated files made. */
  readonly project: string;
  readonly arch: Arch;
  /** Image archives to be imported where it is installed. */
  readonly images: readonly string[];
  /** Whether Debian's packages come along, for a box that has no runc and conmon yet and no network. */
  readonly packages: boolean;
  readonly cache: string;
  /** Made here, and filled. */
  readonly folder: string;
}

const copied = ["skiff", "install.sh", "LICENSE", "README.md", "docs", ".generated/openapi"];
/** Never in the archive: what nobody reads where it runs. */
const isLeftOut = (path: string) =>
  /\/koffi\/(vendor|doc)(\/|$)|\/koffi\/src\/.*\.(cc|hh|inc|S|asm|def)$|\/node_modules\/.*\.md$/.test(path);

export function fillRelease({ project, arch, images, packages, cache, folder }: ReleaseParts): void {
  const lock = readLockFile(join(project, "package-lock.json"));
  mkdirSync(folder, { recursive: true });
  const filter = (path: string) => !isLeftOut(path);
  for (const part of [...copied, ...piecesOf(project, "dist"), ...piecesOf(project, ".generated/ui")])
    cpSync(join(project, part), join(folder, part), { recursive: true, filter });
  const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as Record<string, unknown>;
  const { name, version, description, license } = manifest;
  writeJson(join(folder, "package.json"), { name, version, description, license, private: true, type: "module" });

  // Everything else is in the bundle: these find their machine code beside themselves.
  const beside = ["koffi", `@koromix/koffi-linux-${arch}`, "node-pty", `@lydell/node-pty-linux-${arch}`];
  for (const one of beside) takePackage(`node_modules/${one}`);
  const node = join(folder, ".node");
  takePackage(`node_modules/node-linux-${arch}`, node);
  mkdirSync(join(folder, "runtime"));
  cpSync(join(node, "bin/node"), join(folder, "runtime/node"));
  cpSync(join(node, "LICENSE"), join(folder, "runtime/LICENSE"));
  rmSync(node, { recursive: true });

  if (packages) fetchDebianPackages(arch, join(folder, "packages"));
  if (images.length > 0) mkdirSync(join(folder, "images"));
  for (const image of images) cpSync(image, join(folder, "images", basename(image)));
  const program = { name: String(name), version: String(version), license: String(license) };
  writeJson(join(folder, "sbom.cdx.json"), sbomOf(program, runPackages(lock, arch)));
  writeFileSync(join(folder, "SHA256SUMS"), sums(folder));

  function takePackage(path: string, target = join(folder, path)): void {
    const installed = join(project, path);
    if (!existsSync(installed)) return fetchPackage(lock, path, cache, target);
    cpSync(installed, target, { recursive: true, filter, dereference: true });
  }
}

/** What the stamp of a bundle or page names as its own; beside it lie pieces of before, which a program or page that is open may still load. */
function piecesOf(project: string, folder: string): string[] {
  const names = readFileSync(join(project, folder, "stamp"), "utf8")
    .trim()
    .split("\n");
  return names.map((name) => join(folder, name));
}

function writeJson(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** As `sha256sum -c` reads them, of every file below the folder. */
function sums(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
  return files.map((file) => `${sha256(join(folder, file))}  ${file}\n`).join("");
}

export function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
