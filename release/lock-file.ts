// The lock file as the release reads it: which package, in which version, with which hash of its archive.

import { readFileSync } from "node:fs";

export interface LockedPackage {
  readonly name?: string;
  readonly version: string;
  /** `sha512-` and the archive's hash in base64. */
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export type LockFile = Readonly<Record<string, LockedPackage>>;

/** By path, such as `node_modules/ws`. */
export function readLockFile(path: string): LockFile {
  return (JSON.parse(readFileSync(path, "utf8")) as { packages: LockFile }).packages;
}

/** The name that a package was published under, which an alias hides. */
export function publishedName(path: string, { name }: LockedPackage): string {
  return name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** What the program stands on when it runs on such a machine. */
export function runPackages(lock: LockFile, arch: string): [path: string, LockedPackage][] {
  const fits = (given: string | readonly string[] | undefined, wanted: string) =>
    given === undefined || [given].flat().includes(wanted);
  return Object.entries(lock).filter(
    ([path, one]) =>
      path.startsWith("node_modules/") && !one.dev && !one.devOptional && fits(one.os, "linux") && fits(one.cpu, arch),
  );
}
