// `skiff install`: hands over to install.sh beside the program, which does the same from a checkout before anything can run.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { projectFolder } from "../../plugins/kit/os/platform/project.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";

/** Gives the exit code. */
export function installCommand(mode: string | undefined, settings: Settings): number {
  const given = (settings.set as readonly string[] | undefined) ?? [];
  const args = [
    ...(mode ? [mode] : []),
    ...given.map((setting) => `--set=${setting}`),
    ...(settings["dry-run"] === true ? ["--dry-run"] : []),
    ...(settings.start === false ? ["--no-start"] : []),
    ...(settings.force === true ? ["--force"] : []),
  ];
  return spawnSync("sh", [join(projectFolder, "install.sh"), ...args], { stdio: "inherit" }).status ?? 1;
}
