// Two agents on one host: side by side with networks of their own, and refused in one line where the second was started by mistake. The
// first never notices.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { Resolver } from "node:dns/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { openKernel } from "../../cni/net/kernel.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { formatPrefix } from "../../plugins/kit/os/net/address.ts";
import { noLegacyFirewallReason, noNetworkReason, playHost } from "../harness/network.ts";
import { freePort, startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const run = promisify(execFile);
const launcher = join(import.meta.dirname, "../../skiff");

/** A search path that leads to every program of this box but one. */
function pathWithout(t: { testdir(): string }, missing: string): string {
  const dir = t.testdir();
  const folders = (process.env.PATH ?? "").split(":").filter((folder) => existsSync(folder));
  const programs = new Map(
    folders.reverse().flatMap((folder) => readdirSync(folder).map((name) => [name, join(folder, name)])),
  );
  programs.delete(missing);
  for (const [name, program] of programs) symlinkSync(program, join(dir, name));
  return dir;
}

t.test("two agents on one host", { skip: noNetworkReason(), timeout: 600_000 }, async (t) => {
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const first = await startSkiff({ flags: ["--runtime=native"] });
  t.teardown(async () => {
    await first.stop();
    first.remove();
  });
  /** What stands in the kernel for pods and services. */
  const state = async () => ({
    tables: (await kernel.nft.list("list tables", uninterrupted)).map(({ table }) => (table as { name: string }).name),
    links: (await kernel.host.listLinks()).map(({ name }) => name).sort(),
    addresses: (await kernel.host.listAddresses()).map(({ prefix }) => formatPrefix(prefix)).sort(),
    routes: (await kernel.host.listRoutes(4)).length,
  });
  const resolves = async () => {
    const resolver = new Resolver({ timeout: 2000, tries: 3 });
    resolver.setServers([first.clusterDns]);
    return (await resolver.resolve4("kubernetes.default.svc.cluster.local"))[0];
  };
  const service = await until("cluster DNS to answer", resolves, 60_000);
  const before = await until(
    "the rules of services",
    async () => {
      const now = await state();
      return now.tables.some((name) => name.startsWith("skiff_services")) && now;
    },
    60_000,
  );

  await t.test("the second is refused in one line when its networks are those of the first", async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), "skiff-second-"));
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
    const other = first.clusterCidr.replace(/^10\./, "172.");
    const services = first.clusterDns.replace(/10$/, "0/17");
    for (const [name, cidr, serviceCidr] of [
      ["same networks", first.clusterCidr, services],
      ["part of the pods' network", first.clusterCidr.replace("/17", "/24"), "10.63.0.0/17"],
      ["same services, so the same DNS address", other, services],
      ["other DNS address, but part of the services", other, services.replace("0/17", "128/25")],
    ] as const) {
      const flags = {
        "data-dir": dataDir,
        "node-name": first.nodeName,
        "https-port": await freePort(),
        "kubelet-port": await freePort(),
        "healthz-port": 0,
        "proxy-healthz-port": 0,
        "proxy-metrics-port": 0,
        "ui-port": 0,
        "cluster-cidr": cidr,
        "service-cidr": serviceCidr,
        runtime: "native",
        "stop-pods-on-exit": true,
      };
      const said = await run(launcher, [
        "up",
        ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
      ]).then(
        () => "it did not refuse",
        (error: { stderr: string }) => error.stderr.trim(),
      );
      const lines = said.split("\n").filter((line) => line.startsWith("skiff:"));
      t.same(lines.length, 1, said);
      t.match(
        lines[0],
        new RegExp(`^skiff: Cannot use the network .*: another agent on this host \\(process ${first.process.pid}\\)`),
        name,
      );
      t.same(await state(), before, `${name}: nothing of the first is touched`);
    }
    await run(launcher, [
      "uninstall",
      "--yes",
      "--this-instance-only",
      `--data-dir=${dataDir}`,
      `--cluster-cidr=${first.clusterCidr}`,
      `--cluster-dns=${first.clusterDns}`,
      "--runtime=native",
    ]);
    t.same(await state(), before, "nor when the second is uninstalled");
    t.equal(await resolves(), service, "names are resolved as before");
  });

  await t.test("with networks of its own it runs beside, and takes nothing along when it goes", async (t) => {
    // A firewall that this box has no program for: the user must hear of it where users look.
    const hasLegacy = noLegacyFirewallReason() === false;
    if (hasLegacy) await run("iptables-legacy", ["-P", "FORWARD", "DROP"]);
    const second = await startSkiff({ flags: ["--runtime=native"], env: { PATH: pathWithout(t, "iptables-legacy") } });
    t.teardown(() => second.remove());
    if (hasLegacy) {
      const told = await until(
        "the event of what is wrong with the host's network",
        () =>
          second.kubectl(
            "get",
            "events",
            "--field-selector=reason=NetworkProblem,involvedObject.kind=Node",
            "-o",
            "jsonpath={.items[*].message}",
          ),
        60_000,
      );
      t.match(told, /legacy iptables is in use and its program is not there.*fix: apt-get install iptables/);
    }
    await until("its rules", async () => (await state()).tables.length === before.tables.length + 1, 60_000);
    await second.stop();
    t.same(await state(), before);
    t.equal(await resolves(), service);
  });
});
