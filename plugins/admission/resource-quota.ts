// Keeps namespaces within their quotas. The used amounts are raised in the store, conditional on nobody having been
// faster, before the object is: two writes can never both take the last place, from one server or from several.
// Invariants: writes of one namespace are decided one batch at a time; a batch raises each quota by one write.

import { type AdmissionRequest, refuse } from "../kit/contracts/admission.ts";
import type { Call } from "../kit/base/call.ts";
import { uninterrupted } from "../kit/base/call.ts";
import { Fault } from "../kit/base/fault.ts";
import type { ResourceQuota } from "../kit/quota/scopes.ts";
import type { Usage } from "../kit/quota/usage.ts";
import { addedUsage, charge } from "./resource-quota/charge.ts";
import { step, type Tools } from "./step.ts";

interface Waiting {
  readonly request: AdmissionRequest;
  readonly added: Usage;
  readonly done: (refusal?: unknown) => void;
}

const quotas = { group: "", plural: "resourcequotas" };
const mostAttempts = 20;

export const resourceQuota = step("ResourceQuota", (tools) => {
  const waitingByNamespace = new Map<string, Waiting[]>();
  const serve = async (namespace: string) => {
    for (;;) {
      const batch = waitingByNamespace.get(namespace) ?? [];
      if (batch.length === 0) break;
      waitingByNamespace.set(namespace, []);
      try {
        await decide(tools, namespace, batch);
      } catch (error) {
        for (const each of batch) each.done(error);
      }
    }
    waitingByNamespace.delete(namespace);
  };
  return {
    handles: (request) =>
      request.namespace !== "" &&
      (request.operation === "CREATE" || request.operation === "UPDATE") &&
      (request.subresource === "" || (request.resource === "pods" && request.subresource === "resize")) &&
      tools.view.informer<ResourceQuota>(quotas).list(request.namespace).length > 0,
    validate(request) {
      const added = addedUsage(request);
      if (!added) return;
      return new Promise<void>((resolve, reject) => {
        const waiting = {
          request,
          added,
          done: (refusal?: unknown) => (refusal ? reject(refusal as Error) : resolve()),
        };
        const queue = waitingByNamespace.get(request.namespace);
        if (queue) queue.push(waiting);
        else {
          waitingByNamespace.set(request.namespace, [waiting]);
          void serve(request.namespace);
        }
      });
    },
  };
});

/** Answers everyone in the batch, in the order they came. */
async function decide({ view }: Tools, namespace: string, batch: readonly Waiting[]): Promise<void> {
  // One batch serves several requests: it goes on when one of them is called off.
  const call = uninterrupted;
  let left = [...batch];
  const refuseThose = (refused: ReadonlyMap<Waiting, string>) => {
    for (const [waiting, why] of refused) waiting.done(refuse(waiting.request, why));
    left = left.filter((waiting) => !refused.has(waiting));
  };
  const known = view.informer<ResourceQuota>(quotas).list(namespace);
  const names = known.map((quota) => quota.metadata.name ?? "").sort();
  // What some quota refuses must not be charged to another.
  for (const quota of known) refuseThose(fit(quota, left).refused);
  for (const name of names) {
    for (let attempt = 1; left.length > 0; attempt++) {
      const quota = await freshQuota({ view }, namespace, name, call);
      if (!quota) break;
      const { refused, next } = fit(quota, left);
      if (!next) {
        refuseThose(refused);
        break;
      }
      if (await view.updateStatus(quotas, next, call)) {
        refuseThose(refused);
        break;
      }
      if (attempt >= mostAttempts)
        throw new Fault("conflict", `Cannot charge quota "${namespace}/${name}": too many writers`);
    }
  }
  for (const waiting of left) waiting.done();
}

const freshQuota = ({ view }: Pick<Tools, "view">, namespace: string, name: string, call: Call) =>
  view.read<ResourceQuota>(quotas, { namespace, name }, call);

/** Who does not fit beside those before them, and the quota after the others; undefined when nothing rises. */
function fit(quota: ResourceQuota, batch: readonly Waiting[]): { refused: Map<Waiting, string>; next?: ResourceQuota } {
  const refused = new Map<Waiting, string>();
  let next = quota;
  for (const waiting of batch) {
    const verdict = charge(next, waiting.request, waiting.added);
    if (!verdict.fits) refused.set(waiting, verdict.why);
    else if (verdict.used && !waiting.request.dryRun)
      next = { ...next, status: { ...next.status, used: verdict.used } };
  }
  return next === quota ? { refused } : { refused, next };
}
