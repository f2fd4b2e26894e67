// The real kubectl against a control plane that a test started, with a home of its own.

import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestControl } from "./control.ts";

const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;

/** Options of a test that needs it. */
export const withKubectl = { skip: !hasKubectl && "no kubectl here" };

export interface Kubectl {
  /** What it printed, errors included; the first argument may be the path of another kubeconfig. */
  (...args: string[]): Promise<string>;
  /** Creates the object from a file, without asking for its schema first. */
  create(object: object): Promise<string>;
}

const run = promisify(execFile);

export function kubectlFor({ adminKubeconfig, dataDir }: Pick<TestControl, "adminKubeconfig" | "dataDir">): Kubectl {
  const env = { ...process.env, HOME: join(dataDir, "home") };
  const kubectl = async (...args: string[]): Promise<string> => {
    const config = args[0]?.startsWith("/") ? (args.shift() ?? "") : adminKubeconfig;
    try {
      const { stdout } = await run("kubectl", ["--kubeconfig", config, ...args], { encoding: "utf8", env });
      return stdout.trim();
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string };
      return `${stdout ?? ""}${stderr ?? ""}`.trim();
    }
  };
  let files = 0;
  const create = (object: object) => {
    const file = join(dataDir, `object-${files++}.json`);
    writeFileSync(file, JSON.stringify(object));
    return kubectl("create", "-f", file, "--validate=false");
  };
  return Object.assign(kubectl, { create });
}
