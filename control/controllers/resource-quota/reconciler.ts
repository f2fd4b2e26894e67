// Keeps a quota's status true to what its namespace really uses: after the quota changed, after objects went, and now and
// then. Admission raises the amounts when objects are made; this is how they come down again.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { compareQuantity, parseQuantity } from "../../../plugins/kit/kube/quantity.ts";
import type { ResourceQuota } from "../../../plugins/kit/quota/scopes.ts";
import { chargedUntil } from "../../../plugins/kit/quota/usage.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { builtInResources } from "../stored-resources.ts";
import { RecentCharges } from "./charges.ts";
import { countedResource, usedBy } from "./totals.ts";

const lookAgainMs = 5 * 60_000;
/** Objects of custom resources wake nobody when they go. */
const lookAtCustomMs = 10_000;
// What admission has charged may not be stored yet: a quota that was charged just now is counted when it is quiet, but
// not put off for ever; then what was charged last stays charged.
const quietMs = 1000;
const longestWaitMs = 5000;

export const resourceQuotaController: ControllerFactory = ({ client, informers, clock }) => {
  const quotas = informers.for<ResourceQuota>(resources.resourcequotas);
  const charges = new RecentCharges(quietMs);
  const waitingSince = new Map<string, number>();
  const keyOf = (quota: ResourceQuota) => `${quota.metadata.namespace}/${quota.metadata.name}`;
  quotas.onEvent(({ type, object, previous }) => {
    if (type === "delete") charges.forget(keyOf(object));
    else if (previous) charges.note(keyOf(object), previous.status?.used, object.status?.used, clock.monotonic());
  });
  const quotasBeside = (object: KubeObject) => quotas.list(object.metadata.namespace ?? "").map(keyOf);
  const counted = builtInResources.filter(
    (ref) => ref.namespaced && ref.plural !== "events" && ref.plural !== "leases",
  );

  const isWoken = new Set(counted.map(({ group, plural }) => `${group}/${plural}`));
  const pauseOf = (hard: Readonly<Record<string, string>>) =>
    Object.keys(hard)
      .map(countedResource)
      .every(({ group, plural }) => isWoken.has(`${group}/${plural}`))
      ? lookAgainMs
      : lookAtCustomMs;

  /** How long to wait yet, in milliseconds; 0 when it may be counted now. */
  function putOff(key: string): number {
    const now = clock.monotonic();
    const quiet = charges.quietIn(key, now);
    const since = waitingSince.get(key) ?? now;
    if (quiet <= 0 || now - since >= longestWaitMs) {
      waitingSince.delete(key);
      return 0;
    }
    waitingSince.set(key, since);
    return quiet;
  }

  /** Milliseconds until a pod that does not go is charged no more. */
  function untilOverdue(namespace: string): number {
    const times = informers.for<KubeObject>(resources.pods).list(namespace).map(chargedUntil);
    const left = times.flatMap((at) => (at !== undefined && at >= clock.now() ? [at - clock.now() + 1000] : []));
    return Math.min(lookAgainMs, ...left);
  }

  return {
    name: "resource-quota",
    wakes: counted.map((resource) => ({
      resource,
      keys: (object: KubeObject) =>
        resource.plural === "resourcequotas" ? [keyOf(object as ResourceQuota)] : quotasBeside(object),
    })),
    async reconcile(key, call) {
      const [namespace = "", name = ""] = key.split("/");
      const quota = quotas.get(namespace, name);
      if (!quota || quota.metadata.deletionTimestamp) return undefined;
      const hard = quota.spec?.hard ?? {};
      const isKnown = Object.keys(hard).every((each) => quota.status?.used?.[each] !== undefined);
      const wait = isKnown ? putOff(key) : 0;
      if (wait > 0) return wait;
      const now = clock.monotonic();
      const counted = usedBy(quota, (of) => informers.for<KubeObject>(of as ResourceRef).list(namespace), clock.now());
      const used = isKnown ? charges.withThese(key, counted, quota.status?.used, now) : counted;
      const quiet = charges.quietIn(key, now) || lookAgainMs;
      const pause = Math.min(pauseOf(hard), untilOverdue(namespace), quiet);
      if (isSame(quota.status?.used, used) && isSame(quota.status?.hard, hard)) return pause;
      try {
        await client.update(resources.resourcequotas, { ...quota, status: { hard, used } }, call, {
          subresource: "status",
        });
      } catch (error) {
        // Charged or changed meanwhile: that wakes us again.
        if (!isFault(error, "conflict", "not-found")) throw error;
      }
      return pause;
    },
  };
};

function isSame(a: Readonly<Record<string, string>> | undefined, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(b);
  return (
    Object.keys(a ?? {}).length === names.length &&
    names.every((name) => {
      const [left, right] = [a?.[name], b[name]];
      return (
        left !== undefined && right !== undefined && compareQuantity(parseQuantity(left), parseQuantity(right)) === 0
      );
    })
  );
}
