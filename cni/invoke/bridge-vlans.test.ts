// VLANs of the bridge plugin on a real kernel, as far as this one has them; and pods whose end of the wire is left down.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { ask, noNetworkReason, playHost, randomName, serveIn, testNetns } from "../../test/harness/network.ts";
import { type Kernel, openKernel } from "../net/kernel.ts";
import { networkLists } from "./network-lists.ts";

/** Why this kernel cannot show it; false when it can. */
async function noVlansReason({ host }: Kernel): Promise<string | false> {
  const name = randomName("br");
  try {
    await host.createBridge({ name, vlanFiltering: true });
    return false;
  } catch (error) {
    if (!isFault(error, "unsupported")) throw error;
    return "this kernel filters no VLANs on bridges";
  } finally {
    await host.deleteLink(name);
  }
}

t.test("the bridge plugin on a kernel", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const { host } = kernel;
  const reason = await noVlansReason(kernel);

  const setUp = (t: Test, ...networks: object[]) => {
    const dir = mkdtempSync(join(tmpdir(), "skiff-vlans-"));
    const bridge = randomName("br");
    const made = networks.map((more, index) => {
      const confDir = join(dir, `net-${index}.d`);
      mkdirSync(confDir);
      const plugin = { type: "bridge", bridge, ...more };
      const list = { cniVersion: "1.0.0", name: `${bridge}-${index}`, plugins: [plugin] };
      writeFileSync(join(confDir, "1.conflist"), JSON.stringify(list).replaceAll("LEASES", join(dir, "leases")));
      return networkLists({ confDir, binDirs: [], cacheDir: join(dir, `cache-${index}`), kernel });
    });
    t.teardown(async () => {
      for (const lists of made) await lists.gc([], uninterrupted);
      await host.deleteLink(bridge);
      rmSync(dir, { recursive: true, force: true });
    });
    const leases = () => readdirSync(join(dir, "leases", `${bridge}-0`)).filter((file) => file.startsWith("10."));
    return { made, bridge, leases };
  };
  const ipam = (subnet: string) => ({
    isGateway: true,
    ipam: { type: "host-local", dataDir: "LEASES", ranges: [[{ subnet }]] },
  });
  const attach = async (t: Test, lists: ReturnType<typeof networkLists> | undefined) => {
    const request = { containerId: randomName("c"), netnsPath: testNetns(t) };
    const result = await lists?.add(request, uninterrupted);
    const near = result?.interfaces.find(({ name, sandbox }) => !sandbox && name.startsWith("veth"));
    return { ...request, result, near: await host.getLink(near?.name ?? ""), address: result?.ips[0]?.address ?? "" };
  };

  await t.test("a pod's end is left down where the configuration says so, and DEL removes it", async (t) => {
    const { made } = setUp(t, { disableContainerInterface: true });
    const { near, ...request } = await attach(t, made[0]);
    const pod = kernel.enter(request.netnsPath);
    t.teardown(() => pod.close());
    t.match(await pod.getLink("eth0"), { isUp: false });
    t.ok(near.isUp);
    await made[0]?.check(request, uninterrupted);
    await made[0]?.del(request, uninterrupted);
    t.equal(await pod.findLink("eth0"), undefined);
  });

  await t.test("without addresses to give, the pod's end is up all the same", async (t) => {
    const { made } = setUp(t, {});
    const { netnsPath } = await attach(t, made[0]);
    const pod = kernel.enter(netnsPath);
    t.teardown(() => pod.close());
    t.match(await pod.getLink("eth0"), { isUp: true });
  });

  await t.test(
    "a kernel without VLANs is told of by the field that asked for them, and nothing is left",
    { skip: reason ? false : "this kernel has VLANs" },
    async (t) => {
      for (const [more, message] of [
        [{ vlan: 7, ...ipam("10.81.0.0/24") }, /Cannot use "vlan": 7: this kernel was built without VLAN filtering/],
        [
          { vlanTrunk: [{ minID: 100, maxID: 102 }, { id: 9 }], ...ipam("10.81.1.0/24") },
          /Cannot use "vlanTrunk": 9, 100-102: this kernel/,
        ],
      ] as const) {
        const { made, leases } = setUp(t, more);
        const netnsPath = testNetns(t);
        await t.rejects(async () => made[0]?.add({ containerId: "c", netnsPath }, uninterrupted), {
          cniCode: 2,
          message,
        });
        t.same(leases(), []);
        const pod = kernel.enter(netnsPath);
        t.equal(await pod.findLink("eth0"), undefined);
        pod.close();
      }
    },
  );

  await t.test(
    "pods of one VLAN reach each other and their gateway, and not those of another",
    { skip: reason },
    async (t) => {
      const { made, bridge } = setUp(
        t,
        { vlan: 7, ...ipam("10.82.0.0/24") },
        { vlan: 8, isGateway: false, ipam: ipam("10.82.0.128/25").ipam },
      );
      const a = await attach(t, made[0]);
      const b = await attach(t, made[0]);
      const other = await attach(t, made[1]);
      t.same(await host.listBridgeVlans(a.near.index), [{ id: 7, access: true }], "out of what ports begin with");
      t.equal(a.result?.interfaces[3]?.name, `${bridge.slice(0, 10)}.7`, "the gateway's link is told");
      for (const [pod, port] of [
        [b, 8080],
        [other, 8081],
      ] as const)
        await serveIn(t, pod.netnsPath, { port, name: "pod" });
      const ip = (cidr: string) => cidr.split("/")[0] ?? "";
      t.match(await ask(a.netnsPath, { address: ip(b.address), port: 8080 }), /^pod /);
      t.match(await ask(undefined, { address: ip(b.address), port: 8080 }), /^pod /, "from the host, by the gateway");
      t.equal(await ask(a.netnsPath, { address: ip(other.address), port: 8081 }), "", "not across");
    },
  );

  await t.test("a trunk carries what it names, with VLAN 1 for untagged frames", { skip: reason }, async (t) => {
    const trunk = { vlanTrunk: [{ minID: 100, maxID: 102 }, { id: 300 }] };
    const { made } = setUp(t, trunk, { ...trunk, vlan: 9 }, { ...trunk, vlan: 9, preserveDefaultVlan: true });
    const vlansOf = async (index: number) => {
      const { near } = await attach(t, made[index]);
      return (await host.listBridgeVlans(near.index)).map(({ id, access }) => (access ? `${id}!` : `${id}`)).join(" ");
    };
    t.equal(await vlansOf(0), "1! 100 101 102 300");
    t.equal(await vlansOf(1), "9! 100 101 102 300");
    t.equal(await vlansOf(2), "1 9! 100 101 102 300");
  });
});
