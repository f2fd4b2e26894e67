// What the cluster's own signers sign, and what they refuse. Pure but for the clock; the certificate controller calls it.

import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { daemonGroup, daemonUser, nodeDaemonSigner, nodeDaemons } from "../../../plugins/kit/kube/node-daemon.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import {
  type CertificateAndKey,
  isUsage,
  issueCertificate,
  parseCertificate,
  parseSigningRequest,
  type SigningRequest,
  type Usage,
} from "../../../plugins/kit/os/x509.ts";
import { dnsSubdomain } from "../../resources/names.ts";
import type { ReservedNames } from "./reserved-names.ts";

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
  nodeDaemon: nodeDaemonSigner,
} as const;

const minute = 60_000;
const longestMs = 365 * 24 * 60 * minute;
const shortestMs = 10 * minute;
/** Renewed with the node's own certificate, by and by. */
const longestDaemonMs = 7 * 24 * 60 * minute;
// Clocks of nodes may be behind.
const backdateMs = 5 * minute;

/** Reads the request inside; Fault `invalid` when it is none or not signed by its own key. */
export function requestIn(csr: CertificateSigningRequest): SigningRequest {
  return parseSigningRequest(Buffer.from(csr.spec.request, "base64").toString("utf8"));
}

/** Undefined when the signer would sign it; else why not. A signer of somebody else's is `undefined` too: check `isOurs`. */
export function problemWith(
  csr: CertificateSigningRequest,
  wanted: SigningRequest,
  reserved: ReservedNames,
): string | undefined {
  const usages = csr.spec.usages ?? [];
  switch (csr.spec.signerName) {
    case signers.client:
      return usageProblem(usages, "client auth") ?? mastersProblem(wanted);
    case signers.kubeletClient:
      return usageProblem(usages, "client auth") ?? nodeSubjectProblem(wanted) ?? noNames(wanted);
    case signers.kubeletServing:
      return usageProblem(usages, "server auth") ?? nodeSubjectProblem(wanted) ?? servingNames(wanted, reserved);
    case signers.nodeDaemon:
      return usageProblem(usages, "client auth") ?? daemonSubjectProblem(csr, wanted) ?? noNames(wanted);
    default:
      return undefined;
  }
}

/** The node that a certificate is for; empty when its common name is not of the form. */
export const nodeNameIn = ({ commonName }: SigningRequest): string =>
  commonName.startsWith(nodePrefix) ? commonName.slice(nodePrefix.length) : "";
const nodePrefix = "system:node:";

export const isOurs = (signerName: string): boolean => Object.values(signers).some((each) => each === signerName);

function usageProblem(usages: readonly string[], needed: string): string | undefined {
  if (!usages.includes(needed)) return `usages did not include ${JSON.stringify(needed)}`;
  const extra = usages.find((each) => each !== needed && each !== "digital signature" && each !== "key encipherment");
  return extra === undefined ? undefined : `usage ${JSON.stringify(extra)} is not allowed for this signer`;
}

/** This group passes every authorizer: its certificates come from the files of the cluster alone, whoever approves. */
function mastersProblem({ organizations }: SigningRequest): string | undefined {
  return organizations.includes("system:masters") ? "the group system:masters is not allowed" : undefined;
}

function nodeSubjectProblem(wanted: SigningRequest): string | undefined {
  const { organizations, commonName } = wanted;
  if (organizations.length !== 1 || organizations[0] !== "system:nodes")
    return "subject organization is not system:nodes";
  if (!commonName.startsWith(nodePrefix)) return "subject common name does not begin with system:node:";
  const name = nodeNameIn(wanted);
  return dnsSubdomain(name).length > 0 ? `${JSON.stringify(name)} is not a valid node name` : undefined;
}

/** A node asks for the daemons that run on it, and nobody asks for them on its behalf, whoever approves. */
function daemonSubjectProblem(
  { spec: { username = "", groups } }: CertificateSigningRequest,
  { organizations, commonName }: SigningRequest,
): string | undefined {
  const nodeName = username.startsWith(nodePrefix) ? username.slice(nodePrefix.length) : "";
  if (nodeName === "" || !groups?.includes("system:nodes")) return "the requester is not a node";
  const daemon = nodeDaemons.find((each) => commonName === daemonUser(each, nodeName));
  if (!daemon) return `subject common name is not that of a daemon of node ${JSON.stringify(nodeName)}`;
  return organizations.length === 1 && organizations[0] === daemonGroup(daemon)
    ? undefined
    : `subject organization is not ${daemonGroup(daemon)}`;
}

function noNames({ dnsNames, ipAddresses, emailAddresses, uris }: SigningRequest): string | undefined {
  return dnsNames.length + ipAddresses.length + emailAddresses.length + uris.length === 0
    ? undefined
    : "DNS, IP, Email and URI subject alternative names are not allowed";
}

function servingNames(
  { dnsNames, ipAddresses, emailAddresses, uris }: SigningRequest,
  reserved: ReservedNames,
): string | undefined {
  if (emailAddresses.length + uris.length > 0) return "Email and URI subject alternative names are not allowed";
  if (dnsNames.length + ipAddresses.length === 0) return "DNS or IP subjectAltName is required";
  for (const name of dnsNames) {
    const problem = reserved.dnsProblem(name);
    if (problem) return `subject alternative name ${JSON.stringify(name)} ${problem}`;
  }
  for (const address of ipAddresses) {
    const problem = reserved.networkProblem(address);
    if (problem) return `subject alternative name ${address} ${problem}`;
  }
  return undefined;
}

/** The signed certificate, PEM. Fault `invalid` says why it is refused. */
export function signRequest(
  ca: CertificateAndKey,
  csr: CertificateSigningRequest,
  reserved: ReservedNames,
  clock: Clock,
): string {
  const wanted = requestIn(csr);
  const problem = problemWith(csr, wanted, reserved);
  if (problem !== undefined) throw new Fault("invalid", problem);
  const usages = (csr.spec.usages ?? []).filter((each): each is Usage => isUsage(each));
  const unknown = csr.spec.usages?.find((each) => !isUsage(each));
  if (unknown !== undefined) throw new Fault("invalid", `unsupported usage ${JSON.stringify(unknown)}`);
  const mostMs = csr.spec.signerName === signers.nodeDaemon ? longestDaemonMs : longestMs;
  const asked = (csr.spec.expirationSeconds ?? mostMs / 1000) * 1000;
  const lifetimeMs = Math.min(Math.max(asked, shortestMs), mostMs);
  const now = clock.now();
  const notBefore = Math.max(parseCertificate(ca.cert).notBefore, now - backdateMs);
  return issueCertificate(ca, { ...wanted, usages, notBefore, notAfter: now + lifetimeMs });
}
