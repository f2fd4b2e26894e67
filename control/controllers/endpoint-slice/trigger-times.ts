// When what changes a service's endpoints came about: whoever programs a network from them measures from then how long it took.

import type { Pod, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { keyOf } from "../../manager/owners.ts";

const triggerAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

interface Seen {
  readonly service: string;
  readonly podsByName: ReadonlyMap<string, string>;
}

/** Remembers what it was asked about last; one for each controller, asked for each look at a service. */
export class TriggerTimes {
  readonly #seen = new Map<string, Seen>();

  /**
   * The earliest of the times that are new since the last call: when the service was made, when a pod became ready or ceased to be.
   * Undefined when there is none. Of a service that it sees for the first time, when that was made.
   */
  next(service: Service, pods: readonly Pod[]): string | undefined {
    const before = this.#seen.get(keyOf(service));
    const made = service.metadata.creationTimestamp ?? "";
    const podsByName = new Map<string, string>();
    for (const { metadata, status } of pods) {
      const ready = status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
      if (ready) podsByName.set(metadata.name ?? "", ready);
    }
    this.#seen.set(keyOf(service), { service: made, podsByName });
    if (!before) return made;
    const isNewer = (time: string, than: string) => Date.parse(time) > (Date.parse(than) || 0);
    const fresh = [...podsByName]
      .filter(([name, time]) => isNewer(time, before.podsByName.get(name) ?? ""))
      .map(([, time]) => time);
    if (isNewer(made, before.service)) fresh.push(made);
    return fresh.sort((a, b) => Date.parse(a) - Date.parse(b))[0];
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}

/** The annotations with that time, or without any; undefined when that leaves none. */
export function withTrigger(
  annotations: Readonly<Record<string, string>> | undefined,
  time: string | undefined,
): Record<string, string> | undefined {
  const { [triggerAnnotation]: _old, ...others } = annotations ?? {};
  const all = { ...others, ...(time ? { [triggerAnnotation]: time } : {}) };
  return Object.keys(all).length > 0 ? all : undefined;
}
