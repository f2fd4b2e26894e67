import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import t from "tap";
import {
  ask,
  noLegacyFirewallReason,
  noNetworkReason,
  playHost,
  randomName,
  serveIn,
  testNetns,
} from "../../test/harness/network.ts";
import { newTag, sctpIn } from "../../test/harness/sctp.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { formatAddress, parsePrefix, parseAddress } from "../../plugins/kit/os/net/address.ts";
import { acceptForwarding, withdrawForwarding } from "../../plugins/kit/os/net/forward-accept.ts";
import { openRoutes } from "../../plugins/kit/os/net/links.ts";
import { listNeighbours } from "../../plugins/kit/os/net/routes.ts";
import { until } from "../../test/harness/until.ts";
import { deleteNetns, inNetns } from "../../plugins/kit/os/net/netns.ts";
import { openKernel } from "../net/kernel.ts";
import { runProgram } from "../skel/run-program.ts";
import { serveHandOver } from "../assemble/serve-hand-over.ts";
import { installPrograms, uninstallPrograms } from "../assemble/install-programs.ts";
import { pluginFinder } from "./builtins.ts";
import { networkLists } from "./network-lists.ts";
import { writeNetworkList } from "./write-network-list.ts";

const debian = "/usr/lib/cni";

interface Scope {
  teardown(work: () => unknown): void;
}

