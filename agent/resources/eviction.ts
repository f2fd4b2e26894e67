// Ends pods when the node runs short of memory, disk or process ids, one at a time, and pods that use more local storage than they may.
// Pressure stays told for a while after it was last seen, so that the node does not flap; a threshold that made a pod go counts as crossed
// until what it asks to be freed beyond is free, too.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { formatQuantity, parseQuantity, quantityOf, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import type { EvictionConfig } from "../config/agent-config.ts";
import type { Threshold } from "../config/eviction-thresholds.ts";
import type { Pressure } from "../node/node-status.ts";
import { type AgentPod, isCriticalPod, podName } from "../model/agent-pod.ts";
import { type EventSubject, type Recorder } from "../model/recorder.ts";
import { isTerminalPhase } from "../model/phase.ts";
import type { Verdict } from "../model/verdict.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import { evictionOrder, type PodUsage, type RankedPod, requestOf, resourceOf, type Signal } from "./eviction-rank.ts";
import { type Crossing, crossings, readSignals, type SignalSources } from "./signals.ts";

const lookMs = 10_000;
const defaultGraceSeconds = 30;
/** What is nearly gone leaves no time for anybody. */
const immediateGraceSeconds = 1;
/** A pod that was evicted frees what it held only when it is gone: nobody else is evicted until then, or for so long. */
const releasedWithinMs = 30_000;

export interface EvictionOptions {
  readonly config: EvictionConfig;
  readonly signals: SignalSources;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: Recorder;
  /** Events of the node are about it. */
  readonly node: EventSubject;
  readonly volumes: Pick<VolumeManager, "overLimit">;
  readonly pods: () => readonly AgentPod[];
  /** What these pods use now. */
  readonly usage: (pods: readonly AgentPod[], call: Call) => Promise<ReadonlyMap<string, PodUsage>>;
  readonly end: (podUid: string, verdict: Verdict, graceSeconds?: number) => void;
  /** The pod has stopped and given back what it held. */
  readonly isReleased: (podUid: string) => boolean;
  /** Frees disk without ending anybody. */
  readonly reclaimDisk: (call: Call) => Promise<void>;
  readonly onPressure: () => void;
  /** Told the signal for which a pod is ended. */
  readonly onEvicted?: (signal: string) => void;
}

export class Eviction {
  readonly #options: EvictionOptions;
  readonly #seenAt: Record<keyof Pressure, number> = { memory: -Infinity, disk: -Infinity, pids: -Infinity };
  /** Since when each threshold is crossed without a break. */
  readonly #since = new Map<Threshold, number>();
  /** Those that pods had to go for, until enough is free again. */
  #acting: readonly Threshold[] = [];
  #told = "";
  #leaving: { readonly uid: string; readonly since: number } | undefined;

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  pressure(): Pressure {
    const now = this.#options.clock.monotonic();
    const is = (kind: keyof Pressure) => now - this.#seenAt[kind] < this.#options.config.pressureMs;
    return { memory: is("memory"), disk: is("disk"), pids: is("pids") };
  }

  /** Pods that would make it worse are refused while it lasts. */
  refuses(pod: AgentPod, qosClass: string): Verdict | undefined {
    const { memory, disk, pids } = this.pressure();
    if (isCriticalPod(pod) || (!memory && !disk && !pids)) return undefined;
    if (memory && !disk && !pids && qosClass !== "BestEffort") return undefined;
    const conditions = [memory && "MemoryPressure", disk && "DiskPressure", pids && "PIDPressure"].filter(Boolean);
    return { reason: "Evicted", message: `The node had condition: [${conditions.join(" ")}]. ` };
  }

  async run(call: Call): Promise<void> {
    while (!call.signal.aborted) {
      try {
        await this.look(call);
      } catch (error) {
        if (!call.signal.aborted) this.#options.log.warn({ err: error }, "cannot look for pressure on the node");
      }
      await this.#options.clock.sleep(lookMs, call).catch(() => {});
    }
  }

