// A cluster of both address families on two nodes with a router between them: pods have an address of each, and reach each other by
// either, by Service and by name, through the tunnel too.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { openKernel } from "../../cni/net/kernel.ts";
import { parseAddress, parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { inNetns } from "../../plugins/kit/os/net/netns.ts";
import { writeNetSetting } from "../../plugins/kit/os/net/sysctl.ts";
import { busyboxImageName } from "../harness/images.ts";
import { NamespacedNodes } from "../harness/namespaced-nodes.ts";
import { noNetworkReason, playHost, testNetns } from "../harness/network.ts";
import { until } from "../harness/until.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

t.setTimeout(600_000);

const container = (command: string) =>
  `{ name: main, image: ${busyboxImageName}, command: [sh, -c, ${JSON.stringify(command)}] }`;
const podOf = (node: number) => `
apiVersion: v1
kind: Pod
metadata: { name: web-${node}, labels: { app: web } }
spec:
  nodeName: node-${node}
  terminationGracePeriodSeconds: 0
  containers:
    - ${container("mkdir /tmp/www && hostname > /tmp/www/index.html && exec httpd -f -p '[::]:8080' -h /tmp/www")}
---
`;
const service = `
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ipFamilyPolicy: RequireDualStack, selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
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
    - ${container(`( ${command} ) > /dev/termination-log 2>&1`)}
`;

t.test("two nodes of both families", { skip: noNetworkReason(), timeout: 600_000 }, async (t) => {
  await playHost();
  const dir = mkdtempSync(join(tmpdir(), "skiff-dual-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const router = openKernel();
  t.teardown(() => router.close());
  writeNetSetting("ipv4/ip_forward", "1");
  writeNetSetting("ipv6/conf/all/forwarding", "1");
  const nodes = new NamespacedNodes(t, dir, {});

  const startNode = async (number: number, command: readonly string[]) => {
    const netns = testNetns(t);
    const space = router.enter(netns);
    t.teardown(() => space.close());
    await router.host.createVeth({ name: `n${number}`, peer: { name: "eth0", space } });
    const [near, far] = [await router.host.getLink(`n${number}`), await space.getLink("eth0")];
    await router.host.setLink(near.index, { up: true });
    for (const name of ["lo", "eth0"]) await space.setLink((await space.getLink(name)).index, { up: true });
    for (const net of [`192.0.${number}.`, `fd99:${number}::`]) {
      const [length, family] = net.includes(":") ? [64, 6 as const] : [24, 4 as const];
      await router.host.addAddress(near.index, parsePrefix(`${net}1/${length}`), { skipDad: true });
      await space.addAddress(far.index, parsePrefix(`${net}2/${length}`), { skipDad: true });
      await space.addRoute({ family, link: far.index, gateway: parseAddress(`${net}1`) });
    }
    const addresses = `--node-ip=192.0.${number}.2,fd99:${number}::2`;
    const dataDir = await nodes.start({ number, netns, command: [...command, addresses] });
    return { netns, dataDir };
  };

  const first = await startNode(1, [
    "up",
    "--https-port=6443",
    "--cluster-cidr=10.52.0.0/16,fd52::/56",
    "--service-cidr=10.53.0.0/16,fd53::/112",
  ]);
  const inFirst = (command: string, ...args: string[]) => inNetns(first.netns, () => run(command, args));
  const skiff = join(root, "skiff");
  const { stdout: token } = await inFirst(skiff, "token", "create", "--data-dir", first.dataDir);
  await startNode(2, ["agent", "--server=https://192.0.1.2:6443", `--token=${token.trim()}`]);

  const kubectl = async (...args: string[]) =>
    (await inFirst("kubectl", "--kubeconfig", join(first.dataDir, "admin.kubeconfig"), ...args)).stdout;
  const apply = async (manifest: string) => {
    writeFileSync(join(dir, "manifest.yaml"), manifest);
    await kubectl("apply", "-f", join(dir, "manifest.yaml"));
  };
  const said = async (name: string, node: number, command: string) => {
    await apply(client(name, node, command));
    const phase = () => kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}");
    await until(`${name} to end`, async () => /Succeeded|Failed/.test(await phase()), 90_000);
    const message = "jsonpath={.status.containerStatuses[0].state.terminated.message}";
    return (await kubectl("get", "pod", name, "-o", message)).trim();
  };
  await apply([1, 2].map(podOf).join("") + service);
  await kubectl("wait", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=120s");
  const list = async (kind: string, name: string, path: string) =>
    (await kubectl("get", kind, name, "-o", `jsonpath={${path}}`)).split(" ");
  const [, six = ""] = await list("pod", "web-2", ".status.podIPs[*].ip");
  t.match(six, /^fd52::?/, "a pod has an address of each family");
  t.match(await list("node", "node-2", ".spec.podCIDRs[*]"), [/^10\.52\./, /^fd52:/]);
  const [, serviceSix = ""] = await list("service", "web", ".spec.clusterIPs[*]");
  t.match(serviceSix, /^fd53::/, "and so has a service");

  for (const [node, other] of [
    [1, 2],
    [2, 1],
  ] as const) {
    const [four = "", far = ""] = await list("pod", `web-${other}`, ".status.podIPs[*].ip");
    const draws = (url: string) => Array.from({ length: 20 }, () => `wget -qO- http://${url}`).join("; ");
    const answers = await said(
      `ask-${node}`,
      node,
      `wget -qO- http://${four}:8080; wget -qO- http://[${far}]:8080; ${draws(`[${serviceSix}]`)}; ${draws("web")}`,
    );
    const names = answers.split("\n");
    t.same(names.slice(0, 2), [`web-${other}`, `web-${other}`], `by either address from node-${node}`);
    t.same(
      [...new Set(names.slice(2, 22))].sort(),
      ["web-1", "web-2"],
      `by the service's IPv6 address from node-${node}`,
    );
    t.same([...new Set(names.slice(22))].sort(), ["web-1", "web-2"], `by name from node-${node}`);
  }
  t.match(await said("names", 2, "nslookup -type=AAAA web.default.svc.cluster.local fd53::a"), serviceSix);
});
