// Runs the real kubectl against a server of our own, with a home folder of its own.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveApi, type TestApi } from "./api-server.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Kubectl {
  readonly api: TestApi & { url: string };
  /** Arguments as one text, split at spaces; `input` goes to stdin; `onOut` is told all it printed so far. */
  run(
    args: string | readonly string[],
    input?: string,
    env?: Record<string, string>,
    onOut?: (out: string) => void,
  ): Promise<Ran>;
  close(): Promise<void>;
}

/** The reason why kubectl cannot be tried here, or undefined. */
export function noKubectl(): string | undefined {
  const found = spawnSync("kubectl", ["version", "--client", "-o", "json"], { encoding: "utf8" });
  return found.status === 0 ? undefined : "kubectl is not installed";
}

/** Debian's kubectl 1.20, which the set-up for tests unpacks; undefined where it is not there. */
export function olderKubectl(): string | undefined {
  const path = join(import.meta.dirname, "../../.cache/kubernetes-client/usr/bin/kubectl");
  return existsSync(path) ? path : undefined;
}

export async function startKubectl(program = "kubectl"): Promise<Kubectl> {
  const api = await serveApi();
  for (const name of ["default", "kube-system"]) await api.ask("POST", "/api/v1/namespaces", { metadata: { name } });
  const home = mkdtempSync(join(tmpdir(), "skiff-kubectl-"));
  return {
    api,
    run: (args, input, env = {}, onOut = () => {}) =>
      new Promise((resolve, reject) => {
        const list = typeof args === "string" ? args.split(" ") : args;
        const child = spawn(program, [`--server=${api.url}`, ...list], {
          env: { ...process.env, HOME: home, KUBECONFIG: "", ...env },
          stdio: ["pipe", "pipe", "pipe"],
        });
        let out = "";
        let err = "";
        child.stdout.on("data", (chunk: Buffer) => {
          out += chunk.toString("utf8");
          onOut(out);
        });
        child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString("utf8")));
        child.once("error", reject);
        child.once("close", (code) => resolve({ code: code ?? -1, out, err }));
        child.stdin.end(input ?? "");
      }),
    async close() {
      await api.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
