// Gives devices to containers and remembers to whom, on disk: after a restart of the agent nobody loses a device and nobody gets another's.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Container } from "../../../plugins/kit/kube/objects/types.ts";
import { parseQuantity, quantityValue } from "../../../plugins/kit/kube/quantity.ts";
import { type AgentPod, podName } from "../../model/agent-pod.ts";
import type { Allotment } from "../contract.ts";
import type { DeviceCount, DeviceProvider } from "./contract.ts";

/** Which devices a container has, and what it was given for them; an environment does not fit into JSON as a map. */
interface Given extends Partial<Omit<Allotment, "environment">> {
  readonly ids: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Pod uid, container name, resource. */
type Allocations = Record<string, Record<string, Record<string, Given>>>;

export class DeviceManager {
  readonly #path: string;
  /** Every resource that a provider ever had: one that is away leaves none of it, not an amount that nobody answers for. */
  readonly #known: Set<string>;
  readonly #providers = new Map<string, DeviceProvider>();
  /** Ends when the last question of a device of that resource is settled: two containers must not be given the same one. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #allocations: Allocations;

  constructor(path: string) {
    this.#path = path;
    this.#allocations = read<Allocations>(path, {});
    this.#known = new Set(read<string[]>(this.#knownPath, []));
  }

  add(provider: DeviceProvider): void {
    this.#providers.set(provider.resource, provider);
    if (this.#known.has(provider.resource)) return;
    this.#known.add(provider.resource);
    write(this.#knownPath, [...this.#known]);
  }

  /** By resource, for the node's status. */
  counts(): Record<string, DeviceCount> {
    const counts: Record<string, DeviceCount> = {};
    for (const resource of this.#known) {
      const devices = this.#providers.get(resource)?.devices() ?? [];
      counts[resource] = {
        capacity: devices.length,
        allocatable: devices.filter(({ isHealthy }) => isHealthy).length,
      };
    }
    return counts;
  }

  /** What the container gets; the same again when it restarts, even while its provider is away. Fault `unavailable` when there are not enough. */
  async allot(pod: AgentPod, container: Container, call: Call): Promise<Partial<Allotment>[]> {
    const parts: Partial<Allotment>[] = [];
    for (const [resource, text] of Object.entries(container.resources?.limits ?? {})) {
      const known = this.#allocations[pod.metadata.uid]?.[container.name]?.[resource];
      const provider = this.#providers.get(resource);
      const count = Number(quantityValue(parseQuantity(text)));
      if (count === 0 || (!known && !provider)) continue;
      const give = () => this.#give(provider as DeviceProvider, pod, container, count, call);
      const given = known ?? (await this.#inTurn(resource, give));
      await provider?.prepare?.(given.ids, call);
      const { ids: _ids, environment, ...rest } = given;
      parts.push({ ...rest, ...(environment ? { environment: new Map(Object.entries(environment)) } : {}) });
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

  #inTurn<T>(resource: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(resource) ?? Promise.resolve()).then(work);
    // Whoever comes next does not care how this one ended; the caller does.
    this.#turns.set(
      resource,
      turn.catch(() => {}),
    );
    return turn;
  }

  async #give(
    provider: DeviceProvider,
    pod: AgentPod,
    container: Container,
    count: number,
    call: Call,
  ): Promise<Given> {
    const { resource } = provider;
    const { uid } = pod.metadata;
    const inherited = this.#inheritable(pod, resource);
    const taken = new Set(this.#taken(resource).filter((id) => !inherited.has(id)));
    const free = provider
      .devices()
      .filter(({ id, isHealthy }) => isHealthy && !taken.has(id))
      .map(({ id }) => id);
    if (free.length < count) {
      throw new Fault(
        "unavailable",
        `Cannot start container "${container.name}" in pod "${podName(pod)}": it needs ${count} of ${resource}, ${free.length} are free`,
      );
    }
    const reused = free.filter((id) => inherited.has(id));
    const preferred = reused.length < count ? ((await provider.prefer?.(free, count, call)) ?? []) : [];
    const wanted = [...reused, ...preferred.filter((id) => free.includes(id)), ...free];
    const ids = [...new Set(wanted)].slice(0, count);
    const { environment, ...rest } = await provider.allocate(ids, call);
    const given = { ids, ...rest, ...(environment ? { environment: Object.fromEntries(environment) } : {}) };
    const ofPod = (this.#allocations[uid] ??= {});
    const ofContainer = (ofPod[container.name] ??= {});
    ofContainer[resource] = given;
    this.#save();
    return given;
  }

  /** Devices of init containers that have ended by the time another container of the pod starts; sidecars run on. */
  #inheritable(pod: AgentPod, resource: string): Set<string> {
    const ofPod = this.#allocations[pod.metadata.uid] ?? {};
    const ending = new Set(
      (pod.spec.initContainers ?? []).filter((init) => init.restartPolicy !== "Always").map(({ name }) => name),
    );
    const idsOf = (isEnding: boolean) =>
      Object.entries(ofPod)
        .filter(([name]) => ending.has(name) === isEnding)
        .flatMap(([, container]) => container[resource]?.ids ?? []);
    const kept = new Set(idsOf(false));
    return new Set(idsOf(true).filter((id) => !kept.has(id)));
  }

  #taken(resource: string): string[] {
    return Object.values(this.#allocations).flatMap((pod) =>
      Object.values(pod).flatMap((container) => container[resource]?.ids ?? []),
    );
  }

  get #knownPath(): string {
    return join(dirname(this.#path), "device-resources.json");
  }

  #save(): void {
    write(this.#path, this.#allocations);
  }
}

function write(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function read<T>(path: string, otherwise: T): T {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as T;
  } catch {
    // None yet, or cut off by a crash: then nothing is known to be taken.
    return otherwise;
  }
}