t.test("network lists on a kernel", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const { host, nft } = kernel;

  // Another host outside, on a wire of its own, that knows no way back to the pods.
  const outside = testNetns(t);
  const wire = kernel.enter(outside);
  await host.createVeth({ name: "up0", peer: { name: "eth0", space: wire } });
  for (const [space, name, address] of [
    [host, "up0", "198.51.100.1/24"],
    [wire, "eth0", "198.51.100.2/24"],
  ] as const) {
    const link = await space.getLink(name);
    await space.setLink(link.index, { up: true });
    await space.addAddress(link.index, parsePrefix(address));
  }
  wire.close();

  const setUp = (
    t: Scope,
    options: {
      plugins?: unknown[];
      cidrs?: string[];
      cniVersion?: string;
      isBuiltIn?: (type: string) => boolean;
      typePrefix?: string;
      /** Programs lie in `bin` beside the lists, in place of Debian's. */
      hasOwnPrograms?: boolean;
    } = {},
  ) => {
    const dir = mkdtempSync(join(tmpdir(), "skiff-cni-"));
    t.teardown(() => rmSync(dir, { recursive: true, force: true }));
    const bridge = randomName("br");
    const name = randomName("net");
    const confDir = join(dir, "net.d");
    if (options.plugins) {
      mkdirSync(confDir);
      const text = JSON.stringify({ cniVersion: options.cniVersion ?? "1.0.0", name, plugins: options.plugins });
      writeFileSync(
        join(confDir, "10.conflist"),
        text.replaceAll("BRIDGE", bridge).replaceAll("LEASES", join(dir, "leases")),
      );
    } else
      writeNetworkList({
        dir: confDir,
        podCidrs: options.cidrs ?? ["10.61.0.0/24", "fd61::/64"],
        bridge,
        name,
        leaseDir: join(dir, "leases"),
        ...(options.typePrefix ? { typePrefix: options.typePrefix } : {}),
      });
    const lists = networkLists({
      confDir,
      binDirs: [options.hasOwnPrograms ? join(dir, "bin") : debian],
      cacheDir: join(dir, "cache"),
      kernel,
      ...(options.isBuiltIn ? { isBuiltIn: options.isBuiltIn } : {}),
    });
    t.teardown(async () => {
      await lists.gc([], uninterrupted);
      await host.deleteLink(bridge);
    });
    const leases = () => {
      try {
        return readdirSync(join(dir, "leases", name)).filter((file) => /^[0-9a-f]+[.:]/.test(file));
      } catch {
        return [];
      }
    };
    return { lists, bridge, name, leases, dir };
  };
  const attach = async (lists: ReturnType<typeof networkLists>, t: Scope, extra = {}) => {
    const netnsPath = testNetns(t);
    const request = {
      containerId: randomName("c"),
      netnsPath,
      podNamespace: "shop",
      podName: "cart-0",
      podUid: "u",
      ...extra,
    };
    const result = await lists.add(request, uninterrupted);
    const ips = result.ips.map((ip) => ip.address.split("/")[0] ?? "");
    return {
      request,
      result,
      netnsPath,
      four: ips.find((ip) => ip.includes(".")) ?? "",
      six: ips.find((ip) => ip.includes(":")) ?? "",
    };
  };

  await t.test(
    "pods of the agent's own list reach pods, the host and the outside, on both families, and leave no trace",
    async (t) => {
      const { lists, leases, bridge } = setUp(t);
      const a = await attach(lists, t);
      const b = await attach(lists, t);
      t.same([a.four, b.four, a.six, b.six], ["10.61.0.2", "10.61.0.3", "fd61::2", "fd61::3"]);
      await serveIn(t, b.netnsPath, { port: 8080, name: "b" });
      await serveIn(t, b.netnsPath, { port: 8081, name: "b6", family: 6 });
      await serveIn(t, undefined, { port: 8082, name: "host" });
      await serveIn(t, outside, { port: 8083, name: "outside" });
      t.equal(await ask(a.netnsPath, { address: b.four, port: 8080 }), `b ${a.four}`);
      t.match(await ask(a.netnsPath, { address: b.six, port: 8081 }), /^b6 \[fd61:/);
      t.equal(await ask(a.netnsPath, { address: "10.61.0.1", port: 8082 }), `host ${a.four}`);
      t.equal(await ask(a.netnsPath, { address: "198.51.100.2", port: 8083 }), "outside 198.51.100.1", "masqueraded");
      t.equal(await ask(undefined, { address: b.four, port: 8080 }), "b 10.61.0.1");
      await lists.check(a.request, uninterrupted);
      await lists.status(uninterrupted);

      const pod = kernel.enter(a.netnsPath);
      const link = await pod.getLink("eth0");
      await pod.deleteAddress(link.index, parsePrefix(`${a.four}/24`));
      await t.rejects(lists.check(a.request, uninterrupted), /lost its address/);
      pod.close();

      await lists.del(a.request, uninterrupted);
      await lists.del(a.request, uninterrupted);
      await lists.del({ ...b.request, netnsPath: "/run/netns/gone" }, uninterrupted);
      t.same(leases(), []);
      t.notOk((await host.listLinks()).some((link) => link.name.startsWith("veth") && link.master === 0));
      const sets = (await nft.list("list ruleset", uninterrupted)).filter((entry) =>
        (entry.set as { name?: string } | undefined)?.name?.startsWith("from"),
      );
      t.ok(
        sets.every((entry) => !(entry.set as { elem?: unknown }).elem),
        "no source is masqueraded any more",
      );
      t.ok((await host.getLink(bridge)).isUp);
    },
  );

  await t.test("host ports reach the pod by every address, from itself too, and only while it lives", async (t) => {
    const { lists } = setUp(t, { cidrs: ["10.62.0.0/24"] });
    const portMappings = [
      { hostPort: 18080, containerPort: 80, protocol: "TCP" },
      { hostPort: 18081, containerPort: 80, protocol: "TCP", hostIP: "198.51.100.1" },
      { hostPort: 15353, containerPort: 53, protocol: "UDP" },
      { hostPort: 13868, containerPort: 3868, protocol: "SCTP" },
    ];
    const web = await attach(lists, t, { portMappings });
    const other = await attach(lists, t);
    await serveIn(t, web.netnsPath, { port: 80, name: "web" });
    await serveIn(t, web.netnsPath, { port: 53, name: "dns", transport: "udp" });
    t.equal(await ask(outside, { address: "198.51.100.1", port: 18080 }), "web 198.51.100.2", "the source is kept");
    t.match(await ask(undefined, { address: "127.0.0.1", port: 18080 }), /^web /, "by loopback");
    t.match(await ask(undefined, { address: "198.51.100.1", port: 18081 }), /^web /, "by its host address");
    t.equal(await ask(undefined, { address: "10.62.0.1", port: 18081 }), "", "not by another one");
    t.match(await ask(web.netnsPath, { address: "198.51.100.1", port: 18080 }), /^web /, "hairpin");
    t.match(await ask(other.netnsPath, { address: "198.51.100.1", port: 18080 }), /^web /, "from a neighbour");
    t.match(await ask(outside, { address: "198.51.100.1", port: 15353, transport: "udp", sourcePort: 20001 }), /^dns /);
    const [caller, called] = [await sctpIn(t, outside, "198.51.100.1"), await sctpIn(t, web.netnsPath, undefined)];
    const ownTag = newTag();
    caller.send({ kind: "INIT", from: 20002, to: 13868, tag: 0, ownTag });
    t.match(await called.next("INIT"), { from: 20002, to: 3868, ownTag, isWhole: true }, "SCTP too");
    const answerer = await sctpIn(t, web.netnsPath, "198.51.100.2");
    answerer.send({ kind: "INIT ACK", from: 3868, to: 20002, tag: ownTag, ownTag: newTag() });
    t.match(await caller.next("INIT ACK"), { from: 13868, isWhole: true }, "and its answer");
    await lists.check(web.request, uninterrupted);

    // The same port moves to another pod while an UDP client goes on from the same source port.
    const next = await attach(lists, t, { portMappings });
    await serveIn(t, next.netnsPath, { port: 53, name: "next", transport: "udp" });
    t.match(
      await ask(outside, { address: "198.51.100.1", port: 15353, transport: "udp", sourcePort: 20001 }),
      /^next /,
    );
    await lists.del(web.request, uninterrupted);
    await serveIn(t, next.netnsPath, { port: 80, name: "next" });
    t.match(
      await ask(outside, { address: "198.51.100.1", port: 18080 }),
      /^next /,
      "the former owner's DEL leaves it alone",
    );
    await lists.del(next.request, uninterrupted);
    t.equal(await ask(outside, { address: "198.51.100.1", port: 18080 }), "");
  });

  await t.test("a failed ADD is undone", async (t) => {
    const { lists, leases } = setUp(t, {
      plugins: [
        {
          type: "bridge",
          bridge: "BRIDGE",
          ipam: { type: "host-local", dataDir: "LEASES", ranges: [[{ subnet: "10.63.0.0/24" }]] },
        },
        { type: "no-such-plugin" },
      ],
    });
    const netnsPath = testNetns(t);
    await t.rejects(lists.add({ containerId: "c1", netnsPath }, uninterrupted), /no-such-plugin/);
    t.same(leases(), []);
    const pod = kernel.enter(netnsPath);
    t.equal(await pod.findLink("eth0"), undefined);
    pod.close();
    await t.rejects(lists.add({ containerId: "c1", netnsPath: "/run/netns/none" }, uninterrupted), {
      code: "not-found",
    });
    t.same(leases(), []);
  });

  for (const cniVersion of ["0.3.1", "0.4.0", "1.0.0"]) {
    await t.test(`Debian's programs work in a list with ours (${cniVersion})`, async (t) => {
      const { lists, leases } = setUp(t, {
        cniVersion,
        isBuiltIn: (type) => type === "bridge" || type === "portmap" || type === "loopback",
        plugins: [
          {
            type: "bridge",
            bridge: "BRIDGE",
            isDefaultGateway: true,
            ipam: { type: "host-local", dataDir: "LEASES", ranges: [[{ subnet: "10.64.0.0/24" }]] },
          },
          { type: "tuning", sysctl: { "net.ipv4.conf.all.log_martians": "1" } },
          { type: "portmap", capabilities: { portMappings: true } },
        ],
      });
      const a = await attach(lists, t, { portMappings: [{ hostPort: 18090, containerPort: 80, protocol: "tcp" }] });
      await serveIn(t, a.netnsPath, { port: 80, name: "a" });
      t.match(await ask(undefined, { address: "198.51.100.1", port: 18090 }), /^a /);
      await lists.check(a.request, uninterrupted);
      t.equal(leases().length, 1);
      await lists.del(a.request, uninterrupted);
      t.same(leases(), []);
    });
    await t.test(`Debian's bandwidth program is told the limits (${cniVersion})`, async (t) => {
      const ipam = { type: "host-local", dataDir: "LEASES", ranges: [[{ subnet: "10.71.0.0/24" }]] };
      const { lists } = setUp(t, {
        cniVersion,
        plugins: [
          { type: "bridge", bridge: "BRIDGE", isDefaultGateway: true, ipam },
          { type: "bandwidth", capabilities: { bandwidth: true } },
        ],
      });
      const bandwidth = { ingressRate: 3_000_000, ingressBurst: 2 ** 31 - 1 };
      const a = await attach(lists, t, { bandwidth });
      t.match(execFileSync("tc", ["qdisc", "show"], { encoding: "utf8" }), /tbf .*rate 3Mbit/);
      await lists.del(a.request, uninterrupted);
      t.notMatch(execFileSync("tc", ["qdisc", "show"], { encoding: "utf8" }), /tbf/);
    });
    await t.test(`Debian's bridge takes our leases' place in the same folder (${cniVersion})`, async (t) => {
      const ipam = { type: "host-local", dataDir: "LEASES", ranges: [[{ subnet: "10.65.0.0/24" }]] };
      const { lists, dir, leases } = setUp(t, {
        cniVersion,
        isBuiltIn: (type) => type === "loopback",
        plugins: [{ type: "bridge", bridge: "BRIDGE", ipam }],
      });
      const theirs = await attach(lists, t);
      const ours = networkLists({ confDir: join(dir, "net.d"), binDirs: [], cacheDir: join(dir, "cache2"), kernel });
      const own = await attach(ours, t);
      t.same([theirs.four, own.four], ["10.65.0.2", "10.65.0.3"]);
      await ours.del(own.request, uninterrupted);
      await lists.del(theirs.request, uninterrupted);
      t.same(leases(), []);
    });
  }

  await t.test(
    "our programs, run by launchers, do the same as in process, and hand over to an agent that listens",
    async (t) => {
      const bin = mkdtempSync(join(tmpdir(), "skiff-cni-bin-"));
      t.teardown(() => rmSync(bin, { recursive: true, force: true }));
      const command = selfCommand(fileURLToPath(new URL("../assemble/program.ts", import.meta.url)));
      const socketPath = join(bin, "agent.sock");
      writeFileSync(join(bin, "portmap"), "#!/bin/sh\nexit 9\n", { mode: 0o755 });
      installPrograms({ dir: bin, command, socketPath, cacheDir: join(bin, "cache") });
      t.equal(readFileSync(join(bin, "portmap"), "utf8"), "#!/bin/sh\nexit 9\n", "someone else's program stays");
      const { dir, name, leases } = setUp(t, { cidrs: ["10.70.0.0/24"], typePrefix: "skiff-" });
      const lists = networkLists({
        confDir: join(dir, "net.d"),
        binDirs: [bin],
        cacheDir: join(dir, "cache"),
        kernel,
        isBuiltIn: () => false,
      });
      const a = await attach(lists, t, { portMappings: [{ hostPort: 18070, containerPort: 80, protocol: "tcp" }] });
      await serveIn(t, a.netnsPath, { port: 80, name: "a" });
      t.match(await ask(undefined, { address: "198.51.100.1", port: 18070 }), /^a /);
      await lists.check(a.request, uninterrupted);

      const agent = new AbortController();
      const handed: string[] = [];
      const find = pluginFinder(kernel);
      const serving = serveHandOver(
        socketPath,
        (type, input, call) => {
          handed.push(`${input.environment.CNI_COMMAND} ${type}`);
          return runProgram(find(type, []), input, call);
        },
        { signal: agent.signal },
      );
      const b = await attach(lists, t);
      await lists.del(b.request, uninterrupted);
      await lists.del(a.request, uninterrupted);
      t.ok(handed.includes("ADD bridge") && handed.includes("DEL portmap"), name);
      t.same(leases(), []);
      agent.abort();
      await serving;
      uninstallPrograms(bin);
      t.same(
        readdirSync(bin).filter((file) => file !== "cache"),
        ["portmap"],
      );
    },
  );

  await t.test("del() leaves a stranger's interface alone", async (t) => {
    const { lists } = setUp(t, { cidrs: ["10.59.0.0/24"] });
    const mine = await attach(lists, t);
    const stranger = await attach(lists, t);
    await lists.del({ ...mine.request, netnsPath: stranger.netnsPath }, uninterrupted);
    const pod = kernel.enter(stranger.netnsPath);
    t.ok(await pod.findLink("eth0"));
    pod.close();
    await lists.del({ ...mine.request, netnsPath: "/proc/self/ns/net" }, uninterrupted);
    t.ok(await host.findLink("up0"));
  });

  await t.test("gc() collects pods that are gone without DEL", async (t) => {
    const { lists, leases } = setUp(t, { cidrs: ["10.66.0.0/24"] });
    const gone = await attach(lists, t, { portMappings: [{ hostPort: 18099, containerPort: 80, protocol: "tcp" }] });
    const kept = await attach(lists, t);
    deleteNetns(gone.netnsPath);
    await lists.gc([kept.request.containerId], uninterrupted);
    t.same(leases(), [kept.four]);
    await lists.check(kept.request, uninterrupted);
    await t.rejects(lists.check(gone.request, uninterrupted), /never attached/);
  });

  const bridgeWith = (more: object, ipam: object = {}) => ({
    type: "bridge",
    bridge: "BRIDGE",
    ipMasq: true,
    ...more,
    ipam: { type: "host-local", dataDir: "LEASES", ranges: [[{ subnet: "10.68.0.0/24" }]], ...ipam },
  });
  const wrongLists = [
    { name: "an MTU that the bridge refuses", text: JSON.stringify({ name: "n", plugins: [bridgeWith({ mtu: 1 })] }) },
    { name: "a plugin that does not exist", text: '{"name":"n","plugins":[{"type":"no-such-plugin"}]}' },
    { name: "a list that does not parse", text: "{" },
    { name: "a list without plugins", text: '{"name":"n","plugins":[]}' },
    { name: "a version that nobody speaks", text: '{"name":"n","cniVersion":"9.0.0","plugins":[{"type":"bridge"}]}' },
  ];
  for (const { name, text } of wrongLists) {
    await t.test(`del() works with ${name}, attached before, never attached and with nothing remembered`, async (t) => {
      const { lists, leases, dir } = setUp(t, { plugins: [bridgeWith({})] });
      const attached = await attach(lists, t);
      const forgotten = await attach(lists, t);
      const held = readdirSync(join(dir, "cache", "attachments")).find((file) =>
        file.includes(forgotten.request.containerId),
      );
      rmSync(join(dir, "cache", "attachments", held ?? ""));
      const list = readFileSync(join(dir, "net.d", "10.conflist"));
      writeFileSync(join(dir, "net.d", "10.conflist"), text.replaceAll("LEASES", join(dir, "leases")));
      const failed = { containerId: randomName("c"), netnsPath: testNetns(t) };
      await t.rejects(lists.add(failed, uninterrupted));
      await lists.del(failed, uninterrupted);
      await lists.del(attached.request, uninterrupted);
      await lists.del(forgotten.request, uninterrupted);
      t.same(readdirSync(join(dir, "cache", "attachments")), []);
      t.same(leases(), [forgotten.four], "what nobody remembers is all that is left");
      await lists.gc([], uninterrupted);
      writeFileSync(join(dir, "net.d", "10.conflist"), list);
      await lists.gc([], uninterrupted);
      t.same(leases(), [], "and is collected once the list is right again");
    });
  }

  await t.test("del() goes on without a plugin, or an IPAM plugin, that is no more", async (t) => {
    for (const plugins of [[bridgeWith({}), { type: "vanishing" }], [bridgeWith({}, { type: "vanishing" })]]) {
      const { lists, leases, dir } = setUp(t, { plugins, hasOwnPrograms: true });
      const program = join(dir, "bin", "vanishing");
      const answer = JSON.stringify({ cniVersion: "1.0.0", ips: [{ address: "10.68.0.9/24" }] });
      mkdirSync(join(dir, "bin"));
      writeFileSync(program, `#!/bin/sh\n[ "$CNI_COMMAND" != ADD ] || echo '${answer}'\n`, { mode: 0o755 });
      const { request, netnsPath } = await attach(lists, t);
      rmSync(program);
      await lists.del(request, uninterrupted);
      t.same(leases(), []);
      t.same(readdirSync(join(dir, "cache", "attachments")), []);
      const pod = kernel.enter(netnsPath);
      t.equal(await pod.findLink("eth0"), undefined);
      pod.close();
    }
  });

  await t.test("del() of a failed ADD that could not be undone goes by the list of that ADD", async (t) => {
    const { lists, leases, dir } = setUp(t, { plugins: [bridgeWith({}), { type: "stubborn" }], hasOwnPrograms: true });
    const program = join(dir, "bin", "stubborn");
    mkdirSync(join(dir, "bin"));
    writeFileSync(program, `#!/bin/sh\necho '{"code":11,"msg":"busy"}'; exit 1\n`, { mode: 0o755 });
    const request = { containerId: randomName("c"), netnsPath: testNetns(t) };
    await t.rejects(lists.add(request, uninterrupted), /busy/);
    await t.rejects(lists.del(request, uninterrupted), /busy/, "worth another attempt");
    writeFileSync(join(dir, "net.d", "10.conflist"), "{");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
    await lists.del(request, uninterrupted);
    t.same(leases(), []);
    t.same(readdirSync(join(dir, "cache", "attachments")), []);
  });

  await t.test("MAC, addresses and MTU are as asked for; wrong ones are refused", async (t) => {
    const plugins = [
      {
        type: "bridge",
        bridge: "BRIDGE",
        mtu: 1400,
        isGateway: true,
        enabledad: true,
        promiscMode: true,
        capabilities: { mac: true, ips: true },
        ipam: {
          type: "host-local",
          dataDir: "LEASES",
          ranges: [[{ subnet: "10.67.0.0/24" }], [{ subnet: "fd67::/64" }]],
          routes: [{ dst: "10.99.0.0/16" }],
        },
      },
    ];
    const { lists, bridge } = setUp(t, { plugins });
    const a = await attach(lists, t, { mac: "02:12:34:56:78:9a", ips: ["10.67.0.77"] });
    t.same([a.four, a.six], ["10.67.0.77", "fd67::2"]);
    const pod = kernel.enter(a.netnsPath);
    t.match(await pod.getLink("eth0"), { mac: "02:12:34:56:78:9a", mtu: 1400, isUp: true });
    t.ok((await pod.listRoutes(4)).some((route) => route.gateway?.value === parseAddress("10.67.0.1").value));
    t.ok(
      (await pod.listAddresses()).every((address) => !address.isTentative),
      "DAD has settled",
    );
    pod.close();
    t.ok((await host.getLink(bridge)).isPromiscuous);
    await t.rejects(attach(lists, t, { mac: "nonsense" }), /MAC address/);
    await t.rejects(attach(lists, t, { ips: ["10.67.0.77"] }), /in use/);
  });

  await t.test("neighbours learn at once where an address lives now", async (t) => {
    const plugins = [
      {
        type: "bridge",
        bridge: "BRIDGE",
        capabilities: { ips: true },
        ipam: {
          type: "host-local",
          dataDir: "LEASES",
          ranges: [[{ subnet: "10.70.0.0/24" }], [{ subnet: "fd70::/64" }]],
        },
      },
    ];
    const { lists } = setUp(t, { plugins });
    const neighbour = await attach(lists, t);
    const before = await attach(lists, t, { ips: ["10.70.0.9", "fd70::9"] });
    await serveIn(t, before.netnsPath, { port: 8071, name: "before" });
    await serveIn(t, before.netnsPath, { port: 8071, name: "before", family: 6 });
    t.match(await ask(neighbour.netnsPath, { address: "10.70.0.9", port: 8071 }), /^before/);
    t.match(await ask(neighbour.netnsPath, { address: "fd70::9", port: 8071 }), /^before/);
    await lists.del(before.request, uninterrupted);
    const after = await attach(lists, t, { ips: ["10.70.0.9", "fd70::9"] });
    const routes = inNetns(neighbour.netnsPath, openRoutes);
    t.teardown(() => routes.close());
    const pod = kernel.enter(after.netnsPath);
    t.teardown(() => pod.close());
    const { mac } = await pod.getLink("eth0");
    for (const [family, address] of [
      [4, "10.70.0.9"],
      [6, "fd70::9"],
    ] as const)
      await until(`the neighbour to know ${address} under its new MAC`, async () =>
        (await listNeighbours(routes, family)).some(
          (entry) => formatAddress(entry.address) === address && entry.mac === mac,
        ),
      );
  });

  await t.test("macspoofchk drops what bears another MAC than the pod's own", async (t) => {
    const plugins = [
      {
        type: "bridge",
        bridge: "BRIDGE",
        macspoofchk: true,
        isGateway: true,
        ipam: { type: "host-local", dataDir: "LEASES", ranges: [[{ subnet: "10.76.0.0/24" }]] },
      },
    ];
    const { lists } = setUp(t, { plugins });
    const server = await attach(lists, t);
    const liar = await attach(lists, t);
    await serveIn(t, server.netnsPath, { port: 8072, name: "server" });
    t.match(await ask(liar.netnsPath, { address: server.four, port: 8072 }), /^server/);
    await lists.check(liar.request, uninterrupted);
    const pod = kernel.enter(liar.netnsPath);
    t.teardown(() => pod.close());
    const link = await pod.getLink("eth0");
    await pod.setLink(link.index, { mac: "02:00:00:00:00:99" });
    t.equal(await ask(liar.netnsPath, { address: server.four, port: 8072 }), "", "under a false MAC nobody answers");
    await pod.setLink(link.index, { mac: link.mac });
    t.match(await ask(liar.netnsPath, { address: server.four, port: 8072 }), /^server/, "under its own they do again");
    const guards = async () =>
      (await nft.list("list tables", uninterrupted)).filter(
        (entry) => (entry.table as { family: string } | undefined)?.family === "bridge",
      ).length;
    t.equal(await guards(), 1);
    await lists.del(liar.request, uninterrupted);
    t.equal(await guards(), 1, "the other is still guarded");
    await lists.del(server.request, uninterrupted);
    t.equal(await guards(), 0, "the last takes the table along");
  });

  await t.test("many pods at once get each their own network", async (t) => {
    const many = process.env.SKIFF_LONG ? 1000 : 60;
    const { lists, leases } = setUp(t, { cidrs: ["10.68.0.0/20", "fd68::/64"] });
    const pods = await Promise.all(Array.from({ length: many }, () => attach(lists, t)));
    t.equal(new Set(pods.map((pod) => pod.four)).size, many);
    t.equal(leases().length, 2 * many);
    await Promise.all(pods.map((pod) => lists.del(pod.request, uninterrupted)));
    t.same(leases(), []);
  });

  await t.test("where iptables drops forwarded packets, ours are accepted there, and withdrawn", async (t) => {
    await nft.run(
      "add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }",
      uninterrupted,
    );
    const { lists } = setUp(t, { cidrs: ["10.69.0.0/24"] });
    const a = await attach(lists, t);
    await attach(lists, t);
    await serveIn(t, outside, { port: 8070, name: "outside" });
    t.match(await ask(a.netnsPath, { address: "198.51.100.2", port: 8070 }), /^outside/);
    const rules = async () =>
      (await nft.list("list chain ip filter FORWARD", uninterrupted)).filter((entry) => "rule" in entry);
    t.equal((await rules()).length, 2);
    await withdrawForwarding(nft, undefined, uninterrupted);
    t.equal((await rules()).length, 0);
    await nft.run("delete table ip filter", uninterrupted);
  });

  const legacy = "where the legacy iptables drops forwarded packets, ours are accepted there, and withdrawn";
  await t.test(legacy, { skip: noLegacyFirewallReason() }, async (t) => {
    const iptables = (...args: string[]) => execFileSync("iptables-legacy", args, { encoding: "utf8" });
    iptables("-P", "FORWARD", "DROP");
    t.teardown(() => iptables("-P", "FORWARD", "ACCEPT"));
    iptables("-A", "FORWARD", "-i", "foreign0", "-j", "ACCEPT");
    const before = iptables("-S", "FORWARD");
    const { lists } = setUp(t, { cidrs: ["10.70.0.0/24"] });
    const a = await attach(lists, t);
    const once = iptables("-S", "FORWARD");
    await attach(lists, t);
    t.equal(iptables("-S", "FORWARD"), once, "accepted once, however many pods");
    await serveIn(t, outside, { port: 8071, name: "outside" });
    t.match(await ask(a.netnsPath, { address: "198.51.100.2", port: 8071 }), /^outside/);
    await acceptForwarding(nft, "10.0.0.0/8", uninterrupted);
    t.match(iptables("-S", "FORWARD"), /-s 10\.0\.0\.0\/8 .*-j ACCEPT/, "a prefix is accepted too");
    await withdrawForwarding(nft, "10.0.0.0/8", uninterrupted);
    t.equal(iptables("-S", "FORWARD"), once);
    await withdrawForwarding(nft, undefined, uninterrupted);
    t.equal(iptables("-S", "FORWARD"), before, "rules of others stay");
    t.equal(await ask(a.netnsPath, { address: "198.51.100.2", port: 8071 }), "");
  });

  await t.test("status() says why there is no network", async (t) => {
    const dir = mkdtempSync(join(tmpdir(), "skiff-cni-"));
    t.teardown(() => rmSync(dir, { recursive: true, force: true }));
    const lists = networkLists({ confDir: join(dir, "none"), binDirs: [], cacheDir: dir, kernel });
    await t.rejects(lists.status(uninterrupted), { code: "unavailable" });
    t.equal(lists.network(), undefined);
    inNetns(outside, () => {});
  });
});
