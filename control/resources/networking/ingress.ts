// Ingress and IngressClass.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid, notSupported, required } from "../field-error.ts";
import { dnsSubdomain } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface Backend {
  service?: { name?: string; port?: { name?: string; number?: number } };
  resource?: unknown;
}

interface IngressSpec {
  ingressClassName?: string;
  defaultBackend?: Backend;
  tls?: unknown[];
  rules?: { host?: string; http?: { paths?: { path?: string; pathType?: string; backend?: Backend }[] } }[];
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as IngressSpec;
const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];

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
  validate(object) {
    const spec = specOf(object);
    const errors: FieldErrors = [];
    if ((spec.rules?.length ?? 0) === 0 && !spec.defaultBackend)
      errors.push(invalid("spec", spec.rules ?? [], "either `defaultBackend` or `rules` must be specified"));
    if (spec.defaultBackend) validateBackend(spec.defaultBackend, "spec.defaultBackend", errors);
    (spec.rules ?? []).forEach((rule, index) => {
      const at = `spec.rules[${index}]`;
      if (rule.host)
        for (const problem of dnsSubdomain(rule.host.replace(/^\*\./, "")))
          errors.push(invalid(`${at}.host`, rule.host, problem));
      if (rule.http && (rule.http.paths?.length ?? 0) === 0) errors.push(required(`${at}.http.paths`));
      (rule.http?.paths ?? []).forEach((path, pathIndex) => {
        const field = `${at}.http.paths[${pathIndex}]`;
        if (!path.pathType) errors.push(required(`${field}.pathType`, "pathType must be specified"));
        else if (!pathTypes.includes(path.pathType))
          errors.push(notSupported(`${field}.pathType`, path.pathType, pathTypes));
        else if (path.pathType !== "ImplementationSpecific" && !path.path?.startsWith("/"))
          errors.push(invalid(`${field}.path`, path.path ?? "", "must be an absolute path"));
        validateBackend(path.backend ?? {}, `${field}.backend`, errors);
      });
    });
    return errors;
  },
};

function hostsText(hosts: readonly string[], rules: number): string {
  if (hosts.length === 0) return "*";
  const text = hosts.slice(0, 3).join(",");
  return rules > 3 ? `${text} + ${rules - 3} more...` : text;
}

function validateBackend(backend: Backend, field: string, errors: FieldErrors): void {
  if (backend.resource) return;
  if (!backend.service) {
    errors.push(required(field, "either `service` or `resource` must be specified"));
    return;
  }
  if (!backend.service.name) errors.push(required(`${field}.service.name`));
  const { port } = backend.service;
  if (!port?.name && !port?.number) errors.push(required(`${field}.service.port`, "port name or number is required"));
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
