// Finds what is ours on the daemon, by its labels. Holds nothing but facts that cannot change while a container runs.

import { readFileSync } from "node:fs";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Engine } from "./engine/engine.ts";
import type { ContainerInspect, ContainerSummary } from "./engine/types.ts";
import { type Kind, labelNames } from "./labels.ts";

/** Where a running container is found on this host. */
export interface Place {
  readonly pid: number;
  /** Its control group by controller, or under "" where there is one hierarchy. */
  readonly cgroup: string;
  /** What it has written, where the storage driver keeps that in a folder. */
  readonly upperDir: string | undefined;
}

export class Inventory {
  readonly #engine: Engine;
  readonly #instance: string;
  readonly #places = new Map<string, Place>();

  constructor(engine: Engine, instance: string) {
    this.#engine = engine;
    this.#instance = instance;
  }

  /** By id, or by a prefix that only one has. Not-found for what is not ours. */
  async inspect(kind: Kind, id: string, call: Call): Promise<ContainerInspect> {
    const found = await this.find(kind, id, call);
    if (!found) throw new Fault("not-found", `There is no ${kind} "${id}"`);
    return found;
  }

  async find(kind: Kind, id: string, call: Call): Promise<ContainerInspect | undefined> {
    if (!/^[0-9a-f]{1,64}$/.test(id)) return undefined;
    try {
      const found = await this.#engine.get<ContainerInspect>(`/containers/${id}/json`, {}, call);
      const labels = found.Config.Labels;
      if (labels[labelNames.instance] !== this.#instance || labels[labelNames.kind] !== kind) return undefined;
      this.#remember(found);
      return found;
    } catch (error) {
      if (isFault(error, "not-found")) return undefined;
      throw error;
    }
  }

  /** Of a kind, or of one sandbox. */
  async list(kind: Kind, call: Call, sandboxId?: string): Promise<ContainerSummary[]> {
    const label = [`${labelNames.instance}=${this.#instance}`, `${labelNames.kind}=${kind}`];
    if (sandboxId !== undefined) label.push(`${labelNames.sandboxId}=${sandboxId}`);
    return this.#engine.get("/containers/json", { all: true, filters: { label } }, call);
  }

  /** Undefined while it does not run. */
  async place(kind: Kind, id: string, call: Call): Promise<Place | undefined> {
    return this.#places.get(id) ?? (await this.find(kind, id, call).then(() => this.#places.get(id)));
  }

  forget(id: string): void {
    this.#places.delete(id);
  }

  #remember({ Id, State, GraphDriver }: ContainerInspect): void {
    if (!State.Running || State.Pid === 0) return void this.#places.delete(Id);
    if (this.#places.get(Id)?.pid === State.Pid) return;
    const cgroup = cgroupOf(State.Pid);
    if (cgroup === undefined) return;
    this.#places.set(Id, { pid: State.Pid, cgroup, upperDir: GraphDriver.Data?.UpperDir });
  }
}

/** The group that the process is really in, whichever driver made it. */
function cgroupOf(pid: number): string | undefined {
  try {
    const lines = readFileSync(`/proc/${pid}/cgroup`, "utf8").split("\n");
    const of = (controller: string) =>
      lines.find((line) => line.split(":")[1]?.split(",").includes(controller))?.replace(/^\d+:[^:]*:/, "");
    return of("memory") ?? of("pids") ?? of("");
  } catch {
    // Ended between two looks.
    return undefined;
  }
}
