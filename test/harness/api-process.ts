// An API server in a process of its own, with its own store and certificates: no controllers, no scheduler.
//   node test/harness/api-process.ts <data dir> [patience ms]      prints its kubeconfig's path when it serves
// The patience is for clients that do not finish their handshake or request.

import { join } from "node:path";
import { openControl } from "../../control/assemble/control-plane.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { openLog } from "../../plugins/kit/base/log.ts";
import { serve } from "../../plugins/kit/os/platform/http-server.ts";

const [, , dataDir, patience] = process.argv;
if (!dataDir) throw new Error("usage: api-process.ts <data dir>");
const control = await openControl(
  {
    dataDir,
    clock: systemClock,
    log: openLog({ level: "warn", human: true }),
    serving: { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] },
    clusterCidrs: ["10.42.0.0/16"],
    serviceCidr: "10.43.0.0/16",
    clusterDomain: "cluster.local",
    advertise: { address: "127.0.0.1", port: 6443 },
  },
  uninterrupted,
);
const running = await serve({
  handler: control.handler,
  listen: { host: "127.0.0.1", port: 0 },
  ...(patience ? { handshakeTimeoutMs: Number(patience), headersTimeoutMs: Number(patience) } : {}),
  tls: { ...control.pki.serving(), clientCa: control.pki.ca.cert },
});
const kubeconfig = join(dataDir, "admin.kubeconfig");
control.pki.writeAdminKubeconfig(kubeconfig, `https://127.0.0.1:${running.port}`);
process.stdout.write(`${kubeconfig}\n`);
process.once("SIGTERM", () => {
  void running
    .close()
    .then(() => control.close())
    .then(() => process.exit(0));
});
