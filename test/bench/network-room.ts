// What the parts of the network benchmark share: network lists of either kind, services, and processes that make traffic.

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { networkLists, type NetworkLists } from "../../cni/invoke/network-lists.ts";
import type { Kernel } from "../../cni/net/kernel.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import type { EndpointSlice, Service } from "../../plugins/kit/kube/objects/types.ts";

/** Where Debian's CNI programs are. */
export const debian = "/usr/lib/cni";

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

export async function timed(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

export function listsFor(
  kernel: Kernel,
  dir: string,
  name: string,
  subnet: string,
  options: { binDir: string; isBuiltIn: boolean },
): NetworkLists {
  const confDir = join(dir, name, "net.d");
  mkdirSync(confDir, { recursive: true });
  const ipam = { type: "host-local", dataDir: join(dir, name, "leases"), ranges: [[{ subnet }]] };
  const plugins = [
    { type: "bridge", bridge: name, isDefaultGateway: true, ipMasq: true, hairpinMode: true, ipam },
    { type: "portmap", capabilities: { portMappings: true } },
  ];
  writeFileSync(join(confDir, "10.conflist"), JSON.stringify({ cniVersion: "1.0.0", name, plugins }));
  return networkLists({
    confDir,
    binDirs: [options.binDir],
    cacheDir: join(dir, name, "cache"),
    kernel,
    isBuiltIn: () => options.isBuiltIn,
  });
}

export function makeService(index: number, endpoints: number): { key: string; service: Service; slice: EndpointSlice } {
  const name = `s${index}`;
  const clusterIP = `10.${43 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  return {
    key: `bench/${name}`,
    service: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "bench", name },
      spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ name: "http", port: 80, protocol: "TCP" }] },
    } as Service,
    slice: {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { namespace: "bench", name, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      endpoints: Array.from({ length: endpoints }, (_, at) => ({
        addresses: [`10.${100 + at}.${(index >> 8) & 255}.${index & 255}`],
        conditions: { ready: true },
      })),
    } as EndpointSlice,
  };
}

/** One end of a measurement, in a process of its own. */
export function startWorker(args: string[]) {
  const script = fileURLToPath(new URL("../fixtures/traffic.ts", import.meta.url));
  const [command, ...rest] = selfCommand(script, args);
  return spawn(command, rest, { stdio: ["ignore", "pipe", "inherit"] });
}
