import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { networkLists } from "../../../cni/invoke/network-lists.ts";
import { writeNetworkList } from "../../../cni/invoke/write-network-list.ts";
import { openKernel, type Space } from "../../../cni/net/kernel.ts";
import { ask, noNetworkReason, playHost, serveIn, testNetns } from "../../../test/harness/network.ts";
import { uninterrupted } from "../../kit/base/call.ts";
import { formatPrefix, parsePrefix } from "../../kit/os/net/address.ts";
import { openRoutes } from "../../kit/os/net/links.ts";
import { inNetns } from "../../kit/os/net/netns.ts";
import { listRoutes, ownProtocol } from "../../kit/os/net/routes.ts";
import { writeNetSetting } from "../../kit/os/net/sysctl.ts";
import type { Node } from "../../kit/kube/objects/types.ts";
import { applyOverlay, connectedPrefixes, overlayDefaults, removeOverlay } from "./apply.ts";
import { type NodeSite, type OverlayMode, planOverlay, siteOf, tunnelMac } from "./plan.ts";

function node(name: string, ips: string[], podCIDRs: string[]): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name },
    spec: { podCIDRs },
    status: { addresses: ips.map((address) => ({ type: "InternalIP", address })) },
  } as Node;
}

const overlaySettings = overlayDefaults("", ["10.42.0.0/16"]);

const sites = [
  node("a", ["192.0.2.1", "fd00::1"], ["10.42.1.0/24", "fd42:0:0:1::/64"]),
  node("b", ["192.0.2.2", "fd00::2"], ["10.42.2.0/24", "fd42:0:0:2::/64"]),
  node("c", ["198.51.100.3"], ["10.42.3.0/24"]),
  node("new", [], []),
].map(siteOf);

const shown = (plan: ReturnType<typeof planOverlay>) =>
  plan.routes.map(({ destination, by }) => `${formatPrefix(destination)} ${by}`);

t.test("planOverlay() goes straight where nodes share a link, and through the tunnel elsewhere", async (t) => {
  const connected = [parsePrefix("192.0.2.1/24"), parsePrefix("fd00::1/64")];
  const auto = planOverlay(sites, "a", "auto", connected);
  t.same(shown(auto), ["10.42.2.0/24 link", "fd42:0:0:2::/64 link", "10.42.3.0/24 vxlan"]);
  t.same(
    auto.forwarding.map(({ mac }) => mac),
    [tunnelMac("c")],
  );
  t.same(shown(planOverlay(sites, "a", "vxlan", connected)), [
    "10.42.2.0/24 vxlan",
    "fd42:0:0:2::/64 vxlan",
    "10.42.3.0/24 vxlan",
  ]);
  t.same(shown(planOverlay(sites, "a", "host-gw", connected)), ["10.42.2.0/24 link", "fd42:0:0:2::/64 link"]);
  t.equal(planOverlay(sites, "a", "host-gw", connected).vxlan, undefined);
});

t.test("planOverlay() waits for its own address and ignores a CIDR given twice", async (t) => {
  t.same(planOverlay(sites, "new", "auto", []).routes, []);
  t.same(planOverlay(sites, "unknown", "auto", []).routes, []);
  const twice = [...sites, siteOf(node("z", ["198.51.100.9"], ["10.42.3.0/24"]))];
  t.equal(
    planOverlay(twice, "a", "vxlan", []).routes.filter(
      ({ destination }) => formatPrefix(destination) === "10.42.3.0/24",
    ).length,
    1,
  );
  t.match(tunnelMac("a"), /^.[26ae]:/);
});

t.test("a node without a network knows of no packet size", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const netns = testNetns(t);
  const kernel = inNetns(netns, () => {
    const opened = openKernel();
    void opened.host;
    return opened;
  });
  t.teardown(() => kernel.close());
  await kernel.host.setLink((await kernel.host.getLink("lo")).index, { up: true });
  const plan = planOverlay([siteOf(node("alone", ["127.0.0.1"], ["10.42.1.0/24"]))], "alone", "auto", []);
  t.equal(await inNetns(netns, () => applyOverlay(plan, overlaySettings)), undefined);
});

