import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import type { PluginArgs } from "../spec/plugin.ts";
import { hostLocal } from "./plugin.ts";

function makeArgs(
  dataDir: string,
  ipam: Record<string, unknown>,
  extra: Partial<PluginArgs> = {},
  config: Record<string, unknown> = {},
): PluginArgs {
  return {
    containerId: "c1",
    netns: "",
    ifName: "eth0",
    args: {},
    path: [],
    config: {
      cniVersion: "1.1.0",
      name: "net",
      type: "bridge",
      ipam: { type: "host-local", dataDir, ...ipam },
      ...config,
    },
    ...extra,
  };
}

const small = { ranges: [[{ subnet: "10.9.0.0/29" }]] };

function tempDir(t: { teardown(work: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-leases-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

async function give(
  dataDir: string,
  ipam: Record<string, unknown>,
  containerId: string,
  extra: Partial<PluginArgs> = {},
  config = {},
) {
  const result = await hostLocal.add(makeArgs(dataDir, ipam, { containerId, ...extra }, config), uninterrupted);
  return result.ips.map((ip) => ip.address);
}

t.test("add() gives out every address but network, gateway and broadcast, then says that none is left", async (t) => {
  const dir = tempDir(t);
  const given = [];
  for (let index = 0; index < 5; index++) given.push(...(await give(dir, small, `c${index}`)));
  t.same(given, ["10.9.0.2/29", "10.9.0.3/29", "10.9.0.4/29", "10.9.0.5/29", "10.9.0.6/29"]);
  await t.rejects(give(dir, small, "c9"), { cniCode: 11, message: /no free one is left/ });
  await t.rejects(hostLocal.status?.(makeArgs(dir, small).config, [], uninterrupted) ?? Promise.resolve(), {
    name: "Fault",
    cniCode: 50,
  });
});

t.test("add() uses a released address last", async (t) => {
  const dir = tempDir(t);
  await give(dir, small, "a");
  await hostLocal.del(makeArgs(dir, small, { containerId: "a" }), uninterrupted);
  const given = [];
  for (const id of ["b", "c", "d", "e", "f"]) given.push(...(await give(dir, small, id)));
  t.same(given, ["10.9.0.3/29", "10.9.0.4/29", "10.9.0.5/29", "10.9.0.6/29", "10.9.0.2/29"]);
});

t.test("add() gives one address of each range set, with gateways and routes", async (t) => {
  const dir = tempDir(t);
  const ipam = {
    ranges: [
      [{ subnet: "10.9.0.0/24", rangeStart: "10.9.0.100", rangeEnd: "10.9.0.110", gateway: "10.9.0.254" }],
      [{ subnet: "fd09::/64" }],
    ],
    routes: [{ dst: "0.0.0.0/0" }, { dst: "::/0", gw: "fd09::9" }],
  };
  const result = await hostLocal.add(makeArgs(dir, ipam), uninterrupted);
  t.same(result.ips, [
    { address: "10.9.0.100/24", gateway: "10.9.0.254" },
    { address: "fd09::2/64", gateway: "fd09::1" },
  ]);
  t.same(result.routes, ipam.routes);
});

t.test("add() honours requests and refuses those that cannot be met", async (t) => {
  const dir = tempDir(t);
  t.same(await give(dir, small, "a", { args: { IP: "10.9.0.5" } }), ["10.9.0.5/29"]);
  t.same(await give(dir, small, "b", {}, { runtimeConfig: { ips: ["10.9.0.4/29"] } }), ["10.9.0.4/29"]);
  t.same(await give(dir, small, "c", {}, { args: { cni: { ips: ["10.9.0.3"] } } }), ["10.9.0.3/29"]);
  await t.rejects(give(dir, small, "d", { args: { IP: "10.9.0.5" } }), { name: "Fault", cniCode: 11 });
  await t.rejects(give(dir, small, "d", { args: { IP: "10.9.0.1" } }), { cniCode: 7, message: /gateway/ });
  await t.rejects(give(dir, small, "d", { args: { IP: "10.10.0.1" } }), { name: "Fault", cniCode: 7 });
  await t.rejects(give(dir, small, "d", { args: { IP: "nonsense" } }), { name: "Fault", cniCode: 7 });
});

t.test("add() repeated for the same interface gives the same lease", async (t) => {
  const dir = tempDir(t);
  t.same(await give(dir, small, "a"), await give(dir, small, "a"));
  t.not((await give(dir, small, "a", { ifName: "eth1" }))[0], "10.9.0.2/29");
});

t.test("add() gives back the first address when the second set is exhausted", async (t) => {
  const dir = tempDir(t);
  const ipam = { ranges: [[{ subnet: "10.9.0.0/24" }], [{ subnet: "fd09::/126", rangeEnd: "fd09::2" }]] };
  await give(dir, ipam, "a");
  await t.rejects(give(dir, ipam, "b"), { name: "Fault", cniCode: 11 });
  t.same(
    readdirSync(join(dir, "net")).filter((name) => name.startsWith("10.")),
    ["10.9.0.2"],
  );
});

t.test("leases keep the upstream layout, and a torn one is free", async (t) => {
  const dir = tempDir(t);
  await give(dir, small, "a");
  t.equal(readFileSync(join(dir, "net", "10.9.0.2"), "utf8"), "a\r\neth0");
  t.equal(readFileSync(join(dir, "net", "last_reserved_ip.0"), "utf8"), "10.9.0.2");
  t.ok(existsSync(join(dir, "net", "lock")));
  writeFileSync(join(dir, "net", "10.9.0.3"), "");
  t.same(await give(dir, small, "b"), ["10.9.0.3/29"]);
});

t.test("what another program did to the leases meanwhile is seen", async (t) => {
  const dir = tempDir(t);
  for (const id of ["a", "b"]) await give(dir, small, id);
  const file = (name: string) => join(dir, "net", name);
  // Another program of ours, which signs the lock: the times may be the same within a tick of the clock.
  writeFileSync(file("lock"), "another");
  writeFileSync(file("10.9.0.5"), "a\r\neth1");
  rmSync(file("10.9.0.3"));
  await hostLocal.del(makeArgs(dir, small, { containerId: "a", ifName: "eth1" }), uninterrupted);
  t.notOk(existsSync(file("10.9.0.5")));
  t.same(await give(dir, small, "b"), ["10.9.0.4/29"], "its lease was gone");
  // An upstream program, which signs nothing.
  utimesSync(join(dir, "net"), 1, 1);
  writeFileSync(file("10.9.0.6"), "c\r\neth0");
  t.same(await give(dir, small, "c"), ["10.9.0.6/29"], "it has one already");
  t.same(
    readdirSync(join(dir, "net"))
      .filter((name) => /^\d/.test(name))
      .toSorted(),
    ["10.9.0.2", "10.9.0.4", "10.9.0.6"],
  );
});

t.test("gc() collects the leases of containers that are gone, check() misses them", async (t) => {
  const dir = tempDir(t);
  for (const id of ["a", "b"]) await give(dir, small, id);
  const { config } = makeArgs(dir, small);
  await hostLocal.gc?.(
    { ...config, "cni.dev/valid-attachments": [{ containerID: "b", ifname: "eth0" }] },
    [],
    uninterrupted,
  );
  await t.rejects(hostLocal.check(makeArgs(dir, small, { containerId: "a" }), uninterrupted), /holds no address/);
  await hostLocal.check(makeArgs(dir, small, { containerId: "b" }), uninterrupted);
  await hostLocal.del(makeArgs(dir, small, { containerId: "a" }), uninterrupted);
});

t.test("bad ranges are refused with the reason", async (t) => {
  const dir = tempDir(t);
  const rows: [string, unknown, RegExp][] = [
    ["overlap", { ranges: [[{ subnet: "10.9.0.0/24" }], [{ subnet: "10.9.0.0/16" }]] }, /overlaps/],
    ["mixed", { ranges: [[{ subnet: "10.9.0.0/24" }, { subnet: "fd09::/64" }]] }, /mixes/],
    ["no cidr", { ranges: [[{ subnet: "10.9.0.0" }]] }, /not a CIDR/],
    ["host bits", { ranges: [[{ subnet: "10.9.0.1/24" }]] }, /host bits/],
    ["too small", { ranges: [[{ subnet: "10.9.0.0/31" }]] }, /too small/],
    ["outside", { ranges: [[{ subnet: "10.9.0.0/24", rangeStart: "10.8.0.1" }]] }, /rangeStart/],
    ["reversed", { ranges: [[{ subnet: "10.9.0.0/24", rangeStart: "10.9.0.9", rangeEnd: "10.9.0.3" }]] }, /after/],
    ["empty", { ranges: [[]] }, /at least one/],
    ["none", {}, /no ranges/],
    ["route", { ...small, routes: [{ dst: "x" }] }, /not a CIDR/],
  ];
  for (const [name, ipam, message] of rows)
    await t.rejects(give(dir, ipam as Record<string, unknown>, "a"), { cniCode: 7, message }, name);
});

t.test("a thousand add() and del() at once never hold one address twice and leak none", async (t) => {
  const dir = tempDir(t);
  const held = new Set<string>();
  let twice = 0;
  await Promise.all(
    Array.from({ length: 1000 }, async (_, index) => {
      // Fewer addresses than takers over all: some take what others just gave back.
      const args = { ...makeArgs(dir, { ranges: [[{ subnet: "10.9.0.0/22" }]] }), containerId: `c${index}` };
      for (let round = 0; round < 2; round++) {
        const { ips } = await hostLocal.add(args, uninterrupted);
        const address = ips[0]?.address ?? "";
        if (held.has(address)) twice++;
        held.add(address);
        await Promise.resolve();
        held.delete(address);
        await hostLocal.del(args, uninterrupted);
      }
    }),
  );
  t.equal(twice, 0);
  t.same(
    readdirSync(join(dir, "net")).filter((name) => /^\d/.test(name)),
    [],
  );
});

t.test("many processes, some killed, never hold one address twice and leak none", async (t) => {
  const dir = tempDir(t);
  const script = fileURLToPath(new URL("../../test/fixtures/lease-worker.ts", import.meta.url));
  const outcomes = await Promise.all(
    Array.from({ length: 4 }, (_, index) => {
      const [command, ...args] = selfCommand(script, [dir, `w${index}`]);
      const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
      const lines: string[] = [];
      child.stdout.on("data", (chunk: Buffer) => {
        lines.push(chunk.toString());
        // The last two are killed at whatever instruction they are at.
        if (index >= 2 && lines.join("").split("\n").length > 10) child.kill("SIGKILL");
      });
      return new Promise<string[]>((resolve) =>
        child.on("close", () =>
          resolve(
            lines
              .join("")
              .split("\n")
              .filter((line) => line.endsWith("/22")),
          ),
        ),
      );
    }),
  );
  const reported = outcomes.flat().map((line) => line.split(" ") as [string, string]);
  t.equal(new Set(reported.map(([, address]) => address)).size, reported.length);
  for (const [id, address] of reported)
    t.match(readFileSync(join(dir, "net", address.replace("/22", "")), "utf8"), `${id}\r\neth0`);
  const valid = reported.map(([containerID]) => ({ containerID, ifname: "eth0" }));
  const { config } = makeArgs(dir, { ranges: [[{ subnet: "10.9.0.0/22" }]] });
  await hostLocal.gc?.({ ...config, "cni.dev/valid-attachments": valid }, [], uninterrupted);
  const left = readdirSync(join(dir, "net")).filter(
    (name) => /^\d/.test(name) && readFileSync(join(dir, "net", name), "utf8") !== "",
  );
  t.equal(left.length, reported.length);
});
