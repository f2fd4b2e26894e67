// The small programs of our own, as files that the kernel can start.

import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../../plugins/kit/base/fault.ts";

/** Where the program is, written there on first use; `purpose` is what cannot be done without it. */
export function installedProgram(root: string, name: string, make: () => Buffer | undefined, purpose: string): string {
  const path = join(root, "bin", name);
  if (existsSync(path)) return path;
  const program = make();
  if (!program) throw new Fault("unsupported", `Cannot ${purpose}: not known for ${process.arch} processors`);
  mkdirSync(join(root, "bin"), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.tmp`, program);
  chmodSync(`${path}.tmp`, 0o555);
  renameSync(`${path}.tmp`, path);
  return path;
}
