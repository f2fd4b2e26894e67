// Stops containers: preStop within the grace period, then the stop signal, then force. Sidecars of a whole pod go last, in reverse order.

import type { Runtime } from "../../cri/api/contract.ts";
import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { ObservedContainer, ObservedPod } from "../model/observed.ts";
import type { KillReason } from "./actions.ts";
import { type AgentPod, findContainer, isSidecar, podName } from "../model/agent-pod.ts";
import type { HookRunner } from "./hooks.ts";
import { about, type Recorder } from "../model/recorder.ts";

/** Also a pod without grace gets this long, so that processes that react are not killed by force. */
const shortestGraceSeconds = 1;

export interface KillerOptions {
  readonly runtime: Runtime;
  readonly hooks: HookRunner;
  readonly clock: Clock;
  readonly recorder: Recorder;
  readonly log: Log;
  readonly node: { hostIps(): readonly string[] };
}

export interface KillOptions {
  readonly reason: KillReason;
  /** For the event; a plain "Stopping container x" when empty. */
  readonly message?: string;
  /** Beats the pod's own grace period. */
  readonly graceSeconds?: number;
  /** Resolves when containers that must end before this one have ended. */
  readonly after?: Promise<unknown>;
}

export class Killer {
  readonly #options: KillerOptions;

  constructor(options: KillerOptions) {
    this.#options = options;
  }

  async killContainer(
    pod: AgentPod,
    observed: ObservedPod,
    container: ObservedContainer,
    kill: KillOptions,
    call: Call,
  ): Promise<void> {
    const { recorder, clock, runtime } = this.#options;
    const spec = findContainer(pod, container.name)?.container;
    let grace = kill.graceSeconds ?? graceOf(pod, container, kill.reason);
    recorder.event(
      pod,
      "Normal",
      "Killing",
      kill.message || `Stopping container ${container.name}`,
      about(pod, container.name),
    );
    const startedAt = clock.monotonic();
    const spent = () => Math.floor((clock.monotonic() - startedAt) / 1000);
    const preStop = spec?.lifecycle?.preStop;
    if (preStop && spec && grace > 0 && container.state === "running") {
      const ips = pod.spec.hostNetwork ? this.#options.node.hostIps() : observed.sandboxes[0]?.ips;
      const podIp = ips?.[0] ?? "";
      await this.#preStop(pod, preStop, { container: spec, containerId: container.id, podIp }, grace, call);
      grace -= spent();
    }
    if (kill.after) {
      const before = clock.monotonic();
      await Promise.race([kill.after, clock.sleep(Math.max(grace, shortestGraceSeconds) * 1000, call)]);
      grace -= Math.floor((clock.monotonic() - before) / 1000);
    }
    const timeout = BigInt(Math.max(grace, shortestGraceSeconds));
    await runtime.runtime.stopContainer({ containerId: container.id, timeout }, call);
  }

  /** Every running container, then every sandbox. Complete even where one fails; the first error is thrown at the end. */
  async killPod(pod: AgentPod, observed: ObservedPod, graceSeconds: number | undefined, call: Call): Promise<void> {
    const running = observed.containers.filter(({ state }) => state === "running" || state === "unknown");
    const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
    const done = new Map<string, Promise<void>>();
    const grace = graceSeconds === undefined ? {} : { graceSeconds };
    const isSidecarName = (name: string) => sidecars.includes(name);
    for (const container of running.filter(({ name }) => !isSidecarName(name))) {
      done.set(container.id, this.killContainer(pod, observed, container, { reason: "pod", ...grace }, call));
    }
    for (const name of [...sidecars].reverse()) {
      for (const container of running.filter((other) => other.name === name)) {
        const after = Promise.allSettled(done.values());
        done.set(container.id, this.killContainer(pod, observed, container, { reason: "pod", ...grace, after }, call));
      }
    }
    const outcomes = await Promise.allSettled(done.values());
    // Told to stop, most likely to begin again with less grace: the sandbox must wait.
    call.signal.throwIfAborted();
    const ready = observed.sandboxes.filter(({ isReady }) => isReady);
    // Not cut short: a half-stopped sandbox would keep its address.
    const stops = ready.map(({ id }) =>
      this.#options.runtime.runtime.stopPodSandbox({ podSandboxId: id }, uninterrupted),
    );
    const stopped = await Promise.allSettled(stops);
    for (const outcome of [...outcomes, ...stopped]) if (outcome.status === "rejected") throw outcome.reason;
  }

  async #preStop(
    pod: AgentPod,
    handler: Parameters<HookRunner["run"]>[0],
    target: Parameters<HookRunner["run"]>[1],
    graceSeconds: number,
    call: Call,
  ): Promise<void> {
    const { hooks, recorder, log } = this.#options;
    const limit = new AbortController();
    const cancel = this.#options.clock.after(graceSeconds * 1000, () => limit.abort());
    try {
      await hooks.run(handler, target, { signal: AbortSignal.any([call.signal, limit.signal]) });
    } catch (error) {
      if (call.signal.aborted) throw error;
      // The container is stopped all the same: a broken hook must not keep it alive.
      log.warn({ pod: podName(pod), container: target.container.name, err: error }, "preStop hook failed");
      recorder.event(pod, "Warning", "FailedPreStopHook", "PreStopHook failed", about(pod, target.container.name));
    } finally {
      cancel();
    }
  }
}

function graceOf(pod: AgentPod, container: ObservedContainer, reason: KillReason): number {
  const spec = findContainer(pod, container.name)?.container;
  const own = pod.spec.terminationGracePeriodSeconds ?? container.graceSeconds ?? 30;
  if (pod.metadata.deletionGracePeriodSeconds !== undefined) return pod.metadata.deletionGracePeriodSeconds;
  if (reason === "startup-probe") return spec?.startupProbe?.terminationGracePeriodSeconds ?? own;
  if (reason === "liveness-probe") return spec?.livenessProbe?.terminationGracePeriodSeconds ?? own;
  return own;
}
