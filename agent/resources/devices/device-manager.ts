// Gives devices to containers and remembers to whom, on disk: after a restart of the agent nobody loses a device and nobody gets another's.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Call } from "../../../plugins/kit/call.ts";
import { Fault } from "../../../plugins/kit/fault.ts";
import type { Container } from "../../../plugins/kit/objects/types.ts";
import { parseQuantity, quantityValue } from "../../../plugins/kit/quantity.ts";
import { type AgentPod, podName } from "../../pods/agent-pod.ts";
import type { Allotment } from "../../pods/deps.ts";
import type { DeviceProvider } from "./contract.ts";

/** Pod uid, container name, resource: device ids. */
type Allocations = Record<string, Record<string, Record<string, string[]>>>;

export class DeviceManager {
  readonly #path: string;
  readonly #providers = new Map<string, DeviceProvider>();
  #allocations: Allocations;

  constructor(path: string) {
    this.#path = path;
    this.#allocations = read(path);
  }

  add(provider: DeviceProvider): void {
    this.#providers.set(provider.resource, provider);
  }

  remove(resource: string): void {
    this.#providers.delete(resource);
  }

  /** Healthy devices by resource, for the node's status. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const [resource, provider] of this.#providers) {
      counts[resource] = provider.devices().filter(({ isHealthy }) => isHealthy).length;
    }
    return counts;
  }

  /** What the container gets; the same again when it restarts. Fault `unavailable` when there are not enough. */
  async allot(pod: AgentPod, container: Container, call: Call): Promise<Partial<Allotment>[]> {
    const parts: Partial<Allotment>[] = [];
    for (const [resource, text] of Object.entries(container.resources?.limits ?? {})) {
      const provider = this.#providers.get(resource);
      const count = Number(quantityValue(parseQuantity(text)));
      if (!provider || count === 0) continue;
      const ids = await this.#idsFor(provider, pod, container, count, call);
      parts.push(await provider.allocate(ids, call));
    }
    return parts;
  }

  release(podUid: string): void {
    if (!(podUid in this.#allocations)) return;
    delete this.#allocations[podUid];
    this.#save();
  }

  /** Forgets pods that are no longer there. */
  retain(podUids: ReadonlySet<string>): void {
    for (const uid of Object.keys(this.#allocations)) if (!podUids.has(uid)) this.release(uid);
  }

  async #idsFor(
    provider: DeviceProvider,
    pod: AgentPod,
    container: Container,
    count: number,
    call: Call,
  ): Promise<readonly string[]> {
    const { uid } = pod.metadata;
    const known = this.#allocations[uid]?.[container.name]?.[provider.resource];
    if (known) return known;
    const taken = new Set(this.#taken(provider.resource));
    const free = provider
      .devices()
      .filter(({ id, isHealthy }) => isHealthy && !taken.has(id))
      .map(({ id }) => id);
    if (free.length < count) {
      throw new Fault(
        "unavailable",
        `Cannot start container "${container.name}" in pod "${podName(pod)}": it needs ${count} of ${provider.resource}, ${free.length} are free`,
      );
    }
    const preferred = (await provider.prefer?.(free, count, call)) ?? [];
    const ids = [...new Set([...preferred.filter((id) => free.includes(id)), ...free])].slice(0, count);
    const ofPod = (this.#allocations[uid] ??= {});
    const ofContainer = (ofPod[container.name] ??= {});
    ofContainer[provider.resource] = ids;
    this.#save();
    return ids;
  }

  #taken(resource: string): string[] {
    return Object.values(this.#allocations).flatMap((pod) =>
      Object.values(pod).flatMap((container) => container[resource] ?? []),
    );
  }

  #save(): void {
    mkdirSync(dirname(this.#path), { recursive: true });
    writeFileSync(`${this.#path}.new`, JSON.stringify(this.#allocations), { mode: 0o600 });
    renameSync(`${this.#path}.new`, this.#path);
  }
}

function read(path: string): Allocations {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Allocations;
  } catch {
    // None yet, or cut off by a crash: then nothing is known to be taken.
    return {};
  }
}
