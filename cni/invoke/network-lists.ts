// What a container runtime calls to give a pod its network: reads the lists of a folder, runs them, remembers what was done.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import { Gate } from "../../plugins/kit/base/gate.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import { type Kernel, openKernel } from "../net/kernel.ts";
import { type NetworkList, parseNetworkList } from "../spec/config.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import type { CniResult } from "../spec/result.ts";
import { hasVerb } from "../spec/version.ts";
import { pluginFinder } from "./builtins.ts";
import { type Attachment, AttachmentCache } from "./cache.ts";
import { addList, checkList, delList, type ListRun } from "./run-list.ts";

export interface NetworkListsOptions {
  /** Where `*.conflist`, `*.conf` and `*.json` lie; the first by name is used. */
  readonly confDir: string;
  /** Where foreign programs are looked for. */
  readonly binDirs: readonly string[];
  readonly cacheDir: string;
  /** Which of our types are called in process; all of them by default. */
  readonly isBuiltIn?: (type: string) => boolean;
  readonly kernel?: Kernel;
  readonly log?: Log;
}

interface PortMappingRequest {
  readonly hostPort: number;
  readonly containerPort: number;
  readonly protocol: string;
  readonly hostIP?: string;
}

export interface AttachRequest {
  readonly containerId: string;
  readonly netnsPath: string;
  /** `eth0` when absent. */
  readonly ifName?: string;
  readonly podNamespace?: string;
  readonly podName?: string;
  readonly podUid?: string;
  readonly portMappings?: readonly PortMappingRequest[];
  readonly bandwidth?: { ingressRate?: number; ingressBurst?: number; egressRate?: number; egressBurst?: number };
  readonly dns?: { servers?: readonly string[]; searches?: readonly string[]; options?: readonly string[] };
  readonly ips?: readonly string[];
  readonly mac?: string;
  readonly cgroupPath?: string;
}

export interface NetworkLists {
  /** Attaches the pod, loopback included. A failed attempt leaves nothing behind. */
  add(request: AttachRequest, call: Call): Promise<CniResult>;
  check(request: AttachRequest, call: Call): Promise<void>;
  /** Idempotent; works after a restart, with the namespace gone and the list on disk changed or removed. */
  del(request: AttachRequest, call: Call): Promise<void>;
  /** Detaches everything that is not of these containers and tells each plugin to collect what it still holds for others. */
  gc(containerIds: readonly string[], call: Call): Promise<void>;
  /** Throws a Fault `unavailable` with the reason while no pod could be attached. */
  status(call: Call): Promise<void>;
  /** The name of the network in use, or undefined while there is no list. */
  network(): string | undefined;
}

const loopbackList: NetworkList = {
  cniVersion: "1.0.0",
  name: "cni-loopback",
  disableCheck: false,
  disableGC: true,
  plugins: [{ cniVersion: "1.0.0", name: "cni-loopback", type: "loopback" }],
};

/** The list in use: the first file by name, as every CNI runtime chooses. One that cannot be used is told of, not passed over. */
function readNetworkList(confDir: string): NetworkList | undefined {
  let names: string[];
  try {
    names = readdirSync(confDir);
  } catch {
    // The folder is made when the network is known; until then there is no list.
    return undefined;
  }
  const [first] = names.filter((name) => /\.(conflist|conf|json)$/.test(name)).sort();
  if (!first) return undefined;
  try {
    return parseNetworkList(readFileSync(join(confDir, first), "utf8"));
  } catch (error) {
    throw toFault(error, `Cannot use the network list "${join(confDir, first)}"`, "invalid");
  }
}

/**
 * Each attachment holds descriptors while it is made, and above some 900 of them nftables is reached by a program only. More at once would
 * be no quicker: it is work of the kernel under locks that all of them take.
 */
const atOnce = 16;
const patienceMs = 3000;

