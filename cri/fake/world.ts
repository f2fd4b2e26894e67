// What the fake runtime remembers: sandboxes, containers and images. A world may outlive the runtime opened on it, as
// containers outlive an agent.

import { randomBytes } from "node:crypto";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { EventFeed } from "../api/event-feed.ts";
import {
  type Container,
  type ContainerConfig,
  ContainerEventResponse,
  type ContainerEventType,
  ContainerState,
  ContainerStatus,
  type Image,
  type PodSandboxConfig,
  PodSandboxState,
  PodSandboxStatus,
} from "../api/gen/runtime.js";
import type { LogFile } from "./log-file.ts";
import type { Process } from "./process.ts";

export interface FakeSandbox {
  readonly status: PodSandboxStatus;
  readonly config: PodSandboxConfig;
}

export interface FakeContainer {
  readonly podSandboxId: string;
  readonly config: ContainerConfig;
  readonly status: ContainerStatus;
  process?: Process;
  /** Resolves when the exit is in the status and was told. */
  exited?: Promise<void>;
  log?: LogFile;
}

export class FakeWorld {
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  /** By image id. */
  readonly images = new Map<string, Image>();
  readonly events = new EventFeed();
  #addresses = 1;

  nextAddress(): string {
    const number = this.#addresses++;
    return `10.88.${number >> 8}.${number & 255}`;
  }

  sandbox(id: string): FakeSandbox {
    const sandbox = this.sandboxes.get(id);
    if (!sandbox) throw new Fault("not-found", `sandbox "${id}" does not exist`);
    return sandbox;
  }

  container(id: string): FakeContainer {
    const container = this.containers.get(id);
    if (!container) throw new Fault("not-found", `container "${id}" does not exist`);
    return container;
  }

  /** A container that runs, with its process. */
  running(id: string): { container: FakeContainer; process: Process } {
    const container = this.container(id);
    if (!container.process || container.status.state !== ContainerState.CONTAINER_RUNNING) {
      throw new Fault("conflict", `container "${id}" is not running`);
    }
    return { container, process: container.process };
  }

  containersOf(podSandboxId: string): FakeContainer[] {
    return [...this.containers.values()].filter((container) => container.podSandboxId === podSandboxId);
  }

  /** By id, tag or digest. */
  image(name: string): Image | undefined {
    const tag = /[:@]/.test(name.slice(name.lastIndexOf("/") + 1)) ? name : `${name}:latest`;
    return [...this.images.values()].find(
      (image) => image.id === name || image.repoTags.includes(tag) || image.repoDigests.includes(name),
    );
  }

  emit(type: ContainerEventType, id: string, clock: Clock): void {
    const container = this.containers.get(id);
    const sandbox = this.sandboxes.get(container?.podSandboxId ?? id);
    const event = ContainerEventResponse.create({
      containerId: id,
      containerEventType: type,
      createdAt: nanoseconds(clock),
    });
    if (sandbox) {
      event.podSandboxStatus = PodSandboxStatus.create(sandbox.status);
      event.containersStatuses = this.containersOf(sandbox.status.id).map(({ status }) =>
        ContainerStatus.create(status),
      );
    }
    this.events.emit(event);
  }
}

export const newId = () => randomBytes(32).toString("hex");

export const nanoseconds = (clock: Clock) => BigInt(Math.round(clock.now() * 1000)) * 1000n;

export function listed({ podSandboxId, status }: FakeContainer): Container {
  const { id, metadata, image, imageRef, imageId, state, createdAt, labels, annotations } = status;
  return { id, podSandboxId, metadata, image, imageRef, imageId, state, createdAt, labels, annotations };
}

export const isReady = ({ status }: FakeSandbox) => status.state === PodSandboxState.SANDBOX_READY;
