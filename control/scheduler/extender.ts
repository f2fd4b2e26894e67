// An extender: a program elsewhere that is asked over HTTP which of the nodes that fit it would take, how it likes them, who should
// go for a pod, or to do the binding. The messages are those of kube-scheduler's extenders (extender/v1).

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";

export interface ExtenderOptions {
  readonly fetch: Fetch;
  /** Without a slash at its end. */
  readonly url: string;
  /** The last part of the URL for each thing that can be asked; empty where it cannot. */
  readonly verbs: Readonly<Record<"filter" | "prioritize" | "preempt" | "bind", string>>;
  readonly weight: number;
  readonly timeoutMs: number;
  /** Knows the nodes by itself: it is told names only. */
  readonly hasNodes: boolean;
  /** It is asked only about pods that want one of these; about all when there are none. */
  readonly resources: readonly string[];
  readonly isIgnorable: boolean;
}

export interface Victims {
  readonly pods: readonly Pod[];
  readonly violations: number;
}

export interface ExtenderFilterResult {
  /** Undefined when it did not say which nodes are left: none are. */
  readonly nodeNames: readonly string[];
  readonly failed: ReadonlyMap<string, { readonly reason: string; readonly final: boolean }>;
}

/** Points that an extender gives go to 10, ours to 100. */
const scale = 10;

export class Extender {
  readonly #options: ExtenderOptions;

  constructor(options: ExtenderOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  get isIgnorable(): boolean {
    return this.#options.isIgnorable;
  }

  does(what: "filter" | "prioritize" | "preempt" | "bind"): boolean {
    return this.#options.verbs[what] !== "";
  }

  isInterested({ spec }: Pod): boolean {
    const { resources } = this.#options;
    if (resources.length === 0) return true;
    return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].some((container) =>
      [container.resources?.requests, container.resources?.limits].some((wanted) =>
        resources.some((resource) => Object.hasOwn(wanted ?? {}, resource)),
      ),
    );
  }

  async filter(pod: Pod, nodes: readonly Node[], call: Call): Promise<ExtenderFilterResult> {
    const answer = await this.#ask("filter", this.#about(pod, nodes), call);
    const error = member(answer, "error");
    if (error) throw new Fault("unavailable", String(error));
    const known = new Set(nodes.map(({ metadata }) => metadata.name));
    const names = member(answer, "nodeNames");
    const items = member(member(answer, "nodes"), "items");
    const left =
      this.#options.hasNodes && Array.isArray(names)
        ? names.map(String)
        : Array.isArray(items)
          ? items.map((item) => String(member(member(item, "metadata"), "name")))
          : [];
    for (const name of left)
      if (!known.has(name))
        throw new Fault(
          "unavailable",
          `extender ${JSON.stringify(this.url)} claims a filtered node ${JSON.stringify(name)} which is not found in the input node list`,
        );
    const failed = new Map<string, { reason: string; final: boolean }>();
    const learn = (raw: unknown, final: boolean) => {
      for (const [name, reason] of Object.entries((raw ?? {}) as object)) failed.set(name, { reason, final });
    };
    learn(member(answer, "failedNodes"), false);
    learn(member(answer, "failedAndUnresolvableNodes"), true);
    return { nodeNames: left, failed };
  }

  /** Points by node, already weighed. */
  async prioritize(pod: Pod, nodes: readonly Node[], call: Call): Promise<Map<string, number>> {
    const answer = await this.#ask("prioritize", this.#about(pod, nodes), call);
    const points = new Map<string, number>();
    for (const item of Array.isArray(answer) ? answer : [])
      points.set(String(member(item, "host")), Number(member(item, "score") ?? 0) * this.#options.weight * scale);
    return points;
  }

  /** The nodes that are left, with those who should go from each. */
  async preempt(
    pod: Pod,
    victimsByNode: ReadonlyMap<string, Victims>,
    podsOn: (nodeName: string) => readonly Pod[] | undefined,
    call: Call,
  ): Promise<Map<string, Victims>> {
    const told = <T>(form: (victim: Pod) => T) =>
      Object.fromEntries(
        [...victimsByNode].map(([name, { pods, violations }]) => [
          name,
          { Pods: pods.map(form), NumPDBViolations: violations },
        ]),
      );
    const victims = this.#options.hasNodes
      ? { NodeNameToMetaVictims: told(({ metadata }) => ({ UID: metadata.uid })) }
      : { NodeNameToVictims: told((victim) => victim) };
    const answer = await this.#ask("preempt", { Pod: pod, ...victims }, call);
    const chosen = new Map<string, Victims>();
    const byNode = (member(answer, "nodeNameToMetaVictims") ?? {}) as Record<string, unknown>;
    for (const [name, raw] of Object.entries(byNode)) {
      const there = podsOn(name);
      if (!there)
        throw new Fault("unavailable", `extender ${this.url} names node ${JSON.stringify(name)}, which is not there`);
      const pods = ((member(raw, "pods") ?? []) as unknown[]).map((one) => {
        const uid = String(member(one, "uid"));
        const found = there.find(({ metadata }) => metadata.uid === uid);
        if (found) return found;
        throw new Fault(
          "unavailable",
          `extender: ${this.url} claims to preempt pod (UID: ${uid}) on node: ${name}, but the pod is not found on that node`,
        );
      });
      if (pods.length > 0) chosen.set(name, { pods, violations: Number(member(raw, "numPDBViolations") ?? 0) });
      else if (!this.isIgnorable)
        throw new Fault("unavailable", `expected at least one victim pod on node ${JSON.stringify(name)}`);
    }
    return chosen;
  }

  async bind({ metadata }: Pod, nodeName: string, call: Call): Promise<void> {
    const { name: PodName, namespace: PodNamespace, uid: PodUID } = metadata;
    const answer = await this.#ask("bind", { PodName, PodNamespace, PodUID, Node: nodeName }, call);
    const error = member(answer, "error");
    if (error) throw new Fault("unavailable", String(error));
  }

  #about(pod: Pod, nodes: readonly Node[]): object {
    return this.#options.hasNodes
      ? { Pod: pod, Nodes: null, NodeNames: nodes.map(({ metadata }) => metadata.name) }
      : { Pod: pod, Nodes: { metadata: {}, items: nodes }, NodeNames: null };
  }

  async #ask(what: keyof ExtenderOptions["verbs"], body: object, call: Call): Promise<unknown> {
    const { fetch, url: prefix, verbs, timeoutMs } = this.#options;
    const url = `${prefix}/${verbs[what]}`;
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([call.signal, deadline]);
    const headers = { "content-type": "application/json" };
    try {
      const response = await fetch(new Request(url, { method: "POST", headers, body: JSON.stringify(body), signal }));
      const text = await response.text();
      if (response.status !== 200)
        throw new Fault("unavailable", `failed ${verbs[what]} with extender at URL ${url}, code ${response.status}`);
      return JSON.parse(text);
    } catch (error) {
      if (error instanceof Fault && error.code === "unavailable" && error.message.startsWith("failed ")) throw error;
      const why = deadline.aborted ? "context deadline exceeded" : toFault(error, "the request").message;
      throw new Fault("unavailable", `Post ${JSON.stringify(url)}: ${why}`, { cause: error });
    }
  }
}

/** Extenders in Go write members with capitals, others do not; Go's reader takes both. */
function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const lower = name.toLowerCase();
  for (const [key, found] of Object.entries(value)) if (key.toLowerCase() === lower) return found;
  return undefined;
}