export function networkLists(options: NetworkListsOptions): NetworkLists {
  const log = options.log ?? noLog;
  const kernel = options.kernel ?? openKernel();
  const find = pluginFinder(kernel, options.isBuiltIn);
  const cache = new AttachmentCache(options.cacheDir);
  const path = options.binDirs;
  const gate = new Gate({ width: atOnce, clock: systemClock, patienceMs });
  const runOf = (list: NetworkList, attachment: Attachment): ListRun => ({ list, attachment, find, path, log });

  const requireList = (): NetworkList => {
    const list = readNetworkList(options.confDir);
    if (!list)
      throw new Fault("unavailable", `The network is not ready: there is no network list in "${options.confDir}" yet`);
    return list;
  };

  /** The list, where there is one to go by: a list that cannot be read keeps nobody from leaving. */
  const usableList = (): NetworkList | undefined => {
    try {
      return readNetworkList(options.confDir);
    } catch (error) {
      log.warn({ err: error }, "the network list is not usable; what was remembered at ADD is all that is undone");
      return undefined;
    }
  };

  const detach = async (list: NetworkList, attachment: Attachment, result: CniResult | undefined, call: Call) => {
    await delList(runOf(list, attachment), result, call);
    cache.remove(list.name, attachment.containerId, attachment.ifName);
  };

  const attach = async (request: AttachRequest, call: Call): Promise<CniResult> => {
    const list = requireList();
    const attachment = attachmentOf(request);
    const loopback = await addList(runOf(loopbackList, { ...attachment, ifName: "lo" }), call);
    if ("error" in loopback) throw loopback.error;
    // Written before the first step, so that GC knows of an ADD that was killed.
    cache.write({ attachment, list });
    const outcome = await addList(runOf(list, attachment), call);
    if ("error" in outcome) {
      // What could not be undone yet is undone by the DEL of the failed sandbox, or by GC: both go by what is remembered here.
      if (outcome.isUndone) cache.remove(list.name, attachment.containerId, attachment.ifName);
      throw outcome.error;
    }
    const { result } = outcome;
    cache.write({ attachment, list, result });
    return result;
  };

  const detachAll = async (request: AttachRequest, call: Call): Promise<void> => {
    const attachment = attachmentOf(request);
    const cached = cache.find(attachment.containerId, attachment.ifName);
    for (const entry of cached)
      await detach(entry.list, { ...entry.attachment, netns: attachment.netns }, entry.result, call);
    if (cached.length > 0) return;
    const list = usableList();
    if (list) await detach(list, attachment, undefined, call);
  };

  return {
    add: (request, call) => gate.run(() => attach(request, call)),
    del: (request, call) => gate.run(() => detachAll(request, call)),

    async check(request, call) {
      const attachment = attachmentOf(request);
      const [cached] = cache.find(attachment.containerId, attachment.ifName);
      if (!cached)
        throw new CniFault(cniCode.unknownContainer, `Container "${attachment.containerId}" was never attached`);
      await checkList(runOf(cached.list, { ...cached.attachment, netns: attachment.netns }), cached.result, call);
    },

    async gc(containerIds, call) {
      const valid = new Set(containerIds);
      for (const { attachment, list, result } of cache.list()) {
        if (valid.has(attachment.containerId)) continue;
        try {
          await detach(list, attachment, result, call);
        } catch (error) {
          log.warn(
            { err: error, container: attachment.containerId },
            "could not detach a container that is gone; will try again",
          );
        }
      }
      const list = usableList();
      if (!list || list.disableGC) return;
      const attachments = cache
        .list()
        .filter((entry) => entry.list.name === list.name)
        .map(({ attachment }) => ({ containerID: attachment.containerId, ifname: attachment.ifName }));
      for (const config of list.plugins) {
        const told = { ...config, "cni.dev/valid-attachments": attachments };
        try {
          await find(config.type, path).gc?.(told, path, call);
        } catch (error) {
          log.warn(
            { err: error, network: list.name, plugin: config.type },
            "a network plugin could not collect what is stale",
          );
        }
      }
    },

    async status(call) {
      const list = requireList();
      for (const config of list.plugins) {
        const plugin = find(config.type, path);
        if (hasVerb(list.cniVersion, "STATUS")) await plugin.status?.(config, path, call);
      }
    },

    network: () => readNetworkList(options.confDir)?.name,
  };
}

function attachmentOf(request: AttachRequest): Attachment {
  const args: Record<string, string> = { IgnoreUnknown: "1" };
  if (request.podNamespace) args.K8S_POD_NAMESPACE = request.podNamespace;
  if (request.podName) args.K8S_POD_NAME = request.podName;
  if (request.podUid) args.K8S_POD_UID = request.podUid;
  args.K8S_POD_INFRA_CONTAINER_ID = request.containerId;
  const capabilities: Record<string, unknown> = {};
  if (request.portMappings?.length)
    capabilities.portMappings = request.portMappings.map((mapping) => ({
      ...mapping,
      protocol: mapping.protocol.toLowerCase(),
    }));
  if (request.bandwidth) capabilities.bandwidth = request.bandwidth;
  if (request.dns) capabilities.dns = request.dns;
  if (request.ips?.length) capabilities.ips = request.ips;
  if (request.mac) capabilities.mac = request.mac;
  if (request.cgroupPath) capabilities.cgroupPath = request.cgroupPath;
  return {
    containerId: request.containerId,
    ifName: request.ifName ?? "eth0",
    netns: request.netnsPath,
    args,
    capabilities,
  };
}
