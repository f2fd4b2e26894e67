// CertificateSigningRequest: who asks is stamped by the server; approval and the certificate have doors of their own.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../equal.ts";
import { type FieldErrors, forbidden, invalid, required } from "../field-error.ts";
import { age, ageColumn, column, humanDuration, nameColumn } from "../print.ts";

interface RequestSpec {
  request?: string;
  signerName?: string;
  usages?: string[];
  expirationSeconds?: number;
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

interface Condition {
  type: string;
  status?: string;
  lastUpdateTime?: string;
  lastTransitionTime?: string;
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as RequestSpec;
const conditionsOf = (object: KubeObject) =>
  ((object.status as { conditions?: Condition[] } | undefined)?.conditions ?? []) as Condition[];

export const certificateSigningRequests: ResourceDefinition = {
  group: "certificates.k8s.io",
  version: "v1",
  plural: "certificatesigningrequests",
  singular: "certificatesigningrequest",
  kind: "CertificateSigningRequest",
  namespaced: false,
  shortNames: ["csr"],
  hasStatus: true,
  selectable: { "spec.signerName": (object) => specOf(object).signerName ?? "" },
  columns: [
    nameColumn,
    ageColumn,
    column("SignerName", "Who is asked to sign."),
    column("Requestor", "Who asks."),
    column("RequestedDuration", "For how long."),
    column("Condition", "How it stands."),
  ],
  cells(object, now) {
    const spec = specOf(object);
    return [
      object.metadata.name,
      age(object.metadata.creationTimestamp, now),
      spec.signerName || "<none>",
      spec.username ?? "",
      spec.expirationSeconds === undefined ? "<none>" : humanDuration(spec.expirationSeconds * 1000),
      conditionText(object),
    ];
  },
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    if (!spec.usages) spec.usages = ["digital signature", "key encipherment"];
  },
  prepareCreate(object, { user }) {
    const spec = specOf(object);
    spec.username = user.name;
    spec.groups = [...user.groups];
    if (user.uid) spec.uid = user.uid;
    else delete spec.uid;
    if (user.extra)
      spec.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]));
    else delete spec.extra;
    object.status = {};
  },
  prepareUpdate(object, previous) {
    object.spec = previous.spec;
  },
  validate(object) {
    const spec = specOf(object);
    const errors: FieldErrors = [];
    const pem = Buffer.from(spec.request ?? "", "base64").toString("latin1");
    if (!spec.request) errors.push(required("spec.request"));
    else if (!pem.includes("-----BEGIN CERTIFICATE REQUEST-----"))
      errors.push(invalid("spec.request", spec.request, "PEM block type must be CERTIFICATE REQUEST"));
    if (!spec.signerName) errors.push(required("spec.signerName"));
    else if (!/^[^/]+\/.+$/.test(spec.signerName))
      errors.push(
        invalid(
          "spec.signerName",
          spec.signerName,
          "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        ),
      );
    if ((spec.usages?.length ?? 0) === 0)
      errors.push(required("spec.usages", "usages must contain at least one value"));
    if (spec.expirationSeconds !== undefined && spec.expirationSeconds < 600)
      errors.push(
        invalid(
          "spec.expirationSeconds",
          spec.expirationSeconds,
          "may not specify a duration less than 600 seconds (10 minutes)",
        ),
      );
    return errors;
  },
  validateStatus(object, previous) {
    const before = previous.status as { certificate?: string } | undefined;
    const next = object.status as { certificate?: string } | undefined;
    if (before?.certificate && before.certificate !== next?.certificate)
      return [forbidden("status.certificate", "existing certificate cannot be modified")];
    return sameDecisions(object, previous);
  },
  parts: {
    approval: {
      verbs: ["get", "patch", "update"],
      prepare(next, previous, { now }) {
        const stamp = `${new Date(now).toISOString().slice(0, 19)}Z`;
        const conditions = conditionsOf(next).map((one) => ({
          ...one,
          status: one.status || "True",
          lastUpdateTime: one.lastUpdateTime || stamp,
          lastTransitionTime: one.lastTransitionTime || stamp,
        }));
        previous.status = { ...(previous.status as object | undefined), conditions };
        return previous;
      },
      validate(next, previous) {
        const types = new Set(conditionsOf(next).map((one) => one.type));
        const errors: FieldErrors = [];
        if (types.has("Approved") && types.has("Denied"))
          errors.push(invalid("status.conditions", "Denied", "Approved and Denied conditions are mutually exclusive"));
        for (const decided of ["Approved", "Denied"])
          if (conditionsOf(previous).some((one) => one.type === decided) && !types.has(decided))
            errors.push(
              forbidden("status.conditions", `updates may not remove a condition of type ${JSON.stringify(decided)}`),
            );
        return errors;
      },
    },
  },
};

/** The signer may not decide; that is what approval is for. */
function sameDecisions(object: KubeObject, previous: KubeObject): FieldErrors {
  return ["Approved", "Denied"]
    .filter((type) => {
      const find = (one: KubeObject) => conditionsOf(one).filter((condition) => condition.type === type);
      return !deepEqual(find(object), find(previous));
    })
    .map((type) =>
      forbidden(
        "status.conditions",
        `updates may not add, change or remove a condition of type ${JSON.stringify(type)}`,
      ),
    );
}

function conditionText(object: KubeObject): string {
  const types = new Set(conditionsOf(object).map((one) => one.type));
  const words: string[] = [];
  if (types.has("Denied")) words.push("Denied");
  else if (types.has("Approved")) words.push("Approved");
  else words.push("Pending");
  if (types.has("Failed")) words.push("Failed");
  if ((object.status as { certificate?: string } | undefined)?.certificate) words.push("Issued");
  return words.join(",");
}
