// Keeps one worker per probe of each running pod.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Container, PodStatus, Probe } from "../../plugins/kit/kube/objects/types.ts";
import { newestOf, type ObservedPod } from "../model/observed.ts";
import { type AgentPod, containersOf } from "../model/agent-pod.ts";
import type { Recorder } from "../model/recorder.ts";
import { ProbeCounts } from "./counts.ts";
import { LatestAnswers } from "./latest.ts";
import type { Prober } from "./prober.ts";
import { ProbeWorker } from "./probe-worker.ts";
import { ProbeResults, type ProbeType } from "./results.ts";

export interface ProbeManagerOptions {
  readonly clock: Clock;
  readonly prober: Pick<Prober, "probe">;
  readonly recorder: Recorder;
  readonly observe: (podUid: string) => ObservedPod | undefined;
  readonly hostIp: () => string;
  /** Called with the uid of a pod whose verdict changed. */
  readonly onChange: (podUid: string) => void;
}

const types: readonly ProbeType[] = ["startup", "liveness", "readiness"];

export class ProbeManager {
  readonly results: ProbeResults;
  readonly counts = new ProbeCounts();
  readonly latest = new LatestAnswers();
  readonly #options: ProbeManagerOptions;
  readonly #workersByPod = new Map<string, Map<string, ProbeWorker>>();

  constructor(options: ProbeManagerOptions) {
    this.#options = options;
    this.results = new ProbeResults((podUid, type) => {
      // Readiness and liveness wait for the startup verdict and go on at once when it is there.
      if (type === "startup") this.#poke(podUid);
      options.onChange(podUid);
    });
  }

  /** Brings the workers in line with the pod; called after every look at it. */
  update(pod: AgentPod, previous: PodStatus | undefined, runtimeName: string): void {
    const { uid } = pod.metadata;
    let workers = this.#workersByPod.get(uid);
    for (const { container, role } of containersOf(pod)) {
      if (role === "init" || role === "ephemeral") continue;
      for (const type of types) {
        const probe = probeOf(container, type);
        if (!probe) continue;
        workers ??= new Map();
        this.#workersByPod.set(uid, workers);
        const key = `${type}/${container.name}`;
        if (workers.has(key)) continue;
        const worker = this.#open(pod, container, type, probe);
        workers.set(key, worker);
        if (type === "startup") this.#assumeStarted(worker, container, uid, previous, runtimeName);
      }
    }
    this.#poke(uid);
  }

  /** A pod that is being taken down is neither killed nor started by probes; readiness goes on. */
  stopLivenessAndStartup(podUid: string): void {
    for (const [key, worker] of this.#workersByPod.get(podUid) ?? []) {
      if (!key.startsWith("readiness/")) worker.stop();
    }
  }

  remove(podUid: string): void {
    for (const worker of this.#workersByPod.get(podUid)?.values() ?? []) worker.stop();
    this.#workersByPod.delete(podUid);
    this.counts.remove(podUid);
    this.latest.remove(podUid);
  }

  close(): void {
    for (const uid of this.#workersByPod.keys()) this.remove(uid);
  }

  #poke(podUid: string): void {
    for (const worker of this.#workersByPod.get(podUid)?.values() ?? []) worker.poke();
  }

  #assumeStarted(
    worker: ProbeWorker,
    container: Container,
    uid: string,
    previous: PodStatus | undefined,
    runtimeName: string,
  ): void {
    const running = newestOf(this.#options.observe(uid), container.name);
    const statuses = [...(previous?.containerStatuses ?? []), ...(previous?.initContainerStatuses ?? [])];
    const status = statuses.find(({ name }) => name === container.name);
    if (running?.state !== "running" || !status?.started) return;
    if (status.containerID === `${runtimeName}://${running.id}`) worker.assume(running.id);
  }

  #open(pod: AgentPod, container: Container, type: ProbeType, probe: Probe): ProbeWorker {
    const { clock, prober, recorder, observe, hostIp } = this.#options;
    const look = () => {
      const observed = observe(pod.metadata.uid);
      const own = observed?.sandboxes[0]?.ips[0];
      return { container: newestOf(observed, container.name), podIp: pod.spec.hostNetwork ? hostIp() : (own ?? "") };
    };
    return new ProbeWorker({
      clock,
      prober,
      results: this.results,
      counts: this.counts,
      latest: this.latest,
      recorder,
      pod,
      container,
      type,
      probe,
      look,
    });
  }
}

function probeOf(container: Container, type: ProbeType): Probe | undefined {
  return type === "startup"
    ? container.startupProbe
    : type === "liveness"
      ? container.livenessProbe
      : container.readinessProbe;
}
