// Nobody hands out more than they hold: writes of roles and bindings are refused unless the writer already has every
// power they grant, or the `escalate` / `bind` verb. An admission step, so that every write path meets it.

import { type AdmissionPlugin, type AdmissionRequest, refuse } from "../../../plugins/kit/contracts/admission.ts";
import type { AccessQuestion } from "../../../plugins/kit/kube/cluster-view.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type CoverageLimits, coverageOf, describeRule } from "./covers.ts";
import { type ClusterRole, type PolicyRule, type RoleBinding, rbacGroup } from "./objects.ts";
import type { RuleResolver } from "./resolver.ts";

type MayDo = (question: AccessQuestion, call: Call) => Promise<boolean>;

const everything: PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/** A refusal stays readable, and a comparison short: most take a few hundred steps. */
const limits: CoverageLimits = { mostRules: 100, mostSteps: 1_000_000 };
const mostMessageLength = 8192;

export function escalationGuard(resolver: RuleResolver, mayDo: MayDo): AdmissionPlugin {
  return {
    name: "RBACEscalation",
    handles: (request) =>
      request.group === rbacGroup &&
      request.subresource === "" &&
      (request.operation === "CREATE" || request.operation === "UPDATE"),
    async validate(request, call) {
      if (!request.object || request.user.groups.includes("system:masters")) return;
      if (request.resource === "roles" || request.resource === "clusterroles") {
        await checkRole(request, resolver, mayDo, call);
      } else if (request.resource === "rolebindings" || request.resource === "clusterrolebindings") {
        await checkBinding(request, resolver, mayDo, call);
      }
    },
  };
}

async function checkRole(request: AdmissionRequest, resolver: RuleResolver, mayDo: MayDo, call: Call): Promise<void> {
  const next = request.object as unknown as ClusterRole;
  const previous = request.oldObject as unknown as ClusterRole | undefined;
  if (previous && isForGarbageCollectionOnly(previous, next)) return;
  const may = await mayDo(question(request, "escalate", request.resource, next.metadata.name ?? ""), call);
  if (may) return;
  if (next.aggregationRule) {
    const { missing, isTooComplex } = coverageOf(held(request, resolver), everything, limits);
    if (missing.length > 0 || isTooComplex)
      throw refuse(request, "must have cluster-admin privileges to use an aggregationRule");
  }
  refuseUncovered(request, resolver, next.rules ?? []);
}

async function checkBinding(
  request: AdmissionRequest,
  resolver: RuleResolver,
  mayDo: MayDo,
  call: Call,
): Promise<void> {
  const next = request.object as unknown as RoleBinding;
  const previous = request.oldObject as unknown as RoleBinding | undefined;
  if (previous && isForGarbageCollectionOnly(previous, next)) return;
  const plural = next.roleRef.kind === "ClusterRole" ? "clusterroles" : "roles";
  if (await mayDo(question(request, "bind", plural, next.roleRef.name), call)) return;
  const rules = resolver.rulesOfRef(next.roleRef, request.namespace);
  if (!rules) throw refuse(request, `${plural}.${rbacGroup} "${next.roleRef.name}" not found`);
  refuseUncovered(request, resolver, rules);
}

/** Fields of the metadata that the garbage collector and the server itself write. */
const uncompared = new Set(["ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"]);

/** As upstream: any other change counts as handing the role out, for a label may aggregate it into one that the writer holds. */
function isForGarbageCollectionOnly(previous: ClusterRole | RoleBinding, next: ClusterRole | RoleBinding): boolean {
  const compared = ({ metadata, ...rest }: ClusterRole | RoleBinding) => ({
    ...rest,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([field]) => !uncompared.has(field))),
  });
  return deepEqual(compared(previous), compared(next));
}

function question(request: AdmissionRequest, verb: string, plural: string, name: string): AccessQuestion {
  return {
    user: request.user,
    verb,
    resource: { group: rbacGroup, version: "*", plural, subresource: "", namespace: request.namespace, name },
  };
}

function held(request: AdmissionRequest, resolver: RuleResolver): PolicyRule[] {
  return resolver.rulesFor(request.user, request.namespace).rules.map(({ rule }) => rule);
}

function refuseUncovered(request: AdmissionRequest, resolver: RuleResolver, wanted: readonly PolicyRule[]): void {
  const { missing, isTruncated, isTooComplex } = coverageOf(held(request, resolver), wanted, limits);
  if (missing.length === 0 && !isTooComplex) return;
  const { name, groups } = request.user;
  const who = `user ${JSON.stringify(name)} (groups=[${groups.map((group) => JSON.stringify(group)).join(" ")}])`;
  if (isTooComplex)
    throw refuse(request, `${who} is attempting to grant RBAC rules that are too complex to compare with those held`);
  const all = missing.map(describeRule).toSorted().join("\n");
  const what = all.slice(0, mostMessageLength);
  const more = isTruncated || what !== all ? "\n... and more" : "";
  throw refuse(request, `${who} is attempting to grant RBAC permissions not currently held:\n${what}${more}`);
}
