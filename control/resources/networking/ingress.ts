// Ingress and IngressClass.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required, tooLong } from "../../machinery/field-error.ts";
import { dnsLabel, dnsSubdomain, pathSegment } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { type IngressSpec, validateIngressSpec } from "./validate-ingress.ts";
import { validateBalanced } from "../service/validate-status.ts";

const specOf = (object: KubeObject) => (object.spec ?? {}) as IngressSpec;

interface IngressStatus {
  loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] };
}

const classAnnotation = "kubernetes.io/ingress.class";

export const ingresses: ResourceDefinition = {
  group: "networking.k8s.io",
  version: "v1",
  plural: "ingresses",
  singular: "ingress",
  kind: "Ingress",
  namespaced: true,
  shortNames: ["ing"],
  hasStatus: true,
  hasGeneration: true,
  columns: [
    nameColumn,
    column("Class", "Which class serves it."),
    column("Hosts", "The host names it is for."),
    column("Address", "Where it is reached."),
    column("Ports", "The ports it listens on."),
    ageColumn,
  ],
  cells(object, now) {
    const spec = specOf(object);
    const hosts = (spec.rules ?? []).map((rule) => rule.host).filter((host): host is string => Boolean(host));
    const ingress = (object.status as IngressStatus | undefined)?.loadBalancer?.ingress;
    return [
      object.metadata.name,
      spec.ingressClassName ?? "<none>",
      hostsText(hosts, spec.rules?.length ?? 0),
      (ingress ?? []).map((one) => one.ip || one.hostname || "").join(","),
      (spec.tls?.length ?? 0) > 0 ? "80, 443" : "80",
      age(object.metadata.creationTimestamp, now),
    ];
  },
  prepareCreate(object) {
    object.status = { loadBalancer: {} };
  },
  validateStatus: (object) =>
    ((object.status as IngressStatus | undefined)?.loadBalancer?.ingress ?? []).flatMap((one, index) =>
      validateBalanced(one, `status.loadBalancer.ingress[${index}]`),
    ),
  warnings: (object, previous) =>
    !previous && object.metadata.annotations?.[classAnnotation] !== undefined && !specOf(object).ingressClassName
      ? [`annotation ${JSON.stringify(classAnnotation)} is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
  validate(object, previous) {
    const errors = validateIngressSpec(specOf(object));
    const { ingressClassName } = specOf(object);
    const annotation = object.metadata.annotations?.["kubernetes.io/ingress.class"];
    if (!previous && annotation !== undefined && ingressClassName && annotation !== ingressClassName)
      errors.push(
        invalid(
          "annotations.kubernetes.io/ingress.class",
          annotation,
          "must match `ingressClassName` when both are specified",
        ),
      );
    return errors;
  },
};

function hostsText(hosts: readonly string[], rules: number): string {
  if (hosts.length === 0) return "*";
  const text = hosts.slice(0, 3).join(",");
  return rules > 3 ? `${text} + ${rules - 3} more...` : text;
}

interface Parameters {
  apiGroup?: string;
  kind?: string;
  name?: string;
  scope?: string;
  namespace?: string;
}

const mostControllerBytes = 250;
const parameterScopes = ["Cluster", "Namespace"];

const classSpec = (object: KubeObject) =>
  (object.spec ?? {}) as { controller?: string; parameters?: Parameters | null };

function validateParameters({ apiGroup, kind = "", name = "", scope, namespace }: Parameters): FieldErrors {
  const at = "spec.parameters";
  const errors: FieldErrors = [];
  if (apiGroup !== undefined)
    for (const problem of dnsSubdomain(apiGroup)) errors.push(invalid(`${at}.apiGroup`, apiGroup, problem));
  if (kind === "") errors.push(required(`${at}.kind`, "kind is required"));
  else for (const problem of pathSegment(kind)) errors.push(invalid(`${at}.kind`, kind, problem));
  if (name === "") errors.push(required(`${at}.name`, "name is required"));
  else for (const problem of pathSegment(name)) errors.push(invalid(`${at}.name`, name, problem));
  if (scope === undefined) errors.push(required(`${at}.scope`));
  else if (!parameterScopes.includes(scope)) errors.push(notSupported(`${at}.scope`, scope, parameterScopes));
  if (scope === "Namespace" && namespace === undefined)
    errors.push(required(`${at}.namespace`, "`parameters.scope` is set to 'Namespace'"));
  if (scope === "Namespace" && namespace !== undefined)
    for (const problem of dnsLabel(namespace)) errors.push(invalid(`${at}.namespace`, namespace, problem));
  if (scope === "Cluster" && namespace !== undefined)
    errors.push(forbidden(`${at}.namespace`, "`parameters.scope` is set to 'Cluster'"));
  return errors;
}

export const ingressClasses: ResourceDefinition = {
  group: "networking.k8s.io",
  version: "v1",
  plural: "ingressclasses",
  singular: "ingressclass",
  kind: "IngressClass",
  namespaced: false,
  hasGeneration: true,
  columns: [
    nameColumn,
    column("Controller", "Who serves it."),
    column("Parameters", "Its configuration object."),
    ageColumn,
  ],
  cells(object, now) {
    const { controller, parameters } = classSpec(object);
    const kind = parameters?.apiGroup ? `${parameters.kind ?? ""}.${parameters.apiGroup}` : (parameters?.kind ?? "");
    return [
      object.metadata.name,
      controller ?? "",
      parameters ? `${kind}/${parameters.name ?? ""}` : "<none>",
      age(object.metadata.creationTimestamp, now),
    ];
  },
  defaults(object) {
    const { parameters } = classSpec(object);
    if (parameters) parameters.scope ??= "Cluster";
  },
  validate(object, previous) {
    const { controller = "", parameters } = classSpec(object);
    const errors: FieldErrors = [];
    if (controller.length > mostControllerBytes) errors.push(tooLong("spec.controller", mostControllerBytes));
    else if (controller === "") errors.push(required("spec.controller"));
    else if (!/^[^/]+\/[^/].*$/.test(controller) || dnsSubdomain(controller.split("/")[0] ?? "").length > 0)
      errors.push(invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")'));
    if (previous && classSpec(previous).controller !== controller)
      errors.push(invalid("spec.controller", controller, "field is immutable"));
    return parameters ? [...errors, ...validateParameters(parameters)] : errors;
  },
};
