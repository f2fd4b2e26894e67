// The assembled control plane over TLS on a loopback port and a folder of its own, for tests with real clients.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ControlOptions, type ControlPlane, openControl } from "../../control/assemble/control-plane.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { serve } from "../../plugins/kit/os/platform/http-server.ts";

export interface TestControl {
  readonly control: ControlPlane;
  /** To open it again after it was closed. */
  readonly options: ControlOptions;
  readonly dataDir: string;
  readonly url: string;
  readonly adminKubeconfig: string;
  close(): Promise<void>;
}

export async function startControl({
  keepData = false,
  controllers = true,
  ...changes
}: { keepData?: boolean; controllers?: boolean } & Partial<ControlOptions> = {}): Promise<TestControl> {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-control-"));
  const options: ControlOptions = {
    dataDir,
    clock: systemClock,
    log: noLog,
    serving: { dnsNames: [], ipAddresses: [] },
    clusterCidrs: ["10.142.0.0/16"],
    serviceCidr: "10.143.0.0/16",
    clusterDns: ["10.143.0.10"],
    clusterDomain: "cluster.local",
    advertise: { address: "127.0.0.1", port: 6443 },
    ...changes,
  };
  const control = await openControl(options, uninterrupted);
  const { cert, key } = control.pki.serving();
  const server = await serve({
    handler: control.handler,
    upgrade: (upgrade) => control.upgrade(upgrade),
    listen: { host: "127.0.0.1", port: 0 },
    tls: { cert, key, clientCa: control.pki.ca.cert },
  });
  const stop = new AbortController();
  const running = controllers ? control.run({ signal: stop.signal }) : Promise.resolve();
  const url = `https://127.0.0.1:${server.port}`;
  const adminKubeconfig = join(dataDir, "admin.kubeconfig");
  control.pki.writeAdminKubeconfig(adminKubeconfig, url);
  return {
    control,
    options,
    dataDir,
    url,
    adminKubeconfig,
    async close() {
      stop.abort();
      // Stopped on purpose: how its parts say so is of no interest here.
      await running.catch(() => {});
      await control.close();
      await server.close();
      if (!keepData) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Until the condition holds; the test's own time-out ends a wait that never does. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 25));
}
