// Wraps what the agent talks to so that it is measured: the runtime, volume plugins, and the recorder whose events tell what was started
// and what was not.

import type { Runtime } from "../../cri/api/contract.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { VolumePlugin } from "../../plugins/kit/contracts/volume.ts";
import type { NodeResources } from "../resources/contract.ts";
import type { Recorder } from "../model/recorder.ts";
import { wrapRuntime } from "../runtime/wrap-runtime.ts";
import type { AgentMeters } from "../runtime/agent-meters.ts";

/** Every call of the runtime's services. */
export function measuredRuntime(runtime: Runtime, meters: AgentMeters, clock: Clock): Runtime {
  /** What has series beside those of all operations. */
  const ofItsOwn = (method: string, request: unknown, seconds: number, isDone: boolean) => {
    if (method === "pullImage" && isDone) meters.pullSeconds.observe({ image_size_in_bytes: "N/A" }, seconds);
    if (method !== "runPodSandbox") return;
    const labels = { runtime_handler: (request as { runtimeHandler?: string } | undefined)?.runtimeHandler ?? "" };
    meters.sandboxSeconds.observe(labels, seconds);
    if (!isDone) meters.sandboxErrors.add(labels);
  };
  return wrapRuntime(runtime, (method, rpc) => {
    const operation = { operation_type: operationName(method) };
    return (request, call) => {
      const startedAt = clock.monotonic();
      const result = rpc(request, call);
      if (!(result instanceof Promise)) return result;
      meters.runtimeOperations.add(operation);
      const end = (isDone: boolean) => {
        const seconds = (clock.monotonic() - startedAt) / 1000;
        meters.runtimeSeconds.observe(operation, seconds);
        if (!isDone) meters.runtimeErrors.add(operation);
        ofItsOwn(method, request, seconds, isDone);
      };
      result.then(
        () => end(true),
        () => end(false),
      );
      return result;
    };
  });
}

function bound(target: object, value: unknown): unknown {
  return typeof value === "function" ? (value.bind(target) as unknown) : value;
}

/** `runPodSandbox` is `run_podsandbox` in upstream's words. */
function operationName(method: string): string {
  return method.replace("PodSandbox", "Podsandbox").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function measuredVolumes(plugin: VolumePlugin, meters: AgentMeters, clock: Clock): VolumePlugin {
  const timed = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const startedAt = clock.monotonic();
    const labels = { migrated: "false", operation_name: operation, volume_plugin: plugin.name };
    const end = (status: string) =>
      meters.storageSeconds.observe({ ...labels, status }, (clock.monotonic() - startedAt) / 1000);
    try {
      const result = await work();
      end("success");
      return result;
    } catch (error) {
      end("fail-unknown");
      throw error;
    }
  };
  const mount: VolumePlugin["mount"] = (request, call) => timed("volume_mount", () => plugin.mount(request, call));
  const unmount: VolumePlugin["unmount"] = (path, call) => timed("volume_unmount", () => plugin.unmount(path, call));
  return new Proxy(plugin, {
    get: (target, key) =>
      key === "mount" ? mount : key === "unmount" ? unmount : bound(target, Reflect.get(target, key) as unknown),
  });
}

const containerTypes: Readonly<Record<string, string>> = {
  containers: "container",
  initContainers: "init_container",
  ephemeralContainers: "ephemeral_container",
};

/** Counts what the events tell while they pass. */
export function measuredRecorder(next: Recorder, meters: AgentMeters): Recorder {
  return {
    event(object, type, reason, message, options) {
      next.event(object, type, reason, message, options);
      const list = /^spec\.(\w+)\{/.exec(options?.fieldPath ?? "")?.[1] ?? "";
      const containerType = containerTypes[list];
      if (containerType && reason === "Started") meters.startedContainers.add({ container_type: containerType });
      if (containerType && type === "Warning" && (reason === "Failed" || reason === "FailedCreate"))
        meters.startedContainerErrors.add({ code: reason, container_type: containerType });
      if (reason === "FailedCreatePodSandBox") meters.startedPodErrors.add({});
    },
  };
}

/** Control groups of pods: made when they are prepared, taken away when they are released. */
export function measuredResources(resources: NodeResources, meters: AgentMeters, clock: Clock): NodeResources {
  const timed = async (operation: string, work: Promise<void>): Promise<void> => {
    const startedAt = clock.monotonic();
    try {
      await work;
    } finally {
      const seconds = (clock.monotonic() - startedAt) / 1000;
      meters.cgroupSeconds.observe({ operation_type: operation }, seconds);
    }
  };
  return {
    admit: (pod, others) => resources.admit(pod, others),
    refuseResize: (pod, others) => resources.refuseResize(pod, others),
    preparePod: (pod, call) => timed("create", resources.preparePod(pod, call)),
    allot: (pod, container, call) => resources.allot(pod, container, call),
    releasePod: (podUid, call) => timed("destroy", resources.releasePod(podUid, call)),
  };
}
