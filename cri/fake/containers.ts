// The fake's containers: each runs a Program, logs in CRI's format, and reports every step as an event.

import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { RuntimeService } from "../api/contract.ts";
import { matchesContainer } from "../api/filters.ts";
import {
  ContainerConfig,
  ContainerEventType,
  ContainerState,
  ContainerStatus,
  ContainerStatusResponse,
  type CreateContainerRequest,
  LinuxContainerResources,
} from "../api/gen/runtime.js";
import { checkRunAs } from "../api/request-check.ts";
import { LogFile } from "./log-file.ts";
import { Process, type Program } from "./process.ts";
import { type FakeContainer, type FakeWorld, isReady, listed, nanoseconds, newId } from "./world.ts";

export type Containers = Pick<
  RuntimeService,
  | "createContainer"
  | "startContainer"
  | "stopContainer"
  | "removeContainer"
  | "listContainers"
  | "containerStatus"
  | "updateContainerResources"
  | "reopenContainerLog"
>;

export interface ContainerOptions {
  readonly world: FakeWorld;
  readonly clock: Clock;
  readonly programs: ReadonlyMap<string, Program>;
  /** What SIGTERM does to it: ends it with 143 unless told. */
  readonly ignoresTerm: (container: FakeContainer) => boolean;
}

export interface Exit {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
}

export function fakeContainers(options: ContainerOptions): Containers {
  const { world, clock } = options;
  return {
    async createContainer(request) {
      const container = newContainer(request, world, clock);
      const { id } = container.status;
      world.containers.set(id, container);
      world.emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, clock);
      return { containerId: id };
    },
    async startContainer({ containerId }) {
      start(world.container(containerId), options);
      return {};
    },
    async stopContainer({ containerId, timeout }, call) {
      const container = world.containers.get(containerId);
      if (!container?.process) return {};
      if (timeout > 0n && options.ignoresTerm(container)) await clock.sleep(Number(timeout) * 1000, call);
      else if (timeout > 0n) await exitContainer(container, { exitCode: 143 });
      await exitContainer(container, { exitCode: 137 });
      return {};
    },
    async removeContainer({ containerId }) {
      const container = world.containers.get(containerId);
      if (!container) return {};
      await exitContainer(container, { exitCode: 137 });
      world.containers.delete(containerId);
      world.emit(ContainerEventType.CONTAINER_DELETED_EVENT, containerId, clock);
      return {};
    },
    async listContainers({ filter }) {
      const containers = [...world.containers.values()].map(listed).filter((item) => matchesContainer(item, filter));
      return { containers };
    },
    async containerStatus({ containerId, verbose }) {
      const { status, podSandboxId } = world.container(containerId);
      const info: Record<string, string> = verbose ? { info: JSON.stringify({ sandboxID: podSandboxId }) } : {};
      return ContainerStatusResponse.create({ status: ContainerStatus.create(status), info });
    },
    async updateContainerResources({ containerId, linux }) {
      const { status } = world.container(containerId);
      if (status.state === ContainerState.CONTAINER_EXITED) {
        throw new Fault("conflict", `Cannot update container "${containerId}": it has exited`);
      }
      if (!linux) return {};
      const before = status.resources?.linux ?? LinuxContainerResources.create();
      // A field left at its zero value means "as it was".
      const changed = Object.entries(linux).filter(([, value]) => value && value !== 0n);
      status.resources = { linux: { ...before, ...Object.fromEntries(changed) } };
      return {};
    },
    async reopenContainerLog({ containerId }) {
      world.running(containerId).container.log?.reopen();
      return {};
    },
  };
}

function newContainer({ podSandboxId, config, sandboxConfig }: CreateContainerRequest, world: FakeWorld, clock: Clock) {
  const sandbox = world.sandbox(podSandboxId);
  const name = config?.metadata?.name;
  if (!config || !name) throw new Fault("invalid", "Cannot create a container: its config has no metadata");
  checkRunAs(config.linux?.securityContext);
  const doing = `Cannot create container "${name}"`;
  if (!isReady(sandbox)) throw new Fault("conflict", `${doing}: sandbox "${podSandboxId}" is not ready`);
  const image = world.image(config.image?.image ?? "");
  if (!image) throw new Fault("not-found", `${doing}: image "${config.image?.image}" is not present`);
  const twin = world
    .containersOf(podSandboxId)
    .find(({ status }) => status.metadata?.name === name && status.metadata.attempt === config.metadata?.attempt);
  if (twin) throw new Fault("already-exists", `${doing}: it exists as "${twin.status.id}"`);
  const logDirectory = sandboxConfig?.logDirectory ?? "";
  const status = ContainerStatus.create({
    id: newId(),
    metadata: config.metadata,
    state: ContainerState.CONTAINER_CREATED,
    createdAt: nanoseconds(clock),
    image: config.image,
    imageRef: image.repoDigests[0] ?? image.id,
    imageId: image.id,
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath: logDirectory && config.logPath ? join(logDirectory, config.logPath) : "",
    resources: { linux: config.linux?.resources ?? {} },
    stopSignal: config.stopSignal,
  });
  const container: FakeContainer = { podSandboxId, config: ContainerConfig.create(config), status };
  return container;
}

function start(container: FakeContainer, { world, clock, programs }: ContainerOptions): void {
  const { status, config } = container;
  if (status.state !== ContainerState.CONTAINER_CREATED) {
    throw new Fault("conflict", `Cannot start container "${status.id}": it was started before`);
  }
  const command = [...config.command, ...config.args];
  const process = new Process({
    programs,
    command: command.length > 0 ? command : ["pause"],
    env: Object.fromEntries(config.envs.map(({ key, value }) => [key, value])),
    ...(config.stdin ? { stdin: new PassThrough() } : {}),
    clock,
  });
  if (status.logPath) {
    const log = new LogFile(status.logPath, clock);
    container.log = log;
    process.onOutput((stream, data) => log.write(stream, data));
  }
  container.process = process;
  status.state = ContainerState.CONTAINER_RUNNING;
  status.startedAt = nanoseconds(clock);
  world.emit(ContainerEventType.CONTAINER_STARTED_EVENT, status.id, clock);
  container.exited = process.run().then((exitCode) => {
    container.log?.end();
    status.state = ContainerState.CONTAINER_EXITED;
    status.finishedAt = nanoseconds(clock);
    status.exitCode = exitCode;
    status.reason ||= exitCode === 0 ? "Completed" : "Error";
    world.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, status.id, clock);
  });
}

/** Ends a running container and resolves when it has; one that does not run is left as it is. */
export async function exitContainer(container: FakeContainer, exit: Exit): Promise<void> {
  const { status, process } = container;
  if (!process || status.state !== ContainerState.CONTAINER_RUNNING) return;
  if (exit.reason) status.reason = exit.reason;
  if (exit.message) status.message = exit.message;
  process.exit(exit.exitCode);
  await container.exited;
}
