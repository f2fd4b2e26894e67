// Carries out a plan for one pod. Volumes, images and the sandbox are made at the same time; containers follow in order, side by side
// where no postStart hook asks for a sequence.

import { join } from "node:path";
import { RunPodSandboxRequest, type PodSandboxConfig } from "../../cri/api/gen/runtime.js";
import { type Call, uninterrupted, within } from "../../plugins/kit/base/call.ts";
import { toFault } from "../../plugins/kit/base/fault.ts";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import { removeTree } from "../../plugins/kit/os/safe-files/remove-tree.ts";
import { dnsConfigOf } from "../containers/dns.ts";
import { podLogDir } from "../model/identity.ts";
import { removeLogs } from "../containers/log-files.ts";
import { comparableResources, containerResources } from "../containers/resources.ts";
import { sandboxConfig } from "../containers/sandbox-config.ts";
import type { PresentImage } from "../images/image-manager.ts";
import type { ObservedPod } from "../model/observed.ts";
import type { WaitingReason } from "../status/container-status.ts";
import type { MountedVolume } from "../model/mounted-volume.ts";
import type { Executors, PodAction } from "./actions.ts";
import { type AgentPod, findContainer, imageVolumesOf, podFormat, podName } from "../model/agent-pod.ts";
import { type BackOff, formatDuration } from "../model/back-off.ts";
import { containerHash } from "../model/container-hash.ts";
import { startContainer } from "./container-start.ts";
import type { PodDeps } from "./deps.ts";
import type { Killer } from "./killer.ts";
import { ownUsersOf } from "../node/contract.ts";
import { about } from "../model/recorder.ts";
import { StartFailure } from "../model/start-failure.ts";

const sandboxTimeoutMs = 240_000;

/** The key of a container's crash-loop back-off: a changed spec starts over. */
export function backOffKey(pod: AgentPod, containerName: string): string {
  const container = findContainer(pod, containerName)?.container;
  return `${pod.metadata.uid}_${containerName}_${container ? containerHash(container) : ""}`;
}

/** What a run leaves for the worker. */
export interface RunOutcome {
  /** Why containers wait; undefined clears what was known. */
  readonly waiting: Map<string, WaitingReason | undefined>;
  /** Wall time at which to look again. */
  retryAtMs: number | undefined;
  readonly failures: unknown[];
}

export class PodRun {
  readonly #deps: PodDeps;
  readonly #killer: Killer;
  readonly #backOff: BackOff;
  readonly #pod: AgentPod;
  readonly #observed: ObservedPod | undefined;
  readonly #outcome: RunOutcome = { waiting: new Map(), retryAtMs: undefined, failures: [] };
  readonly #images = new Map<string, Promise<PresentImage>>();
  #volumes: Promise<ReadonlyMap<string, MountedVolume>> | undefined;
  #handler: Promise<string> | undefined;
  #sandbox: { id: string; config: PodSandboxConfig; ips: readonly string[] } | undefined;

  constructor(deps: PodDeps, killer: Killer, backOff: BackOff, pod: AgentPod, observed: ObservedPod | undefined) {
    this.#deps = deps;
    this.#killer = killer;
    this.#backOff = backOff;
    this.#pod = pod;
    this.#observed = observed;
  }

  /** Carries out what can be; failures of single containers are in the outcome and do not stop the others. */
  async run(actions: readonly PodAction[], call: Call): Promise<RunOutcome> {
    this.#begin(actions, call);
    const side: Promise<void>[] = [];
    try {
      for (const action of actions) {
        if (action.do !== "start-container") {
          await this.#execute(action, call);
          continue;
        }
        const isBarrier = findContainer(this.#pod, action.name)?.container.lifecycle?.postStart !== undefined;
        if (isBarrier) await Promise.all(side.splice(0));
        const started = this.executors["start-container"](action, call);
        side.push(started);
        if (isBarrier) await started;
      }
    } catch (error) {
      this.#outcome.failures.push(error);
    }
    await Promise.all(side);
    if (actions.length > 0) this.#deps.pleg.touch(this.#pod.metadata.uid);
    return this.#outcome;
  }

  /** Starts everything that needs no sandbox, so that it runs beside its creation. */
  #begin(actions: readonly PodAction[], call: Call): void {
    const starts = actions.filter((action) => action.do === "start-container");
    if (starts.length === 0) return;
    this.#handler = quiet(this.#deps.runtimeHandler(this.#pod, call));
    this.#volumes = quiet(this.#mountVolumes(call));
    for (const { name } of starts) {
      const container = findContainer(this.#pod, name)?.container;
      if (container) this.#images.set(name, quiet(this.#imagesOf(container, call)));
    }
  }

  /** The container's own image, and those that it mounts: the runtime mounts only what is there. */
  async #imagesOf(container: Container, call: Call): Promise<PresentImage> {
    const ensure = (wanted: Container) => this.#deps.images.ensure(this.#pod, wanted, undefined, call);
    const [image] = await Promise.all([
      ensure(container),
      ...imageVolumesOf(this.#pod, container).map(({ reference, pullPolicy }) =>
        ensure({ name: container.name, image: reference, ...(pullPolicy ? { imagePullPolicy: pullPolicy } : {}) }),
      ),
    ]);
    return image;
  }

