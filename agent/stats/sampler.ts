// Samples the node, its pods and containers on a steady beat, so that rates mean something whenever they are asked for.

import { readFileSync } from "node:fs";
import type { Runtime } from "../../cri/api/contract.ts";
import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import type { CgroupSample, StatsSource } from "../../plugins/kit/contracts/stats-source.ts";
import { cgroupPath } from "../../plugins/kit/os/systemd/slice-path.ts";
import type { ObservedPod } from "../model/observed.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { ContainerCgroups } from "./find-cgroups.ts";
import { History } from "./history.ts";
import { type InterfaceCounters, interfacesIn } from "./net-dev.ts";
import { NodeSampler } from "./node-sample.ts";
import { Rates } from "./rates.ts";
import { runtimeSamples } from "./runtime-samples.ts";
import { sumOf } from "./sum.ts";
import { LoadAverages, taskStates } from "./task-states.ts";
import type { ContainerUsage, PodUsage, Snapshot } from "./usage.ts";

export interface SamplerOptions {
  readonly sources: readonly StatsSource[];
  readonly cgroups: Cgroups;
  readonly runtime: Runtime["runtime"];
  readonly pods: () => readonly AgentPod[];
  readonly observed: () => readonly ObservedPod[];
  /** The pod's cgroup as the runtime was told; empty when that was left to the runtime. */
  readonly cgroupOf: (pod: AgentPod) => string;
  readonly node?: NodeSampler;
  /** Called after each look. */
  readonly onLook?: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

const beatMs = 10_000;
// A scrape soon after another gets the same numbers.
const freshMs = 1_000;
// Whole looks are large: as many as cover a few minutes.
const mostRecent = 30;

export class Sampler {
  readonly #options: SamplerOptions;
  readonly #node: NodeSampler;
  readonly #found: ContainerCgroups;
  readonly #rates = new Rates();
  readonly #loads = new LoadAverages();
  readonly history = new History();
  readonly #recent: Snapshot[] = [];
  #latest: Snapshot | undefined;
  #underWay: Promise<Snapshot> | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#node = options.node ?? new NodeSampler();
    this.#found = new ContainerCgroups(options.cgroups);
  }

  async run(call: Call): Promise<void> {
    while (!call.signal.aborted) {
      try {
        await this.#sampleOnce(call);
      } catch (error) {
        if (!call.signal.aborted) this.#options.log.warn({ err: error }, "cannot sample what the node uses");
      }
      await this.#options.clock.sleep(beatMs, call).catch(() => {});
    }
  }

  /** The newest numbers; taken now unless they are of this moment. */
  async snapshot(): Promise<Snapshot> {
    const latest = this.#latest;
    if (latest && Math.abs(this.#options.clock.now() - latest.at) < freshMs) return latest;
    return this.#sampleOnce(uninterrupted);
  }

  /** The last looks, oldest first. */
  get recent(): readonly Snapshot[] {
    return this.#recent;
  }

  /** A group that no beat samples; undefined where it holds nothing. */
  async sampleGroup(path: string, call: Call): Promise<CgroupSample | undefined> {
    const sample = await this.#cgroup(path, call);
    return sample?.cpu || sample?.memory ? sample : undefined;
  }

  #sampleOnce(call: Call): Promise<Snapshot> {
    this.#underWay ??= this.#sample(call).finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #sample(call: Call): Promise<Snapshot> {
    const { clock, pods, observed } = this.#options;
    const at = clock.now();
    const node = this.#node.sample(at);
    const nodeNanoCores = this.#rates.rate("/", at, node.cpuNs.total);
    const byUid = new Map(observed().map((pod) => [pod.uid, pod]));
    const fromRuntime = this.#fromRuntime(at, call);
    const used: PodUsage[] = [];
    for (const pod of pods()) {
      const seen = byUid.get(pod.metadata.uid);
      if (seen?.sandboxes.some(({ isReady }) => isReady)) used.push(await this.#pod(pod, seen, fromRuntime, call));
    }
    const ids = new Set(used.flatMap(({ containers }) => containers.map(({ container }) => container.id)));
    this.#found.retain(ids);
    this.#loads.retain(ids);
    this.#rates.endRound();
    this.#latest = { at, node, ...(nodeNanoCores === undefined ? {} : { nodeNanoCores }), pods: used };
    this.history.add(this.#latest);
    this.#recent.push(this.#latest);
    if (this.#recent.length > mostRecent) this.#recent.shift();
    this.#options.onLook?.();
    return this.#latest;
  }

  async #pod(
    pod: AgentPod,
    seen: ObservedPod,
    fromRuntime: (id: string) => Promise<CgroupSample | undefined>,
    call: Call,
  ): Promise<PodUsage> {
    const cgroup = cgroupPath(this.#options.cgroupOf(pod));
    const containers: ContainerUsage[] = [];
    let network: InterfaceCounters[] | undefined;
    for (const container of seen.containers) {
      if (container.state !== "running") continue;
      const own = cgroup === "" ? undefined : this.#found.find(cgroup, container.id);
      const sample = own === undefined ? await fromRuntime(container.id) : await this.#cgroup(own, call);
      if (!sample) continue;
      if (own !== undefined && network === undefined && pod.spec.hostNetwork !== true) network = this.#network(own);
      containers.push({
        container,
        cgroup: own ?? "",
        sample,
        ...this.#rateOf(container.id, sample),
        ...(own === undefined ? {} : { tasks: this.#tasks(own, container.id, sample.at) }),
      });
    }
    const sample = cgroup === "" ? undefined : await this.#cgroup(cgroup, call);
    const total = sample?.cpu || sample?.memory ? sample : sumOf(containers, this.#options.clock.now());
    return {
      pod,
      cgroup,
      sample: total,
      ...this.#rateOf(pod.metadata.uid, total),
      ...(network ? { network } : {}),
      containers,
    };
  }

  #tasks(cgroup: string, id: string, at: number): NonNullable<ContainerUsage["tasks"]> {
    const states = taskStates(this.#options.cgroups.threads(cgroup));
    return { ...states, load: this.#loads.average(id, at, states.running) };
  }

  #rateOf(key: string, { at, cpu }: CgroupSample): { nanoCores?: number } {
    const nanoCores = cpu && this.#rates.rate(key, at, cpu.usageNs);
    return nanoCores === undefined ? {} : { nanoCores };
  }

  async #cgroup(path: string, call: Call): Promise<CgroupSample | undefined> {
    for (const source of this.#options.sources) {
      const claim = source.claim(path);
      if (claim === "ignore") return undefined;
      if (claim === "mine") return source.sample(path, call);
    }
    return undefined;
  }

  /** Any process of the container stands in the pod's network namespace. */
  #network(cgroup: string): InterfaceCounters[] | undefined {
    const pid = this.#found.firstProcess(cgroup);
    if (pid === undefined) return undefined;
    try {
      return interfacesIn(readFileSync(`/proc/${pid}/net/dev`, "utf8"));
    } catch {
      // It ended between two looks.
      return undefined;
    }
  }

  /** Asked at most once a round, and only when a container needs it. */
  #fromRuntime(at: number, call: Call): (id: string) => Promise<CgroupSample | undefined> {
    let asked: Promise<ReadonlyMap<string, CgroupSample>> | undefined;
    return async (id) => {
      asked ??= runtimeSamples(this.#options.runtime, at, call).catch(() => new Map());
      return (await asked).get(id);
    };
  }
}
