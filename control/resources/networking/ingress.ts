// Ingress and IngressClass.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { invalid, required } from "../field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { type IngressSpec, validateIngressSpec } from "./validate-ingress.ts";

const specOf = (object: KubeObject) => (object.spec ?? {}) as IngressSpec;

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
    const ingress = (object.status as { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } } | undefined)
      ?.loadBalancer?.ingress;
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

const classSpec = (object: KubeObject) =>
  (object.spec ?? {}) as { controller?: string; parameters?: { apiGroup?: string; kind?: string; name?: string } };

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
  validate(object, previous) {
    const { controller } = classSpec(object);
    if (!controller) return [required("spec.controller")];
    if (previous && classSpec(previous).controller !== controller)
      return [invalid("spec.controller", controller, "field is immutable")];
    return [];
  },
};
