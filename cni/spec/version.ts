// The versions of the CNI specification that we speak, and which verbs each has.

import { CniFault, cniCode } from "./error.ts";

export const supportedVersions = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const;
export type CniVersion = (typeof supportedVersions)[number];
export const newestVersion: CniVersion = "1.1.0";

export type Verb = "ADD" | "CHECK" | "DEL" | "GC" | "STATUS" | "VERSION";

const since: Partial<Record<Verb, CniVersion>> = { CHECK: "0.4.0", GC: "1.1.0", STATUS: "1.1.0" };

export function parseVersion(text: unknown): CniVersion {
  const found = supportedVersions.find((version) => version === text);
  if (found) return found;
  throw new CniFault(
    cniCode.incompatibleVersion,
    `CNI version ${JSON.stringify(text)} is not supported: it must be one of ${supportedVersions.join(", ")}`,
  );
}

export function isAtLeast(version: CniVersion, least: CniVersion): boolean {
  return supportedVersions.indexOf(version) >= supportedVersions.indexOf(least);
}

/** Whether the verb exists in that version of the specification. */
export function hasVerb(version: CniVersion, verb: Verb): boolean {
  return isAtLeast(version, since[verb] ?? "0.3.0");
}
