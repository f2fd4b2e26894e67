// Certificates of daemons against an assembled control plane; the server that knows no such thing is a stand-in.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { FakeClock, systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { startControl } from "../../test/harness/control.ts";
import { joinNode } from "../../test/harness/node-certificates.ts";
import { until } from "../../test/harness/until.ts";
import { NodeCredentials } from "./credentials.ts";
import { type DaemonIdentity, daemonIdentities } from "./daemon-identity.ts";

const test = await startControl();
t.teardown(test.close);
const call = { signal: AbortSignal.timeout(120_000) };

function folder(t: { teardown(then: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-daemon-identity-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function running(t: { teardown(then: () => Promise<void>): void }, identities: ReturnType<typeof daemonIdentities>) {
  const stop = new AbortController();
  const done = identities.run({ signal: stop.signal });
  const end = async () => {
    stop.abort();
    await done;
    identities.close();
  };
  t.teardown(end);
  return end;
}

t.test("a node gets the certificates of its daemons, keeps them, and renews them", async (t) => {
  const { fetch: nodeFetch } = await joinNode(t, test, "pi");
  const dir = folder(t);
  const clock = new FakeClock(Date.now());
  const open = (own = nodeFetch) => {
    const credentials = new NodeCredentials(dir, clock);
    const identity = { nodeName: "pi", servers: [test.url], ca: test.control.pki.ca.cert, nodeFetch: own };
    return daemonIdentities({ ...identity, credentials, clock, log: noLog });
  };
  const list = (identities: ReturnType<typeof daemonIdentities>, daemon: "service-proxy" | "network-policy") => {
    const client = new ApiClient({ fetch: identities.fetches[daemon], server: test.url, clock: systemClock });
    return Promise.all([
      client.list(resources.services, {}, call).then(
        () => "services",
        () => "",
      ),
      client.list(resources.pods, {}, call).then(
        () => "pods",
        () => "",
      ),
    ]);
  };
  const first = open();
  const end = running(t, first);
  t.same(await list(first, "service-proxy"), ["services", ""]);
  t.same(await list(first, "network-policy"), ["", "pods"]);
  await end();

  const offline: typeof nodeFetch = () => Promise.reject(new Error("the node's own identity is not needed"));
  const second = open(offline);
  t.same(await list(second, "network-policy"), ["", "pods"], "from disk, before anything runs");
  second.close();

  const kept = () => new NodeCredentials(dir, clock).pair("network-policy");
  const before = kept();
  const left = before ? new NodeCredentials(dir, clock).msLeft(before) : 0;
  await clock.advance(left * 0.9);
  running(t, open());
  await until("the next certificate", () => kept()?.cert !== before?.cert);
});

t.test("on a server that knows no such identities daemons ask as the node does", async (t) => {
  const asked: string[] = [];
  const nodeFetch = async (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    return Response.json(pathname === "/version" ? { gitVersion: "v1.37.0" } : { items: [] });
  };
  const credentials = new NodeCredentials(folder(t), systemClock);
  const identity = { nodeName: "pi", servers: ["https://stock.test"], ca: test.control.pki.ca.cert, nodeFetch };
  const identities = daemonIdentities({ ...identity, credentials, clock: systemClock, log: noLog });
  running(t, identities);
  const fetch: DaemonIdentity["fetch"] = identities.fetches["network-policy"];
  t.equal((await fetch(new Request("https://stock.test/api/v1/pods"))).status, 200);
  t.notOk(
    asked.some((path) => path.includes("certificatesigningrequests")),
    "no request that nobody would sign",
  );
});
