// Holds pods to the Pod Security Standard that their namespace's labels ask for: refuse, warn, or note in the audit log.

import { type AdmissionPlugin, type AdmissionRequest, admissionKind, refuse } from "../kit/contracts/admission.ts";
import type { Call } from "../kit/base/call.ts";
import { type ClusterView, clusterViewKind } from "../kit/kube/cluster-view.ts";
import { checkSettings, listOf, mapOf, object, string, withDefault } from "../kit/base/config-check.ts";
import { Fault } from "../kit/base/fault.ts";
import type { KubeObject, Namespace, ObjectMeta, Pod, PodSpec } from "../kit/kube/objects/types.ts";
import { equalJson } from "../kit/kube/patch/json-tree.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { statusFault } from "../kit/kube/status-fault.ts";
import { podView } from "./pod-security/check.ts";
import { describe, isStricter, nameOf, noPolicy, type Policy, policyOf, violations } from "./pod-security/policy.ts";

interface Settings {
  readonly defaults: Policy;
  readonly exempt: {
    readonly usernames: readonly string[];
    readonly namespaces: readonly string[];
    readonly runtimeClasses: readonly string[];
  };
}

export const podSecurity: Plugin<AdmissionPlugin, Settings> = {
  kind: admissionKind,
  name: "PodSecurity",
  needs: [clusterViewKind],
  keys: {
    defaults:
      "the policy of namespaces without labels: { enforce, enforce-version, warn, warn-version, audit, audit-version }",
    exemptions: "who is never held to it: lists of usernames, namespaces and runtimeClasses",
  },
  configure: readSettings,
  open(host) {
    const [view] = host.all(clusterViewKind);
    if (!view) throw new Fault("internal", "PodSecurity was opened without a view of the cluster");
    return makePodSecurity(view, host.settings);
  },
};

const modes: readonly string[] = ["enforce", "warn", "audit"].flatMap((mode) => [mode, `${mode}-version`]);
const noExemptions = { usernames: [], namespaces: [], runtimeClasses: [] };

function readSettings(raw: unknown): Settings {
  const names = withDefault(listOf(string), []);
  const { defaults, exemptions } = checkSettings(raw, {
    defaults: withDefault(mapOf(string), {}),
    exemptions: withDefault(object({ usernames: names, namespaces: names, runtimeClasses: names }), noExemptions),
  });
  const mode = Object.keys(defaults).find((key) => !modes.includes(key));
  if (mode) throw new Fault("invalid", `defaults: unknown key "${mode}"; known are ${modes.join(", ")}`);
  const labels = Object.fromEntries(
    Object.entries(defaults).map(([mode, value]) => [`pod-security.kubernetes.io/${mode}`, value]),
  );
  const { policy, problems } = policyOf(labels, noPolicy);
  const [problem] = problems;
  if (problem)
    throw new Fault(
      "invalid",
      `defaults.${problem.label.split("/")[1]}: ${JSON.stringify(problem.value)} ${problem.why}`,
    );
  return {
    defaults: policy,
    exempt: exemptions,
  };
}

/** Where the pod template stands in each kind that makes pods. */
const templates: Readonly<Record<string, readonly string[]>> = {
  "/replicationcontrollers": ["spec", "template"],
  "/podtemplates": ["template"],
  "apps/replicasets": ["spec", "template"],
  "apps/deployments": ["spec", "template"],
  "apps/statefulsets": ["spec", "template"],
  "apps/daemonsets": ["spec", "template"],
  "batch/jobs": ["spec", "template"],
  "batch/cronjobs": ["spec", "jobTemplate", "spec", "template"],
};

const namespaces = { group: "", plural: "namespaces" };

function makePodSecurity(view: ClusterView, { defaults, exempt }: Settings): AdmissionPlugin {
  const isPods = (request: AdmissionRequest) =>
    request.group === "" && request.resource === "pods" && ["", "ephemeralcontainers"].includes(request.subresource);
  const templatePath = (request: AdmissionRequest) =>
    request.subresource === "" ? templates[`${request.group}/${request.resource}`] : undefined;
  const isNamespace = (request: AdmissionRequest) =>
    request.group === "" && request.resource === "namespaces" && request.subresource === "";
  const policyFor = async (name: string, call: Call): Promise<Policy> => {
    const found =
      view.informer<Namespace>(namespaces).get("", name) ??
      (await view.read<Namespace>(namespaces, { namespace: "", name }, call));
    return policyOf(found?.metadata.labels, defaults).policy;
  };
  return {
    name: "PodSecurity",
    handles: (request) =>
      (request.operation === "CREATE" || request.operation === "UPDATE") &&
      (isPods(request) || isNamespace(request) || templatePath(request) !== undefined),
    async validate(request, call) {
      if (!request.object) return;
      if (isNamespace(request)) return checkNamespace(request, view, defaults);
      if (exempt.namespaces.includes(request.namespace) || exempt.usernames.includes(request.user.name)) {
        request.annotate?.("exempt", exempt.namespaces.includes(request.namespace) ? "namespace" : "user");
        return;
      }
      const path = templatePath(request);
      const target = path ? at(request.object, path) : request.object;
      const spec = (target as { spec?: PodSpec } | undefined)?.spec;
      if (!target || !spec) return;
      if (exempt.runtimeClasses.includes(spec.runtimeClassName ?? ""))
        return request.annotate?.("exempt", "runtimeClass");
      if (!path && !isSignificant(request)) return;
      const policy = await policyFor(request.namespace, call);
      evaluate(request, policy, (target as { metadata?: ObjectMeta }).metadata ?? {}, spec, !path);
    },
  };
}

