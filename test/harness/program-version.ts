// Which version of a program is first on PATH, for what differs between them.

import { execFileSync } from "node:child_process";

export type Version = readonly [major: number, minor: number];

/** Such as [1, 6]. */
export function versionOf(program: string): Version {
  const [, major, minor] = / v?(\d+)\.(\d+)\./.exec(execFileSync(program, ["--version"], { encoding: "utf8" })) ?? [];
  return [Number(major), Number(minor)];
}

export function isAtLeast([major, minor]: Version, wanted: Version): boolean {
  return major > wanted[0] || (major === wanted[0] && minor >= wanted[1]);
}
