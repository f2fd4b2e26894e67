// pods/eviction: a deletion that asks the pod's disruption budget first.

import type { KubeObject, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { labelSelectorOf } from "../../plugins/kit/kube/selector.ts";
import { storageOf } from "../resources/definition.ts";
import type { LabelSelector } from "../resources/label-selector.ts";
import { inNamespace } from "../storage/resource-cache.ts";
import { mutate, validate } from "./admit.ts";
import { type Answer, jsonAnswer } from "../machinery/answer.ts";
import { asObject, decodeBody } from "./body.ts";
import { claimKind, claimNamespace, timestamp } from "./lifecycle.ts";
import { claimSameName } from "./name.ts";
import { type DeleteOptions, readDeleteOptions } from "./options.ts";
import { objectOf, type Scope } from "./scope.ts";
import { failure, notFound, tooManyRequests } from "../machinery/status.ts";
import type { SubresourceHandler } from "./subresources.ts";
import { checkPreconditions, removeEntry } from "./verbs/delete.ts";
import { findEntry } from "./verbs/get.ts";

const evictionKind = { group: "policy", version: "v1", kind: "Eviction" };
const budgetRef = { group: "policy", plural: "poddisruptionbudgets" };

const evicting = {
  type: "DisruptionTarget",
  status: "True" as const,
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
};

interface Budget extends KubeObject {
  spec?: { selector?: LabelSelector; unhealthyPodEvictionPolicy?: string };
  status?: {
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    observedGeneration?: number;
    disruptedPods?: Record<string, string>;
  };
}

export const podEviction: SubresourceHandler = {
  verbs: ["create"],
  shows: evictionKind,
  async answer(_verb, _path, scope) {
    const body = decodeBody(await scope.request.body(), scope.request.headers.get("content-type"), "Eviction");
    const eviction = asObject(body.value);
    if (eviction.apiVersion === "policy/v1beta1") eviction.apiVersion = "policy/v1";
    claimKind(eviction, evictionKind);
    claimNamespace(eviction, scope);
    claimSameName(eviction, scope.name, evictionKind.kind);
    const admitted = { operation: "CREATE" as const, object: eviction, kind: evictionKind.kind };
    await mutate(scope, admitted);
    await validate(scope, admitted);
    const options = readDeleteOptions(eviction.deleteOptions ?? {}, scope.request.query);
    return evict({ ...scope, dryRun: scope.dryRun || options.dryRun }, options);
  },
};

async function evict(scope: Scope, options: DeleteOptions): Promise<Answer> {
  const pod = objectOf(scope.definition, await findEntry(scope)) as unknown as Pod;
  if (needsBudget(pod)) await spendBudget(scope, pod);
  // From here on it is a deletion like any other.
  const gone = await removeEntry({ ...scope, subresource: "" }, await markEvicted(scope, options));
  if (!gone) throw notFound(scope.definition, scope.name);
  return jsonAnswer({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }, 201);
}

/** Says on the pod why it goes, so that jobs can tell a disruption from a failure. What the deletion expects follows the write. */
async function markEvicted(scope: Scope, options: DeleteOptions): Promise<DeleteOptions> {
  const { services, definition } = scope;
  if (scope.dryRun) return options;
  const marked = await services.storage.update(
    storageOf(definition),
    scope.namespace,
    scope.name,
    (current) => {
      const pod = current.copy() as unknown as Pod;
      checkPreconditions(scope, current.object, options);
      const others = pod.status?.conditions?.filter(({ type }) => type !== evicting.type) ?? [];
      const lastTransitionTime = timestamp(services.clock.now());
      pod.status = { ...pod.status, conditions: [...others, { ...evicting, lastTransitionTime }] };
      return { do: "put", object: pod as unknown as KubeObject };
    },
    scope.call,
  );
  if (!marked || options.preconditions.resourceVersion === undefined) return options;
  const { resourceVersion } = objectOf(definition, marked.entry).metadata;
  return { ...options, preconditions: { ...options.preconditions, ...(resourceVersion ? { resourceVersion } : {}) } };
}

/** Pods that do not count as available anyway may go. */
function needsBudget(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return (
    phase !== "Succeeded" && phase !== "Failed" && phase !== "Pending" && pod.metadata.deletionTimestamp === undefined
  );
}

async function spendBudget(scope: Scope, pod: Pod): Promise<void> {
  const { services } = scope;
  const budgets = inNamespace(services.cache.cache(budgetRef).sorted(), scope.namespace).filter((entry) => {
    const selector = (entry.object as Budget).spec?.selector;
    return selector !== undefined && labelSelectorOf(selector).matches(pod.metadata.labels);
  });
  if (budgets.length > 1)
    throw new Fault("internal", "more than one budget", {
      details: failure(
        500,
        "InternalError",
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
      ),
    });
  const [budget] = budgets;
  if (!budget) return;
  const isReady = pod.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true;
  await services.storage.update(
    budgetRef,
    scope.namespace,
    budget.name,
    (current) => {
      const next = current.copy() as Budget;
      if (!isReady && mayGoUnready(next)) return { do: "nothing" };
      takeOne(next, pod, timestamp(services.clock.now()));
      return scope.dryRun ? { do: "nothing" } : { do: "put", object: next };
    },
    scope.call,
  );
}

function mayGoUnready({ spec, status }: Budget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  return (status?.desiredHealthy ?? 0) > 0 && (status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0);
}

function takeOne(budget: Budget, pod: Pod, now: string): void {
  const status = (budget.status ??= {});
  const name = budget.metadata.name ?? "";
  if ((status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0))
    throw tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10, [
      { reason: "DisruptionBudget", message: `The disruption budget ${name} is still being processed by the server.` },
    ]);
  if ((status.disruptionsAllowed ?? 0) <= 0)
    throw tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0, [
      {
        reason: "DisruptionBudget",
        message: `The disruption budget ${name} needs ${status.desiredHealthy ?? 0} healthy pods and has ${status.currentHealthy ?? 0} currently`,
      },
    ]);
  status.disruptionsAllowed = (status.disruptionsAllowed ?? 0) - 1;
  status.disruptedPods = { ...status.disruptedPods, [pod.metadata.name ?? ""]: now };
}
