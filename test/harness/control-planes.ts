// Whole control planes in this process that share one etcd, each with a data folder of its own.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ControlPlane, openControl } from "../../control/assemble/control-plane.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { controlSettings } from "./control-settings.ts";
import { admin, type Json } from "./api-server.ts";
import { type Owner, startEtcd } from "./etcd.ts";

interface OpenedControl {
  readonly control: ControlPlane;
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>;
  stop(): Promise<void>;
}

export interface ControlPlanes {
  /** Opens and runs one; the number is its folder, and the port that it is known by. */
  open(number: number): Promise<OpenedControl>;
  /** The folder of its keys. */
  pki(number: number): string;
  /** Servers of one cluster have the same keys. */
  copyKeys(from: number, to: number): void;
}

export async function controlPlanes(t: Owner): Promise<ControlPlanes> {
  const [member] = await startEtcd(t);
  const folder = mkdtempSync(join(tmpdir(), "skiff-control-planes-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = (number: number) => join(folder, String(number));
  const pki = (number: number) => join(dataDir(number), "pki");
  return {
    pki,
    copyKeys(from, to) {
      mkdirSync(dataDir(to), { recursive: true });
      rmSync(pki(to), { recursive: true, force: true });
      cpSync(pki(from), pki(to), { recursive: true });
    },
    async open(number) {
      const control = await openControl(
        {
          dataDir: dataDir(number),
          ...controlSettings,
          advertise: { address: "192.0.2.1", port: number },
          store: `etcd=${member?.url ?? ""}`,
        },
        uninterrupted,
      );
      const abort = new AbortController();
      const running = control.run({ signal: abort.signal });
      let stopping: Promise<void> | undefined;
      const stop = () => {
        abort.abort();
        stopping ??= running.then(() => control.close());
        return stopping;
      };
      t.teardown(stop);
      return { control, stop, ask: (method, path, body) => ask(control, method, path, body) };
    },
  };
}

async function ask(control: ControlPlane, method: string, path: string, body: unknown) {
  const init = body ? { body: JSON.stringify(body), headers: { "content-type": "application/json" } } : {};
  const answer = await control.fetchAs(admin)(new Request(`http://api${path}`, { method, ...init }));
  return { status: answer.status, body: (await answer.json()) as Json };
}
