// Limit ranges of a namespace: fills in what containers leave open, and refuses what is too small, too big or too lopsided.

import { type AdmissionRequest, refuse } from "../kit/contracts/admission.ts";
import type { Container, KubeObject, PersistentVolumeClaim, Pod } from "../kit/kube/objects/types.ts";
import { compareQuantity, formatQuantity, parseQuantity, type Quantity, quantityMilli } from "../kit/kube/quantity.ts";
import { amountsFor, podQuantities } from "../kit/kube/pod-quantities.ts";
import { isWriteOf, joined, step, type Tools } from "./step.ts";

type Quantities = Record<string, string>;

interface LimitItem {
  type: string;
  max?: Quantities;
  min?: Quantities;
  default?: Quantities;
  defaultRequest?: Quantities;
  maxLimitRequestRatio?: Quantities;
}

interface LimitRange extends KubeObject {
  spec?: { limits?: LimitItem[] };
}

export const limitRanger = step("LimitRanger", (tools) => ({
  handles: (request) =>
    isWriteOf(request, "", "pods", "CREATE") ||
    isResize(request) ||
    isWriteOf(request, "", "persistentvolumeclaims", "CREATE", "UPDATE"),
  mutate(request) {
    if (request.resource !== "pods") return;
    const pod = request.object as unknown as Pod;
    for (const range of rangesIn(request, tools)) fillIn(pod, range);
  },
  validate(request) {
    const complaints = rangesIn(request, tools).flatMap((range) =>
      (range.spec?.limits ?? []).flatMap((item) => complaintsOf(request, item)),
    );
    if (complaints.length > 0) throw refuse(request, joined(complaints));
  },
}));

/** A pod that runs may be given other resources in place; they are held to the same bounds. */
const isResize = ({ group, resource, subresource, operation }: AdmissionRequest) =>
  group === "" && resource === "pods" && subresource === "resize" && operation === "UPDATE";

const rangesIn = ({ namespace }: AdmissionRequest, { view }: Tools) =>
  view.informer<LimitRange>({ group: "", plural: "limitranges" }).list(namespace);

function fillIn(pod: Pod, range: LimitRange): void {
  const item = (range.spec?.limits ?? []).find(({ type }) => type === "Container");
  if (!item || !pod.spec) return;
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  const notes: string[] = [];
  const fill = (container: Container, kind: string) => {
    const resources = (container.resources ??= {});
    const hasOwnLimit = new Set(Object.keys(resources.limits ?? {}));
    const setRequests = fillMissing(
      requests,
      resources.requests as Quantities | undefined,
      // A limit of the container's own stands for its request too.
      (name) => !hasOwnLimit.has(name),
    );
    const setLimits = fillMissing(limits, resources.limits as Quantities | undefined, () => true);
    if (setRequests) resources.requests = setRequests.values;
    if (setLimits) resources.limits = setLimits.values;
    if (setRequests) notes.push(`${setRequests.names.join(", ")} request for ${kind} ${container.name}`);
    if (setLimits) notes.push(`${setLimits.names.join(", ")} limit for ${kind} ${container.name}`);
  };
  for (const container of pod.spec.containers ?? []) fill(container, "container");
  for (const container of pod.spec.initContainers ?? []) fill(container, "init container");
  if (notes.length === 0) return;
  const annotation = `LimitRanger plugin set: ${notes.join("; ")}`;
  pod.metadata.annotations = { ...pod.metadata.annotations, "kubernetes.io/limit-ranger": annotation };
}

function fillMissing(
  from: Quantities,
  own: Quantities | undefined,
  mayFill: (name: string) => boolean,
): { values: Quantities; names: string[] } | undefined {
  const names = Object.keys(from)
    .filter((name) => own?.[name] === undefined && mayFill(name))
    .sort();
  if (names.length === 0) return undefined;
  return { values: { ...own, ...Object.fromEntries(names.map((name) => [name, from[name] ?? ""])) }, names };
}

function complaintsOf(request: AdmissionRequest, item: LimitItem): string[] {
  if (request.resource === "persistentvolumeclaims") {
    if (item.type !== "PersistentVolumeClaim") return [];
    const claim = request.object as unknown as PersistentVolumeClaim;
    const asked = amountsFor(claim.spec?.resources?.requests as Quantities | undefined);
    return [
      ...Object.entries(item.min ?? {}).flatMap(([name, bound]) => tooSmall(name, bound, asked, item.type)),
      ...Object.entries(item.max ?? {}).flatMap(([name, bound]) =>
        tooBig(name, bound, asked, asked, item.type, "request"),
      ),
    ];
  }
  const pod = request.object as unknown as Pod;
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])] as Container[];
  if (item.type === "Container") {
    return containers.flatMap(({ resources }) =>
      all(item, amountsFor(resources?.requests as Quantities), amountsFor(resources?.limits as Quantities)),
    );
  }
  if (item.type !== "Pod" || !pod.spec) return [];
  return all(item, podQuantities(pod.spec, "requests"), podQuantities(pod.spec, "limits"));
}

type Amounts = ReadonlyMap<string, Quantity>;

function all(item: LimitItem, requests: Amounts, limits: Amounts): string[] {
  return [
    ...Object.entries(item.min ?? {}).flatMap(([name, bound]) => tooSmall(name, bound, requests, item.type)),
    ...Object.entries(item.max ?? {}).flatMap(([name, bound]) =>
      tooBig(name, bound, requests, limits, item.type, "limit"),
    ),
    ...Object.entries(item.maxLimitRequestRatio ?? {}).flatMap(([name, ratio]) =>
      lopsided(name, ratio, requests, limits, item.type),
    ),
  ];
}

function tooSmall(name: string, bound: string, requests: Amounts, type: string): string[] {
  const asked = requests.get(name);
  if (!asked) return [`minimum ${name} usage per ${type} is ${bound}.  No request is specified`];
  if (compareQuantity(asked, parseQuantity(bound)) >= 0) return [];
  return [`minimum ${name} usage per ${type} is ${bound}, but request is ${show(asked)}`];
}

function tooBig(name: string, bound: string, requests: Amounts, limits: Amounts, type: string, what: string): string[] {
  const most = parseQuantity(bound);
  const limit = limits.get(name);
  const asked = requests.get(name);
  if (!limit) return [`maximum ${name} usage per ${type} is ${bound}.  No ${what} is specified`];
  if (compareQuantity(limit, most) > 0)
    return [`maximum ${name} usage per ${type} is ${bound}, but ${what} is ${show(limit)}`];
  if (asked && compareQuantity(asked, most) > 0) {
    return [`maximum ${name} usage per ${type} is ${bound}, but request is ${show(asked)}`];
  }
  return [];
}

function lopsided(name: string, ratio: string, requests: Amounts, limits: Amounts, type: string): string[] {
  const [asked, limit] = [requests.get(name), limits.get(name)];
  const begin = `${name} max limit to request ratio per ${type} is ${ratio}, but `;
  if (!asked || quantityMilli(asked) === 0n) return [`${begin}no request is specified or request is 0`];
  if (!limit || quantityMilli(limit) === 0n) return [`${begin}no limit is specified or limit is 0`];
  const given = Number(limit.nano) / Number(asked.nano);
  if (given <= Number(parseQuantity(ratio).nano) / 1e9) return [];
  return [`${begin}provided ratio is ${given.toFixed(6)}`];
}

const show = formatQuantity;
