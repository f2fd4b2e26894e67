// What the cluster's own signers sign, and what they refuse. Pure but for the clock; the certificate controller calls it.

import type { Clock } from "../../../plugins/kit/clock.ts";
import { Fault } from "../../../plugins/kit/fault.ts";
import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import {
  type CertificateAndKey,
  isUsage,
  issueCertificate,
  parseCertificate,
  parseSigningRequest,
  type SigningRequest,
  type Usage,
} from "../../../plugins/kit/x509.ts";

export interface CertificateSigningRequest extends KubeObject {
  spec: {
    request: string;
    signerName: string;
    usages?: string[];
    expirationSeconds?: number;
    username?: string;
    groups?: string[];
    uid?: string;
    extra?: Record<string, string[]>;
  };
  status?: {
    certificate?: string;
    conditions?: { type: string; status?: string; reason?: string; message?: string; lastUpdateTime?: string }[];
  };
}

export const signers = {
  client: "kubernetes.io/kube-apiserver-client",
  kubeletClient: "kubernetes.io/kube-apiserver-client-kubelet",
  kubeletServing: "kubernetes.io/kubelet-serving",
  legacy: "kubernetes.io/legacy-unknown",
} as const;

const minute = 60_000;
const longestMs = 365 * 24 * 60 * minute;
const shortestMs = 10 * minute;
// Clocks of nodes may be behind.
const backdateMs = 5 * minute;

/** Reads the request inside; Fault `invalid` when it is none or not signed by its own key. */
export function requestIn(csr: CertificateSigningRequest): SigningRequest {
  return parseSigningRequest(Buffer.from(csr.spec.request, "base64").toString("utf8"));
}

/** Undefined when the signer would sign it; else why not. A signer of somebody else's is `undefined` too: check `isOurs`. */
export function problemWith(csr: CertificateSigningRequest, wanted: SigningRequest): string | undefined {
  const usages = csr.spec.usages ?? [];
  switch (csr.spec.signerName) {
    case signers.client:
      return usageProblem(usages, "client auth");
    case signers.kubeletClient:
      return usageProblem(usages, "client auth") ?? nodeSubjectProblem(wanted) ?? noNames(wanted);
    case signers.kubeletServing:
      return usageProblem(usages, "server auth") ?? nodeSubjectProblem(wanted) ?? servingNames(wanted);
    default:
      return undefined;
  }
}

export const isOurs = (signerName: string): boolean => Object.values(signers).some((each) => each === signerName);

function usageProblem(usages: readonly string[], needed: string): string | undefined {
  if (!usages.includes(needed)) return `usages did not include ${JSON.stringify(needed)}`;
  const extra = usages.find((each) => each !== needed && each !== "digital signature" && each !== "key encipherment");
  return extra === undefined ? undefined : `usage ${JSON.stringify(extra)} is not allowed for this signer`;
}

function nodeSubjectProblem({ organizations, commonName }: SigningRequest): string | undefined {
  if (organizations.length !== 1 || organizations[0] !== "system:nodes")
    return "subject organization is not system:nodes";
  return commonName.startsWith("system:node:") && commonName.length > "system:node:".length
    ? undefined
    : "subject common name does not begin with system:node:";
}

function noNames({ dnsNames, ipAddresses, emailAddresses, uris }: SigningRequest): string | undefined {
  return dnsNames.length + ipAddresses.length + emailAddresses.length + uris.length === 0
    ? undefined
    : "DNS, IP, Email and URI subject alternative names are not allowed";
}

function servingNames({ dnsNames, ipAddresses, emailAddresses, uris }: SigningRequest): string | undefined {
  if (emailAddresses.length + uris.length > 0) return "Email and URI subject alternative names are not allowed";
  return dnsNames.length + ipAddresses.length > 0 ? undefined : "DNS or IP subjectAltName is required";
}

/** The signed certificate, PEM. Fault `invalid` says why it is refused. */
export function signRequest(ca: CertificateAndKey, csr: CertificateSigningRequest, clock: Clock): string {
  const wanted = requestIn(csr);
  const problem = problemWith(csr, wanted);
  if (problem !== undefined) throw new Fault("invalid", problem);
  const usages = (csr.spec.usages ?? []).filter((each): each is Usage => isUsage(each));
  const unknown = csr.spec.usages?.find((each) => !isUsage(each));
  if (unknown !== undefined) throw new Fault("invalid", `unsupported usage ${JSON.stringify(unknown)}`);
  const asked = (csr.spec.expirationSeconds ?? longestMs / 1000) * 1000;
  const lifetimeMs = Math.min(Math.max(asked, shortestMs), longestMs);
  const now = clock.now();
  const notBefore = Math.max(parseCertificate(ca.cert).notBefore, now - backdateMs);
  return issueCertificate(ca, { ...wanted, usages, notBefore, notAfter: now + lifetimeMs });
}