function evaluate(
  request: AdmissionRequest,
  policy: Policy,
  metadata: ObjectMeta,
  spec: PodSpec,
  isPod: boolean,
): void {
  const pod = podView(metadata, spec);
  if (isPod) {
    request.annotate?.("enforce-policy", nameOf(policy.enforce));
    const found = violations(pod, policy.enforce);
    if (found.length > 0) throw refuse(request, `violates PodSecurity "${nameOf(policy.enforce)}": ${describe(found)}`);
  }
  const audited = violations(pod, policy.audit);
  if (audited.length > 0) {
    request.annotate?.("audit-violations", `would violate PodSecurity "${nameOf(policy.audit)}": ${describe(audited)}`);
  }
  const warned = violations(pod, policy.warn);
  if (warned.length > 0) request.warn(`would violate PodSecurity "${nameOf(policy.warn)}": ${describe(warned)}`);
}

/** Most of a pod cannot change; what can and matters here are images, tolerations aside, and two kinds of annotation. */
function isSignificant(request: AdmissionRequest): boolean {
  if (request.operation === "CREATE" || request.subresource !== "") return true;
  const [next, previous] = [request.object, request.oldObject] as [KubeObject, KubeObject | undefined];
  if (!previous) return true;
  const relevant = (object: KubeObject) => {
    const {
      tolerations: _tolerations,
      activeDeadlineSeconds: _deadline,
      ...spec
    } = object.spec as Record<string, unknown>;
    const annotations = Object.entries(object.metadata.annotations ?? {}).filter(([key]) =>
      /apparmor|seccomp/.test(key),
    );
    return { spec, annotations: Object.fromEntries(annotations) };
  };
  return !equalJson(relevant(next), relevant(previous));
}

function at(object: KubeObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}

const mostPodsChecked = 3000;

/** Labels must be right; a stricter level warns of pods that are there already and would not pass. */
function checkNamespace(request: AdmissionRequest, view: ClusterView, defaults: Policy): void {
  const { policy, problems } = policyOf(request.object?.metadata.labels, defaults);
  const before = request.oldObject ? policyOf(request.oldObject.metadata.labels, defaults) : undefined;
  const fresh = problems.filter(({ label, value }) => request.oldObject?.metadata.labels?.[label] !== value);
  if (fresh.length > 0) throw invalidLabels(request, fresh);
  if (!before || before.problems.length > 0) return;
  const [next, previous] = [policy.enforce, before.policy.enforce];
  const isTighter =
    isStricter(next.level, previous.level) || (next.level === previous.level && next.version !== previous.version);
  if (!isTighter || next.level === "privileged") return;
  const pods = view.informer<Pod>({ group: "", plural: "pods" }).list(request.name).slice(0, mostPodsChecked);
  const podsByReasons = new Map<string, string[]>();
  for (const pod of pods) {
    if (!pod.spec) continue;
    const found = violations(podView(pod.metadata, pod.spec), next);
    if (found.length === 0) continue;
    const reasons = found.map(({ reason }) => reason).join(", ");
    podsByReasons.set(reasons, [...(podsByReasons.get(reasons) ?? []), pod.metadata.name ?? ""]);
  }
  if (podsByReasons.size === 0) return;
  request.warn(
    `existing pods in namespace "${request.name}" violate the new PodSecurity enforce level "${nameOf(next)}"`,
  );
  for (const [reasons, names] of podsByReasons) {
    const [first = "", ...others] = names.sort();
    const more = others.length === 0 ? "" : ` (and ${others.length} other ${others.length === 1 ? "pod" : "pods"})`;
    request.warn(`${first}${more}: ${reasons}`);
  }
}

function invalidLabels(
  request: AdmissionRequest,
  problems: readonly { label: string; value: string; why: string }[],
): Fault {
  const causes = problems.map(({ label, value, why }) => ({
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
    field: `metadata.labels[${label}]`,
  }));
  const told = causes.map(({ field, message }) => `${field}: ${message}`);
  const text = told.length === 1 ? told[0] : `[${told.join(", ")}]`;
  return statusFault("invalid", `Namespace "${request.name}" is invalid: ${text}`, {
    code: 422,
    reason: "Invalid",
    details: { name: request.name, kind: "Namespace", causes },
  });
}
