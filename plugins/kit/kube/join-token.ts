// The token a node joins with: `K10<hash of the cluster's CA>::<id>.<secret>`. The hash lets the node know the server
// before it tells the secret; the rest is a bootstrap token as Kubernetes has them.

import { createHash, X509Certificate } from "node:crypto";
import { Fault } from "../base/fault.ts";

export interface JoinToken {
  /** SHA-256 of the CA's certificate, lower-case hexadecimal; absent in a bare bootstrap token, which pins nothing. */
  readonly caHash?: string;
  readonly id: string;
  readonly secret: string;
}

const pattern = /^(?:K10([0-9a-f]{64})::)?([a-z0-9]{6})\.([a-z0-9]{16})$/;

export function formatJoinToken({ caHash, id, secret }: JoinToken): string {
  return caHash === undefined ? `${id}.${secret}` : `K10${caHash}::${id}.${secret}`;
}

/** Fault `invalid` says what a token looks like. */
export function parseJoinToken(text: string): JoinToken {
  const match = pattern.exec(text.trim());
  if (!match) {
    throw new Fault(
      "invalid",
      "Cannot use the join token: it is not of the form K10<64 hex digits>::<6 characters>.<16 characters>",
    );
  }
  const [, caHash, id = "", secret = ""] = match;
  return { id, secret, ...(caHash === undefined ? {} : { caHash }) };
}

/** What the API server is shown: the bootstrap token without the hash. */
export const bearerOf = ({ id, secret }: JoinToken): string => `${id}.${secret}`;

/** The hash that a token pins. */
export function certificateHash(certificatePem: string): string {
  return createHash("sha256").update(new X509Certificate(certificatePem).raw).digest("hex");
}

/** Anyone may fetch the cluster's CA here; only the hash makes it worth trusting. */
export const caCertificatePath = "/cacerts";
