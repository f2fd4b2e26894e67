// Ends pods when the node runs short of memory, disk or process ids, one at a time, and pods that use more local storage than they may.
// Pressure stays told for five minutes after it was last seen, so that the node does not flap.

import type { Call } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import type { Log } from "../../plugins/kit/log.ts";
import { formatQuantity, parseQuantity, quantityOf, quantityValue } from "../../plugins/kit/quantity.ts";
import type { EvictionConfig } from "../config/agent-config.ts";
import type { Pressure } from "../node/node-status.ts";
import { type AgentPod, isCriticalPod, podName } from "../pods/agent-pod.ts";
import type { Recorder } from "../pods/recorder.ts";
import { isTerminalPhase } from "../status/phase.ts";
import type { Verdict } from "../status/pod-status.ts";
import type { VolumeManager } from "../volumes/contract.ts";
import { evictionOrder, type PodUsage, type RankedPod, requestOf, resourceOf, type Signal } from "./eviction-rank.ts";
import {
  crossed,
  readSignals,
  type SignalReading,
  type SignalSources,
  type SoftReading,
  softReadings,
} from "./signals.ts";

const lookMs = 10_000;
const pressureMs = 300_000;
const defaultGraceSeconds = 30;
/** A pod that was evicted frees what it held only when it is gone: nobody else is evicted until then, or for so long. */
const releasedWithinMs = 30_000;

export interface EvictionOptions {
  readonly config: EvictionConfig;
  readonly signals: SignalSources;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: Recorder;
  readonly volumes: Pick<VolumeManager, "overLimit">;
  readonly pods: () => readonly AgentPod[];
  /** What these pods use now. */
  readonly usage: (pods: readonly AgentPod[], call: Call) => Promise<ReadonlyMap<string, PodUsage>>;
  readonly end: (podUid: string, verdict: Verdict, graceSeconds?: number) => void;
  /** The pod has stopped and given back what it held. */
  readonly isReleased: (podUid: string) => boolean;
  /** Frees disk without ending anybody; false when there was nothing to free. */
  readonly reclaimDisk: (call: Call) => Promise<boolean>;
  readonly onPressure: () => void;
  /** Told the signal for which a pod is ended. */
  readonly onEvicted?: (signal: string) => void;
}

