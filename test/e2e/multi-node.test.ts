// Three nodes on one machine, each in a network namespace of its own: two on one wire, the third behind a router. Pods of different
// nodes reach each other by address, by Service and by name; a node cut off is missed and found again, and one whose address
// changed is followed.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { openKernel, type Space } from "../../cni/net/kernel.ts";
import { parseAddress, parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { inNetns } from "../../plugins/kit/os/net/netns.ts";
import { writeNetSetting } from "../../plugins/kit/os/net/sysctl.ts";
import { busyboxImageName } from "../harness/images.ts";
import { NamespacedNodes } from "../harness/namespaced-nodes.ts";
import { ask, noNetworkReason, playHost, testNetns } from "../harness/network.ts";
import { until } from "../harness/until.ts";

type Tap = Pick<typeof t, "same">;

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

const bigBytes = 5_000_000;

t.setTimeout(600_000);

const podOf = (node: number) => `
apiVersion: v1
kind: Pod
metadata: { name: web-${node}, labels: { app: web } }
spec:
  nodeName: node-${node}
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: ${busyboxImageName}
      command:
        - sh
        - -c
        - >-
          mkdir -p /tmp/www && hostname > /tmp/www/index.html && head -c ${bigBytes} /dev/zero > /tmp/www/big &&
          echo serving && exec httpd -f -p 8080 -h /tmp/www
      readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 }
---
`;

const service = `
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
---
`;

const client = (name: string, node: number, command: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  nodeName: node-${node}
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - { name: main, image: ${busyboxImageName}, command: [sh, -c, "( ${command} ) > /dev/termination-log 2>&1"] }
`;

const wires = [
  { name: "wire0", router: "192.0.2.100" },
  { name: "wire1", router: "198.51.100.100" },
] as const;

/** Gives the node's link this address and no other, with the way out through the router of its wire. */
async function setAddress(space: Space, address: string): Promise<void> {
  const link = await space.getLink("eth0");
  for (const { prefix, isLinkLocal } of await space.listAddresses(link.index))
    if (!isLinkLocal) await space.deleteAddress(link.index, prefix);
  await space.addAddress(link.index, parsePrefix(`${address}/24`));
  const gateway = parseAddress(address.replace(/\d+$/, "100"));
  await space.addRoute({ family: 4, link: link.index, gateway }, { replace: true });
}

t.test("three nodes", { skip: noNetworkReason(), timeout: 600_000 }, async (t) => {
  await playHost();
  const dir = mkdtempSync(join(tmpdir(), "skiff-nodes-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const between = openKernel();
  t.teardown(() => between.close());
  writeNetSetting("ipv4/ip_forward", "1");
  for (const { name, router } of wires) {
    await between.host.createBridge({ name });
    const { index } = await between.host.getLink(name);
    await between.host.setLink(index, { up: true });
    await between.host.addAddress(index, parsePrefix(`${router}/24`));
  }
  const nodes = new NamespacedNodes(t, dir, {});

  const startNode = async (number: number, address: string, command: readonly string[]) => {
    const netns = testNetns(t);
    const space = between.enter(netns);
    t.teardown(() => space.close());
    const wire = wires.find(({ router }) => router.startsWith(address.replace(/\d+$/, "")));
    const { index: master } = await between.host.getLink(wire?.name ?? "");
    await between.host.createVeth({ name: `n${number}`, master, peer: { name: "eth0", space } });
    await between.host.setLink((await between.host.getLink(`n${number}`)).index, { up: true });
    for (const name of ["lo", "eth0"]) await space.setLink((await space.getLink(name)).index, { up: true });
    await setAddress(space, address);
    const dataDir = await nodes.start({ number, netns, command });
    return { netns, space, dataDir };
  };

  const first = await startNode(1, "192.0.2.1", [
    "up",
    "--https-port=6443",
    "--tls-san=192.0.2.1",
    // Not the defaults: the others learn them.
    "--cluster-cidr=10.52.0.0/16",
    "--service-cidr=10.53.0.0/16",
  ]);
  const kubeconfig = join(dir, "kubeconfig");
  writeFileSync(
    kubeconfig,
    readFileSync(join(first.dataDir, "admin.kubeconfig"), "utf8").replace(
      /server: .*/,
      "server: https://192.0.2.1:6443",
    ),
  );
  const joining = async () => {
    const { stdout: token } = await inNetns(first.netns, () =>
      run(join(root, "skiff"), ["token", "create", "--data-dir", first.dataDir]),
    );
    return ["agent", "--server=https://192.0.2.1:6443", `--token=${token.trim()}`];
  };
  await startNode(2, "192.0.2.2", await joining());
  const third = await startNode(3, "198.51.100.3", await joining());

  await t.test("each node tells load balancers on kube-proxy's port that it serves", async (t) => {
    for (const address of ["192.0.2.1", "192.0.2.2", "198.51.100.3"])
      t.match(
        await ask(first.netns, { address, port: 10256, text: "GET /healthz HTTP/1.0\r\n\r\n" }),
        /^HTTP\/1.1 200 [^]*"nodeEligible":true/,
        address,
      );
    const local = { address: "127.0.0.1", port: 10249, text: "GET /proxyMode HTTP/1.0\r\n\r\n" };
    t.match(await ask(first.netns, local), /nftables$/);
    t.equal(await ask(first.netns, { ...local, address: "192.0.2.2" }), "", "metrics are for the node alone");
  });

  const kubectl = async (...args: string[]) => (await run("kubectl", ["--kubeconfig", kubeconfig, ...args])).stdout;
  const apply = async (manifest: string) => {
    writeFileSync(join(dir, "manifest.yaml"), manifest);
    await kubectl("apply", "-f", join(dir, "manifest.yaml"));
  };
  const said = async (name: string, node: number, command: string) => {
    await apply(client(name, node, command));
    await until(
      `${name} to end`,
      async () => /Succeeded|Failed/.test(await kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}")),
      90_000,
    );
    return (
      await kubectl("get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].state.terminated.message}")
    ).trim();
  };
  // The third node is reached through the tunnel, so pods made from now on must have room for its header.
  for (const number of [1, 2, 3])
    await until(
      `node-${number} to know what packets fit`,
      () =>
        readdirSync(join(dir, `${number}`, "cni", "net.d")).some((name) =>
          readFileSync(join(dir, `${number}`, "cni", "net.d", name), "utf8").includes('"mtu": 1450'),
        ),
      60_000,
    );

  await apply([1, 2, 3].map(podOf).join("") + service);
  await kubectl("wait", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=120s");
  const ipOf = (node: number) => kubectl("get", "pod", `web-${node}`, "-o", "jsonpath={.status.podIP}");
  const ips = [await ipOf(1), await ipOf(2), await ipOf(3)];
  t.equal(new Set(ips.map((ip) => ip.split(".").slice(0, 3).join("."))).size, 3, "each node has its own addresses");
  let asked = 0;
  const reachesAll = async (t: Tap, node: number, when: string) => {
    const draws = Array.from({ length: 40 }, () => "wget -qO- http://web").join("; ");
    const answers = await said(
      `all-${node}-${asked++}`,
      node,
      `${ips.map((ip) => `wget -qO- http://${ip}:8080`).join("; ")}; ${draws}`,
    );
    const names = answers.split("\n");
    t.same(names.slice(0, 3), ["web-1", "web-2", "web-3"], `by address from node-${node} ${when}`);
    t.same(
      [...new Set(names.slice(3))].sort(),
      ["web-1", "web-2", "web-3"],
      `by service and name from node-${node} ${when}`,
    );
  };
  for (const node of [1, 2, 3]) await reachesAll(t, node, "at first");

  await t.test("packets fit through the tunnel, and whole files with them", async (t) => {
    const sizes = await said(
      "sizes",
      1,
      `cat /sys/class/net/eth0/mtu; for ip in ${ips.slice(1).join(" ")}; do wget -qO- http://$ip:8080/big | wc -c; done`,
    );
    t.same(sizes.split("\n"), ["1450", String(bigBytes), String(bigBytes)]);
  });

  await t.test("a node cut off is missed, and found again", async (t) => {
    const cable = await between.host.getLink("n3");
    await between.host.setLink(cable.index, { up: false });
    t.match(await said("cut", 1, `nc -w 2 ${ips[2]} 8080 </dev/null && echo reached || echo cut`), "cut");
    await between.host.setLink(cable.index, { up: true });
    for (const node of [1, 3]) await reachesAll(t, node, "after it was cut off");
  });

  await t.test("a node whose address changed is followed", async (t) => {
    await setAddress(third.space, "198.51.100.33");
    const addresses = () =>
      kubectl("get", "node", "node-3", "-o", 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}');
    await until("the new address to be told", async () => (await addresses()) === "198.51.100.33", 120_000);
    // Whoever asks before the other nodes have heard of it is told to ask again.
    await until(
      "the other nodes to follow",
      async () => (await said(`moved-${asked++}`, 1, `wget -qO- http://${ips[2]}:8080`)) === "web-3",
      120_000,
    );
    for (const node of [1, 2, 3]) await reachesAll(t, node, "after its address changed");
    t.match(await until("the API server to reach the node there", () => kubectl("logs", "web-3"), 120_000), "serving");
  });
});
