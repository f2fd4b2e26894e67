// A whole node with its network, on a host that the test plays: pods find each other by Service and by name, and are found from outside.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openKernel } from "../../cni/net/kernel.ts";
import { parseAddress, parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { ask, noNetworkReason, playHost, testNetns } from "../harness/network.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const web = (replicas: number) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: main
          image: ${busyboxImageName}
          command: [sh, -c, "mkdir -p /tmp/www && hostname > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www"]
          readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  type: NodePort
  selector: { app: web }
  ports: [{ name: http, port: 80, targetPort: 8080, nodePort: 31080 }]
`;

const client = (name: string, command: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - { name: main, image: ${busyboxImageName}, command: [sh, -c, "( ${command} ) > /dev/termination-log 2>&1"] }
`;

t.setTimeout(600_000);

t.test("the network of a node", { skip: noNetworkReason(), timeout: 600_000 }, async (t) => {
  await playHost();
  const kernel = openKernel();
  const outside = testNetns(t);
  const wire = kernel.enter(outside);
  t.teardown(() => kernel.close());
  await kernel.host.createVeth({ name: "up0", peer: { name: "eth0", space: wire } });
  for (const [space, name, address] of [
    [kernel.host, "up0", "198.51.100.1/24"],
    [wire, "eth0", "198.51.100.2/24"],
  ] as const) {
    const link = await space.getLink(name);
    await space.setLink(link.index, { up: true });
    await space.addAddress(link.index, parsePrefix(address));
  }
  const up = await kernel.host.getLink("up0");
  await kernel.host.addRoute({ family: 4, link: up.index, gateway: parseAddress("198.51.100.2") });
  wire.close();

  const dataDir = mkdtempSync(join(tmpdir(), "skiff-net-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  t.teardown(async () => {
    await skiff.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const apply = async (manifest: string) => {
    const file = join(dataDir, "manifest.yaml");
    writeFileSync(file, manifest);
    await skiff.kubectl("apply", "-f", file);
  };
  const said = async (name: string, command: string) => {
    await apply(client(name, command));
    await until(
      `${name} to end`,
      async () => /Succeeded|Failed/.test(await skiff.kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}")),
      40_000,
    );
    return (
      await skiff.kubectl("get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].state.terminated.message}")
    ).trim();
  };

  await apply(web(2));
  await skiff.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
  const byName = await said(
    "by-name",
    "for i in $(seq 30); do wget -qO- http://web.default.svc.cluster.local; done; wget -qO- http://web; nslookup kubernetes.default.svc.cluster.local",
  );
  t.match(byName, /^web-/, byName);
  t.equal(new Set(byName.split("\n").filter((line) => line.startsWith("web-"))).size, 2, "both pods answered");
  t.match(await said("api", "nc kubernetes 443 </dev/null && echo open"), /open/, "the API server by its service");
  const page = async (from: string | undefined, address: string) =>
    (await ask(from, { address, port: 31080, text: "GET / HTTP/1.0\r\n\r\n" })).split("\n").at(-1);
  t.match(await page(outside, "198.51.100.1"), /^web-/, "node port from outside");
  t.match(await page(undefined, "127.0.0.1"), /^web-/, "node port by loopback");

  await skiff.kubectl("scale", "deployment/web", "--replicas=0");
  await until("nobody to answer", async () => (await page(outside, "198.51.100.1")) === "");
  await skiff.stop();
  const left = await kernel.nft.list("list tables", { signal: new AbortController().signal });
  t.same(left, [], "no table is left");
  t.same((await kernel.host.listLinks()).map((link) => link.name).sort(), ["lo", "up0"], "no link is left");
});
