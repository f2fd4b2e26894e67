// A room full of pod workers on any runtime, without an API server: for tests that look at what workers do.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Runtime } from "../../cri/api/contract.ts";
import { ImageManager } from "../../agent/images/image-manager.ts";
import { Pleg } from "../../agent/pleg/pleg.ts";
import type { AgentPod } from "../../agent/model/agent-pod.ts";
import type { PodDeps } from "../../agent/pods/deps.ts";
import { type NodeResources, nothingAllotted } from "../../agent/resources/contract.ts";
import type { NodeFacts } from "../../agent/node/contract.ts";
import { PodWorkers } from "../../agent/pods/pod-workers.ts";
import { ProbeManager } from "../../agent/probes/probe-manager.ts";
import { Prober } from "../../agent/probes/prober.ts";
import { StatusManager } from "../../agent/status/manager.ts";
import type { VolumeManager } from "../../agent/volumes/contract.ts";
import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import { openProbes } from "./probe-plugins.ts";

export interface PodRoom {
  readonly workers: PodWorkers;
  readonly deps: PodDeps;
  readonly events: { pod: string; reason: string; message: string }[];
  /** Resolves with the status as soon as it fits. */
  until(uid: string, fits: (status: PodStatus) => boolean): Promise<PodStatus>;
  close(): Promise<void>;
}

/** Volumes that are plain directories: enough for pods whose volumes are not the point. */
function plainVolumes(dir: string): VolumeManager {
  return {
    mount: async (pod) => new Map((pod.spec.volumes ?? []).map(({ name }) => [name, { hostPath: join(dir, name) }])),
    subPath: async ({ volume, subPath }) => join(volume.hostPath, subPath),
    supplementalGroups: () => [],
    usage: async () => undefined,
    unmountAll: async () => {},
    podsWithVolumes: async () => [],
    inUse: () => [],
    overLimit: async () => undefined,
    localUsage: async () => ({ bytes: 0, inodes: 0 }),
    adopt: () => {},
    update: () => {},
    wake: () => {},
    run: async () => {},
  };
}

export const everythingFits: NodeResources = {
  admit: () => undefined,
  refuseResize: () => undefined,
  preparePod: async () => {},
  allot: async () => nothingAllotted,
  releasePod: async () => {},
};

export async function openPodRoom(
  runtime: Runtime,
  options: { clock?: Clock; deps?: Partial<PodDeps>; stateDir?: string } = {},
): Promise<PodRoom> {
  const clock = options.clock ?? systemClock;
  const dir = options.stateDir ?? (await mkdtemp(join(tmpdir(), "skiff-pods-")));
  const stop = new AbortController();
  const call = { signal: stop.signal };
  const events: PodRoom["events"] = [];
  const recorder: PodDeps["recorder"] = {
    event: (object, _, reason, message) => events.push({ pod: object.metadata.name ?? "", reason, message }),
  };
  const node: NodeFacts = {
    nodeName: "node",
    hostIps: () => ["127.0.0.1"],
    allocatable: () => ({ cpu: "2", memory: "1Gi" }),
    clusterDns: ["10.43.0.10"],
    clusterDomain: "cluster.local",
    resolver: () => ({ servers: [], searches: [], options: [] }),
    hostsFile: () => "",
    podsDir: join(dir, "pods"),
    logsDir: join(dir, "logs"),
    seccompDir: join(dir, "seccomp"),
    seccompDefault: true,
    hasAppArmor: false,
    cgroupVersion: 1,
    hasMemoryController: true,
    hasSwapController: false,
    memoryCapacityBytes: 1n << 30n,
    hasRecursiveReadOnly: () => true,
    usersOf: () => undefined,
    cgroupParent: () => "",
  };
  const absent = async () => {
    throw new Fault("not-found", "there are no objects here");
  };
  const wake = (uid: string) => workers.wake(uid);
  const pleg = new Pleg({ runtime, podsDir: node.podsDir, clock, log: noLog, onChange: wake });
  const deps: PodDeps = {
    runtime,
    runtimeName: "fake",
    pleg,
    images: new ImageManager({
      image: runtime.image,
      clock,
      recorder,
      pullSecrets: async () => [],
      sources: [],
      parallelPulls: 3,
      pulls: () => [],
      log: noLog,
    }),
    volumes: plainVolumes(dir),
    probes: new ProbeManager({
      clock,
      prober: new Prober(await openProbes(runtime)),
      recorder,
      observe: (uid) => pleg.peek(uid),
      hostIp: () => "127.0.0.1",
      onChange: wake,
    }),
    statuses: new StatusManager({ client: undefined, clock, log: noLog, mirrorOf: () => undefined }),
    objects: { configMap: absent, secret: absent, services: () => [] },
    runtimeHandler: async () => "",
    hooks: [],
    resources: everythingFits,
    node,
    recorder,
    clock,
    log: noLog,
    ...options.deps,
  };
  const workers = new PodWorkers(deps);
  await deps.pleg.relist(call);
  const running = [workers.run(call), deps.pleg.run(call)];
  return {
    workers,
    deps,
    events,
    async until(uid, fits) {
      for (;;) {
        const status = deps.statuses.get(uid) ?? {};
        if (fits(status)) return status;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    },
    async close() {
      stop.abort();
      deps.probes.close();
      await Promise.allSettled(running);
      if (!options.stateDir) await rm(dir, { recursive: true, force: true });
    },
  };
}

export function testPod(
  name: string,
  spec: Partial<AgentPod["spec"]> = {},
  metadata: Partial<AgentPod["metadata"]> = {},
): AgentPod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: `uid-${name}`, ...metadata },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "main", image: "busybox:1", command: ["pause"] }],
      ...spec,
    },
  };
}

export const isReady = (status: PodStatus): boolean =>
  (status.conditions ?? []).some(({ type, status: value }) => type === "Ready" && value === "True");
