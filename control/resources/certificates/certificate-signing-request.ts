// CertificateSigningRequest: who asks is stamped by the server; approval and the certificate have doors of their own.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { duplicate, type FieldErrors, invalid, required, notSupported } from "../../machinery/field-error.ts";
import { pathSegment } from "../names.ts";
import { age, ageColumn, column, humanDuration, nameColumn } from "../print.ts";
import { type RequestStatus, validateApproval, validateRequestStatus } from "./validate-status.ts";

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

const specOf = (object: KubeObject) => (object.spec ?? {}) as RequestSpec;
const statusOf = (object: KubeObject) => (object.status ?? {}) as RequestStatus;
const conditionsOf = (object: KubeObject) => statusOf(object).conditions ?? [];

const legacySigner = "kubernetes.io/legacy-unknown";

const knownUsages = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];

export const certificateSigningRequests: ResourceDefinition = {
  group: "certificates.k8s.io",
  version: "v1",
  plural: "certificatesigningrequests",
  singular: "certificatesigningrequest",
  kind: "CertificateSigningRequest",
  namespaced: false,
  shortNames: ["csr"],
  // Kubelets name theirs after a hash, in upper case too.
  validateName: pathSegment,
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
  validate(object, previous) {
    const spec = specOf(object);
    const errors: FieldErrors = [];
    const pem = Buffer.from(spec.request ?? "", "base64").toString("latin1");
    if (!spec.request) errors.push(required("spec.request"));
    else if (!pem.includes("-----BEGIN CERTIFICATE REQUEST-----"))
      errors.push(invalid("spec.request", spec.request, "PEM block type must be CERTIFICATE REQUEST"));
    if (!spec.signerName) errors.push(required("spec.signerName"));
    else if (spec.signerName === legacySigner && (!previous || specOf(previous).signerName !== legacySigner))
      errors.push(
        invalid("spec.signerName", spec.signerName, "the legacy signerName is not allowed via this API version"),
      );
    else if (!/^[^/]+\/.+$/.test(spec.signerName))
      errors.push(
        invalid(
          "spec.signerName",
          spec.signerName,
          "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        ),
      );
    if ((spec.usages?.length ?? 0) === 0) errors.push(required("spec.usages"));
    (spec.usages ?? []).forEach((usage, index) => {
      if (!knownUsages.includes(usage)) errors.push(notSupported(`spec.usages[${index}]`, usage, knownUsages));
      else if (spec.usages?.indexOf(usage) !== index) errors.push(duplicate(`spec.usages[${index}]`, usage));
    });
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
  validateStatus: (object, previous) => validateRequestStatus(statusOf(object), statusOf(previous)),
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
        return {
          ...previous,
          metadata: next.metadata,
          status: { ...(previous.status as object | undefined), conditions },
        };
      },
      validate: (next, previous) => validateApproval(statusOf(next), statusOf(previous)),
    },
  },
};

function conditionText(object: KubeObject): string {
  const types = new Set(conditionsOf(object).map((one) => one.type));
  const words: string[] = [];
  if (types.has("Denied")) words.push("Denied");
  else if (types.has("Approved")) words.push("Approved");
  else words.push("Pending");
  if (types.has("Failed")) words.push("Failed");
  if (statusOf(object).certificate) words.push("Issued");
  return words.join(",");
}