export class Eviction {
  readonly #options: EvictionOptions;
  readonly #seenAt: Record<keyof Pressure, number> = { memory: -Infinity, disk: -Infinity, pids: -Infinity };
  /** Since when each soft threshold is crossed without a break. */
  readonly #softSince = new Map<Signal, number>();
  #told = "";
  #leaving: { readonly uid: string; readonly since: number } | undefined;

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  pressure(): Pressure {
    const now = this.#options.clock.monotonic();
    const is = (kind: keyof Pressure) => now - this.#seenAt[kind] < pressureMs;
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

  /** Looks once; ends at most one pod for pressure, and every pod that is over its own limits. */
  async look(call: Call): Promise<void> {
    const { config, signals } = this.#options;
    const readings = readSignals(signals, config);
    const low = crossed(readings);
    const soft = crossed(softReadings(readings, config.soft));
    this.#note([...low, ...soft]);
    const lasting = this.#lasting(soft);
    const pods = this.#options
      .pods()
      .filter((pod) => !isTerminalPhase(pod.status?.phase) && !pod.metadata.deletionTimestamp);
    const hasImageFs = signals.hasImageFs();
    // Removing images frees the file system that they lie on.
    const frees = ({ signal }: SignalReading) =>
      signal.startsWith(hasImageFs ? "imagefs." : "") && signal.includes("fs.");
    if (
      low.some(frees) &&
      (await this.#options.reclaimDisk(call)) &&
      crossed(readSignals(signals, config)).length === 0
    )
      return;
    const isShort = low.length > 0 || lasting.length > 0;
    const measured = isShort ? pods : pods.filter(hasStorageLimit);
    const usage = measured.length > 0 ? await this.#options.usage(measured, call) : new Map<string, PodUsage>();
    await this.#endOverLimit(pods, usage, call);
    const worst = low[0] ?? lasting[0];
    if (!worst || this.#isSomebodyLeaving()) return;
    const first = evictionOrder({ signal: worst.signal, hasImageFs }, pods, (uid) => usage.get(uid))[0];
    // What is nearly gone leaves no time for anybody; otherwise a pod may finish what it does.
    const own = first?.pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
    if (first) this.#evict(first, worst, low[0] ? 0 : Math.min(own, config.maxPodGraceSeconds));
    else this.#options.log.warn({ signal: worst.signal }, "the node runs short and there is no pod to evict");
  }

  #isSomebodyLeaving(): boolean {
    const { clock, isReleased } = this.#options;
    const leaving = this.#leaving;
    return leaving !== undefined && !isReleased(leaving.uid) && clock.monotonic() - leaving.since < releasedWithinMs;
  }

  /** Soft thresholds that have been crossed for their whole grace period. */
  #lasting(soft: readonly SoftReading[]): SoftReading[] {
    const now = this.#options.clock.monotonic();
    for (const signal of this.#softSince.keys())
      if (!soft.some((reading) => reading.signal === signal)) this.#softSince.delete(signal);
    for (const { signal } of soft) if (!this.#softSince.has(signal)) this.#softSince.set(signal, now);
    return soft.filter(({ signal, graceMs }) => now - (this.#softSince.get(signal) ?? now) >= graceMs);
  }

  #note(low: readonly SignalReading[]): void {
    const now = this.#options.clock.monotonic();
    for (const { signal } of low) {
      this.#seenAt[signal === "memory.available" ? "memory" : signal === "pid.available" ? "pids" : "disk"] = now;
    }
    const told = JSON.stringify(this.pressure());
    if (told === this.#told) return;
    this.#told = told;
    this.#options.onPressure();
  }

  #evict({ pod, usage }: RankedPod, { signal, threshold, available }: SignalReading, graceSeconds: number): void {
    const resource = resourceOf(signal);
    const amount = (bytes: number) => formatQuantity(quantityOf(BigInt(Math.max(0, Math.floor(bytes))), "binary"));
    const parts = [
      `The node was low on resource: ${resource}. Threshold quantity: ${amount(threshold)}, available: ${amount(available)}. `,
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
    this.#end(pod, signal, parts.join(""), graceSeconds);
  }

  async #endOverLimit(pods: readonly AgentPod[], usage: ReadonlyMap<string, PodUsage>, call: Call): Promise<void> {
    for (const pod of pods) {
      const volume = await this.#options.volumes.overLimit(pod, call);
      if (volume) {
        const limit = formatQuantity(quantityOf(BigInt(volume.limitBytes), "binary"));
        this.#end(
          pod,
          "emptydirfs.limit",
          `Usage of EmptyDir volume "${volume.volume}" exceeds the limit "${limit}". `,
          1,
        );
        continue;
      }
      const own = usage.get(pod.metadata.uid);
      if (own && hasStorageLimit(pod)) this.#endOverStorage(pod, own);
    }
  }

  #endOverStorage(pod: AgentPod, usage: PodUsage): void {
    const limits = pod.spec.containers.flatMap(({ name, resources }) => {
      const text = resources?.limits?.["ephemeral-storage"];
      return text === undefined ? [] : [{ name, text, bytes: quantityValue(parseQuantity(text)) }];
    });
    // Upstream leaves containers without a limit out of the sum.
    const total = limits.reduce((sum, { bytes }) => sum + bytes, 0n);
    if (usage.rootBytes + usage.localBytes > total) {
      const limit = formatQuantity(quantityOf(total, "binary"));
      const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
      return this.#end(pod, "ephemeralpodfs.limit", message, 1);
    }
    for (const { name, text, bytes } of limits) {
      const used = usage.containers.get(name);
      if (!used || used.rootBytes + used.logBytes <= bytes) continue;
      const message = `Container ${name} exceeded its local ephemeral storage limit "${text}". `;
      return this.#end(pod, "ephemeralcontainerfs.limit", message, 1);
    }
  }

  #end(pod: AgentPod, signal: string, message: string, graceSeconds: number): void {
    const { recorder, log, end } = this.#options;
    this.#options.onEvicted?.(signal);
    log.warn({ pod: podName(pod), message }, "evicting a pod");
    recorder.event(pod, "Warning", "Evicted", message);
    const condition = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message };
    end(pod.metadata.uid, { reason: "Evicted", message, condition }, graceSeconds);
  }
}

function hasStorageLimit(pod: AgentPod): boolean {
  return pod.spec.containers.some(({ resources }) => resources?.limits?.["ephemeral-storage"] !== undefined);
}
