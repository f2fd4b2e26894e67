// apt with a state of its own, so neither this system's packages nor its architecture matter and nothing of it is touched.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface PrivateApt {
  /** What an empty system would get for these, by name. */
  closure(names: readonly string[]): string[];
  /** Names of every package whose description matches. */
  named(description: RegExp): string[];
  /** Leaves the `.deb` files in the folder. */
  download(names: readonly string[], folder: string): void;
}

/** `arch` is Debian's name of it. The state is gone when `work` has ended. */
export function withPrivateApt<T>(arch: string, work: (apt: PrivateApt) => T): T {
  const state = mkdtempSync(join(tmpdir(), "skiff-apt-"));
  try {
    mkdirSync(join(state, "lists/partial"), { recursive: true });
    mkdirSync(join(state, "cache/archives/partial"), { recursive: true });
    writeFileSync(join(state, "status"), "");
    const options = Object.entries({
      "APT::Architecture": arch,
      "APT::Architectures": arch,
      "Dir::State": state,
      "Dir::State::status": join(state, "status"),
      "Dir::Cache": join(state, "cache"),
      "APT::Sandbox::User": "root",
    }).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
    const apt = (program: string, ...args: string[]) =>
      execFileSync(program, [...options, ...args], { encoding: "utf8", cwd: state, maxBuffer: 128 << 20 });
    apt("apt-get", "update", "-qq");
    return work({
      closure(names) {
        const plan = apt("apt-get", "install", "--print-uris", "-qq", "-y", "--no-install-recommends", ...names);
        return [...plan.matchAll(/^'[^']+' ([^_\s]+)_/gm)].map((match) => match[1] ?? "");
      },
      named: (description) =>
        apt("apt-cache", "dumpavail")
          .split("\n\n")
          .filter((paragraph) => description.test(paragraph))
          .flatMap((paragraph) => /^Package: (.+)$/m.exec(paragraph)?.[1] ?? []),
      download(names, folder) {
        mkdirSync(folder, { recursive: true });
        execFileSync("apt-get", [...options, "download", "-qq", ...names], {
          cwd: folder,
          stdio: ["ignore", "ignore", "inherit"],
        });
      },
    });
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}