  async #mountVolumes(call: Call): Promise<ReadonlyMap<string, MountedVolume>> {
    try {
      return await this.#deps.volumes.mount(this.#pod, call);
    } catch (error) {
      if (!call.signal.aborted) {
        const message = error instanceof Error ? error.message : String(error);
        this.#deps.recorder.event(this.#pod, "Warning", "FailedMount", message);
      }
      throw error;
    }
  }

  async #execute<A extends PodAction>(action: A, call: Call): Promise<void> {
    const execute = this.executors[action.do] as unknown as (action: A, call: Call) => Promise<void>;
    await execute(action, call);
  }

  readonly executors: Executors = {
    "kill-pod": async (action, call) => {
      if (!this.#observed) return;
      if (action.reason.startsWith("Pod sandbox changed")) {
        this.#deps.recorder.event(this.#pod, "Normal", "SandboxChanged", action.reason);
      }
      await this.#killer.killPod(this.#pod, this.#observed, action.graceSeconds, call);
    },
    "kill-container": async (action, call) => {
      const container = this.#observed?.containers.find(({ id }) => id === action.id);
      if (!this.#observed || !container) return;
      const { reason, message } = action;
      await this.#killer.killContainer(this.#pod, this.#observed, container, { reason, message }, call);
    },
    "remove-container": async ({ id, name }) => {
      const old = this.#observed?.containers.find((container) => container.id === id);
      await this.#deps.runtime.runtime.removeContainer({ containerId: id }, within(sandboxTimeoutMs));
      if (old) await removeLogs(old.logPath);
      this.#deps.log.debug({ pod: podName(this.#pod), container: name, id }, "removed a container");
    },
    "remove-sandbox": async ({ id }) => {
      const { runtime } = this.#deps.runtime;
      // One that is not ready may still run: containerd says so of a sandbox whose making was broken off. Stopping is idempotent.
      await runtime.stopPodSandbox({ podSandboxId: id }, within(sandboxTimeoutMs));
      await runtime.removePodSandbox({ podSandboxId: id }, within(sandboxTimeoutMs));
    },
    "create-sandbox": async ({ attempt }, call) => this.#createSandbox(attempt, call),
    "start-container": async (action, call) => {
      const { name } = action;
      try {
        await this.#startContainer(action, call);
        this.#outcome.waiting.set(name, undefined);
      } catch (error) {
        this.#failedToStart(name, error, call);
      }
    },
    "hold-back": async ({ name, delayMs, untilMs }) => {
      const message = `back-off ${formatDuration(delayMs)} restarting failed container=${name} pod=${podFormat(this.#pod)}`;
      this.#deps.recorder.event(
        this.#pod,
        "Warning",
        "BackOff",
        `Back-off restarting failed container ${name} in pod ${podFormat(this.#pod)}`,
        about(this.#pod, name),
      );
      this.#outcome.waiting.set(name, { reason: "CrashLoopBackOff", message });
      this.#lookAgainAt(untilMs);
    },
    "resize-container": async ({ id, name }, call) => {
      const container = findContainer(this.#pod, name)?.container;
      if (!container) return;
      const { node, resources, runtime, pleg } = this.#deps;
      // The pod's own limits first: a container cannot grow beyond them.
      await resources.preparePod(this.#pod, call);
      const linux = containerResources(this.#pod, container, node);
      await runtime.runtime.updateContainerResources({ containerId: id, linux, annotations: {} }, call);
      pleg.resized(this.#pod.metadata.uid, id, comparableResources(this.#pod, container, node));
    },
    release: async (_, call) => this.#release(call),
  };

  async #createSandbox(attempt: number, call: Call): Promise<void> {
    const { node, runtime, recorder, hooks, resources } = this.#deps;
    const { uid } = this.#pod.metadata;
    try {
      for (const hook of hooks) await hook.prepare?.(this.#pod, call);
      const [runtimeHandler] = await Promise.all([this.#handler ?? "", resources.preparePod(this.#pod, call)]);
      const config = this.#sandboxConfig(attempt);
      const { warnings } = dnsConfigOf(this.#pod, { ...node, host: node.resolver() });
      for (const { reason, message } of warnings) recorder.event(this.#pod, "Warning", reason, message);
      call.signal.throwIfAborted();
      const request = RunPodSandboxRequest.create({ config, runtimeHandler });
      const { podSandboxId: id } = await runtime.runtime.runPodSandbox(request, within(sandboxTimeoutMs));
      const { status } = await runtime.runtime.podSandboxStatus({ podSandboxId: id, verbose: false }, call);
      const { ip = "", additionalIps = [] } = status?.network ?? {};
      const ips = [ip, ...additionalIps.map((more) => more.ip)].filter((address) => address !== "");
      if (!this.#pod.spec.hostNetwork) for (const hook of hooks) await hook.connected?.(this.#pod, ips, call);
      this.#sandbox = { id, config, ips: this.#pod.spec.hostNetwork ? node.hostIps() : ips };
    } catch (error) {
      if (!call.signal.aborted) {
        const message = error instanceof Error ? error.message : String(error);
        recorder.event(this.#pod, "Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${message}`);
      }
      this.#deps.pleg.touch(uid);
      throw toFault(error, `Cannot create the sandbox of pod "${podName(this.#pod)}"`, "unavailable");
    }
  }

  #sandboxConfig(attempt: number): PodSandboxConfig {
    const { node, volumes } = this.#deps;
    return sandboxConfig(this.#pod, attempt, {
      ...node,
      host: node.resolver(),
      cgroupParent: node.cgroupParent(this.#pod),
      ...ownUsersOf(node, this.#pod),
      volumeGroups: volumes.supplementalGroups(this.#pod.metadata.uid),
    });
  }

  async #startContainer(action: Extract<PodAction, { do: "start-container" }>, call: Call): Promise<void> {
    const { name, restartCount, previousFinishedAt } = action;
    const container = findContainer(this.#pod, name)?.container;
    const existing = this.#observed?.sandboxes[0];
    const hostIps = this.#deps.node.hostIps();
    const sandbox =
      this.#sandbox ??
      (existing && {
        id: existing.id,
        config: this.#sandboxConfig(existing.attempt),
        ips: this.#pod.spec.hostNetwork ? hostIps : existing.ips,
      });
    const image = this.#images.get(name);
    if (!container || !sandbox || !image || !this.#volumes) return;
    if (previousFinishedAt !== undefined) {
      this.#backOff.next(backOffKey(this.#pod, name), previousFinishedAt, this.#deps.clock.now());
    }
    const runtimeHandler = await (this.#handler ?? "");
    const start = {
      pod: this.#pod,
      container,
      restartCount,
      sandboxId: sandbox.id,
      sandboxConfig: sandbox.config,
      runtimeHandler,
      podIps: sandbox.ips,
      observed: this.#observed,
      image,
      volumes: this.#volumes,
    };
    await startContainer(this.#deps, this.#killer, start, call);
  }

  #failedToStart(name: string, error: unknown, call: Call): void {
    if (!call.signal.aborted && error instanceof StartFailure) {
      this.#outcome.waiting.set(name, { reason: error.reason, message: error.message });
      if (error.retryAtMs !== undefined) {
        this.#lookAgainAt(error.retryAtMs);
        return;
      }
    }
    this.#outcome.failures.push(error);
  }

  #lookAgainAt(atMs: number): void {
    this.#outcome.retryAtMs = Math.min(this.#outcome.retryAtMs ?? Infinity, atMs);
  }

  /** Complete even where one step fails; the first error is thrown at the end. */
  async #release(call: Call): Promise<void> {
    const { hooks, volumes, resources, node, images } = this.#deps;
    const { uid } = this.#pod.metadata;
    const failures: unknown[] = [];
    const attempt = async (step: () => Promise<unknown> | undefined) => {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    };
    await attempt(() => volumes.unmountAll(uid, call));
    for (const hook of [...hooks].reverse()) await attempt(() => hook.cleanup?.(this.#pod, call));
    await attempt(() => resources.releasePod(uid, call));
    images.forget(uid);
    if (failures.length > 0) throw failures[0];
    // Only a directory whose volumes are all unmounted is safe to remove.
    await removeTree(join(node.podsDir, uid), uninterrupted);
  }

  /** Logs of a pod that is gone. */
  async removeLogs(): Promise<void> {
    await removeTree(podLogDir(this.#deps.node.logsDir, this.#pod.metadata), uninterrupted);
  }
}

/** Whoever awaits it later sees the failure; until then it is not unhandled. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
