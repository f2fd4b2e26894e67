// APIService: who serves a group and version, this server or one behind a service.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dns1035Label, dnsSubdomain } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { type ApiService, apiServiceRef, availabilityOf, localCondition } from "./types.ts";

const asService = (object: KubeObject): ApiService => object as ApiService;

export const apiServices: ResourceDefinition = {
  ...apiServiceRef,
  version: "v1",
  singular: "apiservice",
  kind: "APIService",
  namespaced: false,
  categories: ["api-extensions"],
  hasStatus: true,
  statusOnly: true,
  needsResourceVersion: true,
  columns: [nameColumn, column("Service", "Who serves it."), column("Available", "Whether it answers."), ageColumn],
  cells(object, now) {
    const { service } = asService(object).spec ?? {};
    const available = availabilityOf(asService(object));
    return [
      object.metadata.name,
      service ? `${service.namespace}/${service.name}` : "Local",
      available?.status === "True" ? "True" : `${available?.status ?? "Unknown"} (${available?.reason ?? ""})`,
      age(object.metadata.creationTimestamp, now),
    ];
  },
  // The group of the core is empty, so its name ends in a dot.
  validateName: (name) => (name === "." || name === ".." || /[/%]/.test(name) ? [`may not be '${name}'`] : []),
  defaults(object) {
    const { service } = asService(object).spec ?? {};
    if (service) service.port ??= 443;
  },
  prepareCreate(object, { now }) {
    const lastTransitionTime = `${new Date(now).toISOString().slice(0, 19)}Z`;
    object.status = asService(object).spec?.service ? {} : { conditions: [{ ...localCondition, lastTransitionTime }] };
  },
  validate: (object) => validateService(asService(object)),
  validateStatus: (object) =>
    (asService(object).status?.conditions ?? []).flatMap(({ status }, index) =>
      ["True", "False", "Unknown"].includes(status)
        ? []
        : [notSupported(`status.conditions[${index}].status`, status, ["True", "False", "Unknown"])],
    ),
};

function validateService({ metadata, spec }: ApiService): FieldErrors {
  // What was posted may leave out what the type promises.
  const said = { ...spec } as Partial<ApiService["spec"]>;
  const { group = "", version = "", groupPriorityMinimum = 0, versionPriority = 0 } = said;
  const errors: FieldErrors = [];
  const wanted = `${version}.${group}`;
  if (metadata.name !== wanted)
    errors.push(
      invalid("metadata.name", metadata.name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`),
    );
  if (group === "" && version !== "v1")
    errors.push(required("spec.group", "only v1 may have an empty group and it better be legacy kube"));
  if (group !== "") for (const problem of dnsSubdomain(group)) errors.push(invalid("spec.group", group, problem));
  for (const problem of dns1035Label(version)) errors.push(invalid("spec.version", version, problem));
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20_000)
    errors.push(invalid("spec.groupPriorityMinimum", groupPriorityMinimum, "must be positive and less than 20000"));
  if (versionPriority <= 0 || versionPriority > 1000)
    errors.push(invalid("spec.versionPriority", versionPriority, "must be positive and less than 1000"));
  return [...errors, ...validateTarget(spec)];
}

function validateTarget(spec: ApiService["spec"]): FieldErrors {
  const { service, caBundle = "", insecureSkipTLSVerify = false } = spec ?? {};
  const errors: FieldErrors = [];
  if (!service) {
    const bytes = `${Buffer.from(caBundle, "base64").length} bytes`;
    if (caBundle !== "") errors.push(invalid("spec.caBundle", bytes, "local APIServices may not have a caBundle"));
    if (insecureSkipTLSVerify)
      errors.push(invalid("spec.insecureSkipTLSVerify", true, "local APIServices may not have insecureSkipTLSVerify"));
    return errors;
  }
  if (!service.namespace) errors.push(required("spec.service.namespace"));
  if (!service.name) errors.push(required("spec.service.name"));
  const port = service.port ?? 443;
  if (port < 1 || port > 65_535)
    errors.push(invalid("spec.service.port", port, "port is not valid: must be between 1 and 65535, inclusive"));
  if (insecureSkipTLSVerify && caBundle !== "")
    errors.push(invalid("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present"));
  return errors;
}
