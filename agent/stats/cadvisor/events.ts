// What happened to containers, in cAdvisor's words: made, gone, killed for want of memory. Bounded; the oldest go first.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { aliasesOf, type Looked } from "./containers.ts";
import { timeOf } from "./stats-document.ts";

export type EventType = "containerCreation" | "containerDeletion" | "oom" | "oomKill";

export interface CadvisorEvent {
  readonly container_name: string;
  readonly timestamp: string;
  readonly event_type: EventType;
  readonly event_data?: { readonly container_deletion?: { readonly exit_code: number } };
}

export interface EventQuery {
  readonly name: string;
  readonly isWithBelow: boolean;
  readonly types: ReadonlySet<EventType>;
  readonly most: number;
  readonly from: number;
  readonly until: number;
}

const most = 1000;

export class CadvisorEvents {
  readonly #kept: CadvisorEvent[] = [];
  readonly #known = new Map<string, { id: string; oomKills: number }>();
  readonly #waiting = new Set<(event: CadvisorEvent) => void>();

  /** Compares a look with the one before. A creation is told with the time it happened, however late it is seen. */
  look(all: ReadonlyMap<string, Looked>, observed: readonly ObservedPod[], now: number): void {
    const ended = new Map(observed.flatMap(({ containers }) => containers.map((one) => [one.id, one] as const)));
    for (const one of all.values()) {
      if (!one.container) continue;
      const oomKills = one.points.at(-1)?.sample.memory?.oomKills ?? 0;
      const known = this.#known.get(one.name);
      if (!known) this.#add(one.name, "containerCreation", one.container.createdAt);
      else if (oomKills > known.oomKills) {
        this.#add(one.name, "oom", now);
        this.#add(one.name, "oomKill", now);
      }
      this.#known.set(one.name, { id: aliasesOf(one).at(-1) ?? "", oomKills });
    }
    for (const [name, { id }] of this.#known) {
      if (all.has(name)) continue;
      this.#known.delete(name);
      const last = ended.get(id);
      if (last?.reason === "OOMKilled") {
        this.#add(name, "oom", last.finishedAt);
        this.#add(name, "oomKill", last.finishedAt);
      }
      const data = last ? { event_data: { container_deletion: { exit_code: last.exitCode } } } : {};
      this.#add(name, "containerDeletion", last?.finishedAt || now, data);
    }
  }

  past(query: EventQuery): CadvisorEvent[] {
    return this.#kept.filter((event) => isWanted(event, query)).slice(-query.most);
  }

  /** Those that happen from now on, a JSON document per line, until the call ends. */
  async *stream(query: EventQuery, { signal }: Call): AsyncGenerator<Uint8Array, void> {
    const ready: CadvisorEvent[] = [];
    let wake = () => {};
    const take = (event: CadvisorEvent) => {
      if (isWanted(event, query)) ready.push(event);
      wake();
    };
    this.#waiting.add(take);
    const leave = () => wake();
    signal.addEventListener("abort", leave);
    try {
      while (!signal.aborted) {
        const next = ready.shift();
        if (next) yield new TextEncoder().encode(`${JSON.stringify(next)}\n`);
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", leave);
      this.#waiting.delete(take);
    }
  }

  #add(name: string, type: EventType, at: number, more: Partial<CadvisorEvent> = {}): void {
    const event = { container_name: name, timestamp: timeOf(at), event_type: type, ...more };
    this.#kept.push(event);
    if (this.#kept.length > most) this.#kept.shift();
    for (const take of this.#waiting) take(event);
  }
}

function isWanted({ container_name, event_type, timestamp }: CadvisorEvent, query: EventQuery): boolean {
  const at = Date.parse(timestamp);
  if (!query.types.has(event_type) || at < query.from || at > query.until) return false;
  if (container_name === query.name) return true;
  return query.isWithBelow && container_name.startsWith(query.name === "/" ? "/" : `${query.name}/`);
}
