// The fake's sandboxes.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { RuntimeService } from "../api/contract.ts";
import { matchesSandbox } from "../api/filters.ts";
import {
  ContainerEventType,
  ContainerStatus,
  NamespaceMode,
  type PodSandbox,
  PodSandboxConfig,
  PodSandboxState,
  PodSandboxStatus,
  PodSandboxStatusResponse,
  type RunPodSandboxRequest,
} from "../api/gen/runtime.js";
import { checkUserNamespace } from "../api/request-check.ts";
import { type Containers, exitContainer } from "./containers.ts";
import { type FakeSandbox, type FakeWorld, isReady, nanoseconds, newId } from "./world.ts";

type Sandboxes = Pick<
  RuntimeService,
  | "runPodSandbox"
  | "stopPodSandbox"
  | "removePodSandbox"
  | "podSandboxStatus"
  | "listPodSandbox"
  | "updatePodSandboxResources"
>;

export interface SandboxOptions {
  readonly world: FakeWorld;
  readonly clock: Clock;
  readonly containers: Containers;
  readonly runtimeHandlers: readonly string[];
}

export function fakeSandboxes({ world, clock, containers, runtimeHandlers }: SandboxOptions): Sandboxes {
  const stop = async (sandbox: FakeSandbox) => {
    for (const container of world.containersOf(sandbox.status.id)) await exitContainer(container, { exitCode: 137 });
    if (!isReady(sandbox)) return;
    sandbox.status.state = PodSandboxState.SANDBOX_NOTREADY;
    world.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, sandbox.status.id, clock);
  };
  return {
    async runPodSandbox(request) {
      const sandbox = newSandbox(request, world, clock, runtimeHandlers);
      const { id } = sandbox.status;
      world.sandboxes.set(id, sandbox);
      world.emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, clock);
      world.emit(ContainerEventType.CONTAINER_STARTED_EVENT, id, clock);
      return { podSandboxId: id };
    },
    async stopPodSandbox({ podSandboxId }) {
      const sandbox = world.sandboxes.get(podSandboxId);
      if (sandbox) await stop(sandbox);
      return {};
    },
    async removePodSandbox({ podSandboxId }, call) {
      const sandbox = world.sandboxes.get(podSandboxId);
      if (!sandbox) return {};
      await stop(sandbox);
      for (const container of world.containersOf(podSandboxId)) {
        await containers.removeContainer({ containerId: container.status.id }, call);
      }
      world.sandboxes.delete(podSandboxId);
      world.emit(ContainerEventType.CONTAINER_DELETED_EVENT, podSandboxId, clock);
      return {};
    },
    async podSandboxStatus({ podSandboxId, verbose }) {
      const { status, config } = world.sandbox(podSandboxId);
      return PodSandboxStatusResponse.create({
        status: PodSandboxStatus.create(status),
        containersStatuses: world
          .containersOf(podSandboxId)
          .map((container) => ContainerStatus.create(container.status)),
        timestamp: nanoseconds(clock),
        info: verbose ? { info: JSON.stringify({ config }, withBigints) } : {},
      });
    },
    async listPodSandbox({ filter }) {
      return { items: [...world.sandboxes.values()].map(listed).filter((item) => matchesSandbox(item, filter)) };
    },
    async updatePodSandboxResources({ podSandboxId, overhead, resources }) {
      const { config } = world.sandbox(podSandboxId);
      config.linux = { ...PodSandboxConfig.create({ linux: {} }).linux, ...config.linux } as typeof config.linux;
      if (config.linux && overhead) config.linux.overhead = overhead;
      if (config.linux && resources) config.linux.resources = resources;
      return {};
    },
  };
}

function newSandbox(
  { config, runtimeHandler }: RunPodSandboxRequest,
  world: FakeWorld,
  clock: Clock,
  runtimeHandlers: readonly string[],
): FakeSandbox {
  const metadata = config?.metadata;
  if (!config || !metadata?.name) throw new Fault("invalid", "Cannot run a sandbox: its config has no metadata");
  if (runtimeHandler && !runtimeHandlers.includes(runtimeHandler)) {
    throw new Fault("invalid", `Cannot run sandbox "${metadata.name}": no runtime handler "${runtimeHandler}"`);
  }
  checkUserNamespace(config.linux?.securityContext?.namespaceOptions?.usernsOptions);
  for (const { status } of world.sandboxes.values()) {
    const same = status.metadata;
    if (same?.uid === metadata.uid && same.name === metadata.name && same.attempt === metadata.attempt) {
      throw new Fault("already-exists", `Cannot run sandbox "${metadata.name}": it exists as "${status.id}"`);
    }
  }
  const options = config.linux?.securityContext?.namespaceOptions;
  const onHost = options?.network === NamespaceMode.NODE;
  const status = PodSandboxStatus.create({
    id: newId(),
    metadata,
    state: PodSandboxState.SANDBOX_READY,
    createdAt: nanoseconds(clock),
    network: { ip: onHost ? "" : world.nextAddress() },
    linux: { namespaces: { options: options ?? {} } },
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler,
  });
  return { status, config: PodSandboxConfig.create(config) };
}

function listed({ status }: FakeSandbox): PodSandbox {
  const { id, metadata, state, createdAt, labels, annotations, runtimeHandler } = status;
  return { id, metadata, state, createdAt, labels, annotations, runtimeHandler };
}

function withBigints(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const member = this[key];
  return typeof member === "bigint" ? String(member) : value;
}