t.test("three nodes on a kernel", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const dir = mkdtempSync(join(tmpdir(), "skiff-overlay-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const wire = openKernel();
  t.teardown(() => wire.close());
  await wire.host.createBridge({ name: "wire0" });
  const { index: master } = await wire.host.getLink("wire0");
  await wire.host.setLink(master, { up: true });

  const joinNode = async (number: number) => {
    const netns = testNetns(t);
    const kernel = inNetns(netns, () => {
      const opened = openKernel();
      // Opened here, they belong to this node for good.
      void opened.host;
      void opened.nft;
      writeNetSetting("ipv4/ip_forward", "1");
      writeNetSetting("ipv6/conf/all/forwarding", "1");
      return opened;
    });
    t.teardown(() => kernel.close());
    await wire.host.createVeth({ name: `n${number}`, master, peer: { name: "eth0", space: kernel.host } });
    await wire.host.setLink((await wire.host.getLink(`n${number}`)).index, { up: true });
    await setAddress(kernel.host, `192.0.2.${number}/24`);
    writeNetworkList({
      dir: join(dir, `${number}`),
      podCidrs: [`10.42.${number}.0/24`],
      clusterCidrs: ["10.42.0.0/16"],
      leaseDir: join(dir, `l${number}`),
    });
    const lists = networkLists({
      confDir: join(dir, `${number}`),
      binDirs: [],
      cacheDir: join(dir, `c${number}`),
      kernel,
    });
    const pod = testNetns(t);
    const { ips } = await lists.add({ containerId: `pod${number}`, netnsPath: pod }, uninterrupted);
    await serveIn(t, pod, { port: 80, name: `pod${number}` });
    return { netns, kernel, pod, podIp: ips[0]?.address.split("/")[0] ?? "" };
  };
  const setAddress = async (space: Space, address: string) => {
    const link = await space.getLink("eth0");
    await space.setLink(link.index, { up: true });
    for (const { prefix, isLinkLocal } of await space.listAddresses(link.index))
      if (!isLinkLocal) await space.deleteAddress(link.index, prefix);
    await space.addAddress(link.index, parsePrefix(address), { skipDad: true });
  };
  const nodes = [await joinNode(1), await joinNode(2), await joinNode(3)];
  const addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
  const inNode = <T>(index: number, work: () => T) => inNetns(nodes[index]?.netns ?? "", work);
  const sync = async (mode: OverlayMode, present = [0, 1, 2]) => {
    const sites: NodeSite[] = present.map((index) =>
      siteOf(node(`n${index + 1}`, [addresses[index] ?? ""], [`10.42.${index + 1}.0/24`])),
    );
    for (const index of present) {
      const routes = inNode(index, openRoutes);
      const connected = await connectedPrefixes(routes, overlaySettings.device);
      routes.close();
      const plan = planOverlay(sites, `n${index + 1}`, mode, connected);
      await inNode(index, () => applyOverlay(plan, overlaySettings));
      await inNode(index, () => applyOverlay(plan, overlaySettings));
    }
  };
  const reach = async (from: number, to: number) =>
    ask(nodes[from]?.pod, { address: nodes[to]?.podIp ?? "", port: 80 });

  for (const mode of ["vxlan", "auto"] as const) {
    await t.test(`pods reach pods of other nodes under their own address (${mode})`, async (t) => {
      await sync(mode);
      for (const [from, to] of [
        [0, 1],
        [1, 2],
        [2, 0],
      ] as const)
        t.equal(await reach(from, to), `pod${to + 1} ${nodes[from]?.podIp}`);
      t.match(
        await ask(nodes[0]?.netns, { address: nodes[1]?.podIp ?? "", port: 80 }),
        /^pod2 /,
        "a node reaches a pod of another",
      );
      const device = await nodes[0]?.kernel.host.findLink(overlaySettings.device);
      t.match(device, { kind: "vxlan", mtu: 1450 });
    });
  }

  await t.test("the tunnel's MTU stays as it is when the node is said to be at the tunnel's own address", async (t) => {
    const sites = [["10.42.1.0", 1] as const, ["192.0.2.2", 2] as const].map(([ip, number]) =>
      siteOf(node(`n${number}`, [ip], [`10.42.${number}.0/24`])),
    );
    const plan = planOverlay(sites, "n1", "vxlan", []);
    const mtus = [];
    for (let look = 0; look < 3; look++) mtus.push(await inNode(0, () => applyOverlay(plan, overlaySettings)));
    t.same(mtus, [1450, 1450, 1450]);
    await sync("vxlan");
  });

  await t.test("a node cut off is gone, and back when it returns", async (t) => {
    await sync("vxlan", [0, 1]);
    t.equal(await reach(0, 2), "");
    await sync("vxlan");
    t.equal(await reach(0, 2), `pod3 ${nodes[0]?.podIp}`);
  });

  await t.test("a node that changes its address is followed", async (t) => {
    addresses[1] = "192.0.2.77";
    await setAddress((nodes[1] as { kernel: { host: Space } }).kernel.host, "192.0.2.77/24");
    await sync("vxlan");
    t.equal(await reach(0, 1), `pod2 ${nodes[0]?.podIp}`);
    t.equal(await reach(1, 2), `pod3 ${nodes[1]?.podIp}`);
  });

  await t.test("what somebody removed comes back; removeOverlay() leaves nothing", async (t) => {
    await inNode(0, () => removeOverlay(overlaySettings));
    t.equal(await reach(0, 1), "");
    await sync("vxlan");
    t.match(await reach(0, 1), /^pod2/);
    for (const index of [0, 1, 2]) {
      await inNode(index, () => removeOverlay(overlaySettings));
      const routes = inNode(index, openRoutes);
      t.notOk((await listRoutes(routes, 4)).some(({ protocol }) => protocol === ownProtocol));
      routes.close();
    }
  });
});
