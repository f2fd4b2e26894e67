// Which level a request belongs to, by the FlowSchemas of the cluster, and the seats that each level has of the server's.
// Objects are read anew when one of them changes; a request costs a walk over a dozen short lists.

import type { Attributes } from "../../machinery/attributes.ts";
import type { Informers } from "../../storage/cache-informer.ts";
import { bootstrapLevels, bootstrapSchemas } from "./bootstrap.ts";
import { matchesRules } from "./match.ts";
import type { Outbox } from "./outbox.ts";
import { type LevelLimits, Seats } from "./seats.ts";
import { type FlowRule, type FlowSchema, flowSchemaRef, type PriorityLevel, priorityLevelRef } from "./types.ts";

/** As many requests at once as upstream allows: 400 that read and 200 that write. */
export const defaultSeats = 600;

export interface Flow {
  readonly level: string;
  /** Requests of one flow share queues. */
  readonly name: string;
  /** Tells clients by which objects they were sorted. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Sorter {
  readonly name: string;
  readonly level: string;
  readonly rules: readonly FlowRule[];
  readonly by: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

export class FlowControl {
  readonly seats = new Seats();
  readonly outbox: Outbox;
  readonly #informers: Informers;
  readonly #seatCount: number;
  #sorters: readonly Sorter[] | undefined;

  constructor(informers: Informers, seatCount: number, outbox: Outbox) {
    this.outbox = outbox;
    this.#informers = informers;
    this.#seatCount = seatCount;
    const forget = () => {
      this.#sorters = undefined;
    };
    informers.for(flowSchemaRef).onEvent(forget);
    informers.for(priorityLevelRef).onEvent(forget);
  }

  /** Undefined for who belongs to no schema, which the last one for everyone leaves to callers of no group. */
  flowOf(attributes: Attributes): Flow | undefined {
    this.#sorters ??= this.#read();
    for (const sorter of this.#sorters) {
      if (!matchesRules(sorter.rules, attributes)) continue;
      const { by, name, level, headers } = sorter;
      const own =
        by === "ByUser" ? attributes.user.name : by === "ByNamespace" ? (attributes.resource?.namespace ?? "") : "";
      return { level, name: `${name} ${own}`, headers };
    }
    return undefined;
  }

  #read(): Sorter[] {
    const levels = new Map(
      this.#informers
        .for<PriorityLevel>(priorityLevelRef)
        .list()
        .map((one) => [one.metadata.name ?? "", one]),
    );
    this.seats.setLevels(limitsOf(levels, this.#seatCount));
    const stored = this.#informers.for<FlowSchema>(flowSchemaRef).list();
    const names = new Set(stored.map(({ metadata }) => metadata.name));
    // Until they are written, those that must be there hold as if they were.
    const missing = [...bootstrapSchemas]
      .filter(([name]) => !names.has(name))
      .map(([name, spec]) => ({ metadata: { name }, spec }) as FlowSchema);
    return [...stored, ...missing]
      .filter(({ spec }) => levels.has(spec.priorityLevelConfiguration.name) || levels.size === 0)
      .sort(byPrecedence)
      .map(({ metadata: { name = "", uid = "" }, spec }) => ({
        name,
        level: spec.priorityLevelConfiguration.name,
        rules: spec.rules ?? [],
        by: spec.distinguisherMethod?.type,
        headers: {
          "x-kubernetes-pf-flowschema-uid": uid,
          "x-kubernetes-pf-prioritylevel-uid": levels.get(spec.priorityLevelConfiguration.name)?.metadata.uid ?? "",
        },
      }));
  }
}

function byPrecedence(a: FlowSchema, b: FlowSchema): number {
  const difference = (a.spec.matchingPrecedence ?? 1000) - (b.spec.matchingPrecedence ?? 1000);
  return difference === 0 ? ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1) : difference;
}

/** Each level's part of the seats, by its shares; the exempt one is not bounded and so not among them. */
function limitsOf(stored: ReadonlyMap<string, PriorityLevel>, seats: number): Map<string, LevelLimits> {
  const specs = new Map([...stored].map(([name, { spec }]) => [name, spec] as const));
  if (specs.size === 0) for (const [name, spec] of bootstrapLevels) specs.set(name, spec as PriorityLevel["spec"]);
  const limited = [...specs].flatMap(([name, { limited: own }]) => (own ? [[name, own] as const] : []));
  const sharesOf = (own: (typeof limited)[number][1]) => own.nominalConcurrencyShares ?? 30;
  const all = limited.reduce((sum, [, own]) => sum + sharesOf(own), 0) || 1;
  return new Map(
    limited.map(([name, own]) => {
      const atOnce = Math.ceil((seats * sharesOf(own)) / all);
      const { limitResponse, lendablePercent = 0, borrowingLimitPercent } = own;
      const queuing = limitResponse?.type === "Queue" ? limitResponse.queuing : undefined;
      const borrowable =
        borrowingLimitPercent === undefined || borrowingLimitPercent === null
          ? Number.POSITIVE_INFINITY
          : Math.round((atOnce * borrowingLimitPercent) / 100);
      return [
        name,
        {
          atOnce,
          lendable: Math.round((atOnce * lendablePercent) / 100),
          borrowable,
          queues: queuing?.queues ?? 0,
          handSize: queuing?.handSize ?? 0,
          queueLength: queuing?.queueLengthLimit ?? 0,
        },
      ];
    }),
  );
}