  /** Looks once; ends every pod that is over its own limits, else at most one for pressure. */
  async look(call: Call): Promise<void> {
    const { config, signals, recorder, node } = this.#options;
    const readings = readSignals(signals);
    const low = merged(crossings(readings, config.thresholds), crossings(readings, this.#acting, { reclaiming: true }));
    this.#note(low);
    const lasting = this.#lasting(low);
    this.#acting = lasting.map(({ threshold }) => threshold);
    const pods = this.#options
      .pods()
      .filter((pod) => !isTerminalPhase(pod.status?.phase) && !pod.metadata.deletionTimestamp);
    const measured = lasting.length > 0 ? pods : pods.filter(hasStorageLimit);
    const usage = measured.length > 0 ? await this.#options.usage(measured, call) : new Map<string, PodUsage>();
    if ((await this.#endOverLimit(pods, usage, call)) > 0) return;
    // Without memory nothing else can be put right.
    const worst = lasting.find(({ threshold }) => threshold.signal === "memory.available") ?? lasting[0];
    if (!worst || this.#isSomebodyLeaving()) return;
    const { signal, graceMs } = worst.threshold;
    recorder.event(node, "Warning", "EvictionThresholdMet", `Attempting to reclaim ${resourceOf(signal)}`);
    const hasImageFs = signals.hasImageFs();
    if (await this.#reclaims(signal, hasImageFs, call)) return;
    const first = evictionOrder({ signal, hasImageFs }, pods, (uid) => usage.get(uid))[0];
    const own = first?.pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
    const grace = graceMs === undefined ? immediateGraceSeconds : Math.min(own, config.maxPodGraceSeconds);
    if (first) this.#evict(first, worst, grace);
    else this.#options.log.warn({ signal }, "the node runs short and there is no pod to evict");
  }

  /** Whether enough became free without ending anybody. Removing images and dead containers frees the file system that they lie on. */
  async #reclaims(signal: Signal, hasImageFs: boolean, call: Call): Promise<boolean> {
    const { reclaimDisk, signals, config } = this.#options;
    if (!signal.includes("fs.") || (hasImageFs && !signal.startsWith("imagefs."))) return false;
    await reclaimDisk(call);
    return crossings(readSignals(signals), config.thresholds).length === 0;
  }

  #isSomebodyLeaving(): boolean {
    const { clock, isReleased } = this.#options;
    const leaving = this.#leaving;
    return leaving !== undefined && !isReleased(leaving.uid) && clock.monotonic() - leaving.since < releasedWithinMs;
  }

  /** Those that have been crossed for their whole grace period. */
  #lasting(low: readonly Crossing[]): Crossing[] {
    const now = this.#options.clock.monotonic();
    for (const threshold of this.#since.keys())
      if (!low.some((crossing) => crossing.threshold === threshold)) this.#since.delete(threshold);
    for (const { threshold } of low) if (!this.#since.has(threshold)) this.#since.set(threshold, now);
    return low.filter(({ threshold }) => now - (this.#since.get(threshold) ?? now) >= (threshold.graceMs ?? 0));
  }

  #note(low: readonly Crossing[]): void {
    const now = this.#options.clock.monotonic();
    for (const { threshold } of low) {
      const { signal } = threshold;
      this.#seenAt[signal === "memory.available" ? "memory" : signal === "pid.available" ? "pids" : "disk"] = now;
    }
    const told = JSON.stringify(this.pressure());
    if (told === this.#told) return;
    this.#told = told;
    this.#options.onPressure();
  }

  #evict({ pod, usage }: RankedPod, { threshold, quantity, available }: Crossing, graceSeconds: number): void {
    const { signal } = threshold;
    const resource = resourceOf(signal);
    const amount = (bytes: number) => formatQuantity(quantityOf(BigInt(Math.max(0, Math.floor(bytes))), "binary"));
    const parts = [
      `The node was low on resource: ${resource}. Threshold quantity: ${amount(quantity)}, available: ${amount(available)}. `,
    ];
    for (const [name, own] of usage.containers) {
      const used = resource === "memory" ? own.memoryBytes : own.rootBytes + own.logBytes;
      const request = requestOf(pod, resource, name);
      if (used > request && (resource === "memory" || resource === "ephemeral-storage")) {
        parts.push(
          `Container ${name} was using ${amount(used)}, request is ${amount(request)}, has larger consumption of ${resource}. `,
        );
      }
    }
    this.#leaving = { uid: pod.metadata.uid, since: this.#options.clock.monotonic() };
    const message = parts.join("");
    const condition = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message };
    this.#end(pod, signal, { reason: "Evicted", message, condition }, graceSeconds);
  }

  /** How many were over a limit of their own. */
  async #endOverLimit(pods: readonly AgentPod[], usage: ReadonlyMap<string, PodUsage>, call: Call): Promise<number> {
    let count = 0;
    for (const pod of pods) {
      const over = (await this.#overVolume(pod, call)) ?? overStorage(pod, usage.get(pod.metadata.uid));
      if (!over) continue;
      count++;
      this.#end(pod, over.signal, { reason: "Evicted", message: over.message }, immediateGraceSeconds);
    }
    return count;
  }

  async #overVolume(pod: AgentPod, call: Call): Promise<OverLimit | undefined> {
    const volume = await this.#options.volumes.overLimit(pod, call);
    if (!volume) return undefined;
    const limit = formatQuantity(quantityOf(BigInt(volume.limitBytes), "binary"));
    const message = `Usage of EmptyDir volume "${volume.volume}" exceeds the limit "${limit}". `;
    return { signal: "emptydirfs.limit", message };
  }

  #end(pod: AgentPod, signal: string, verdict: Verdict, graceSeconds: number): void {
    const { recorder, log, end } = this.#options;
    const { message } = verdict;
    this.#options.onEvicted?.(signal);
    log.warn({ pod: podName(pod), message }, "evicting a pod");
    recorder.event(pod, "Warning", "Evicted", message);
    end(pod.metadata.uid, verdict, graceSeconds);
  }
}

interface OverLimit {
  readonly signal: string;
  readonly message: string;
}

function overStorage(pod: AgentPod, usage: PodUsage | undefined): OverLimit | undefined {
  if (!usage || !hasStorageLimit(pod)) return undefined;
  const limits = pod.spec.containers.flatMap(({ name, resources }) => {
    const text = resources?.limits?.["ephemeral-storage"];
    return text === undefined ? [] : [{ name, text, bytes: quantityValue(parseQuantity(text)) }];
  });
  // Upstream leaves containers without a limit out of the sum.
  const total = limits.reduce((sum, { bytes }) => sum + bytes, 0n);
  if (usage.rootBytes + usage.localBytes > total) {
    const limit = formatQuantity(quantityOf(total, "binary"));
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
    return { signal: "ephemeralpodfs.limit", message };
  }
  for (const { name, text, bytes } of limits) {
    const used = usage.containers.get(name);
    if (!used || used.rootBytes + used.logBytes <= bytes) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${text}". `;
    return { signal: "ephemeralcontainerfs.limit", message };
  }
  return undefined;
}

function hasStorageLimit(pod: AgentPod): boolean {
  return pod.spec.containers.some(({ resources }) => resources?.limits?.["ephemeral-storage"] !== undefined);
}

function merged(crossed: readonly Crossing[], unresolved: readonly Crossing[]): Crossing[] {
  const known = new Set(crossed.map(({ threshold }) => threshold));
  return [...crossed, ...unresolved.filter(({ threshold }) => !known.has(threshold))];
}
