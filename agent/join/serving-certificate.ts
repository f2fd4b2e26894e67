// What the kubelet's API is served with: a stopgap that nobody trusts until the cluster has signed a certificate, which is renewed before it
// ends and when the node's addresses change.

import { type Call, within } from "../../plugins/kit/call.ts";
import type { ApiClient } from "../../plugins/kit/client/api-client.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import { formatAddress, parseAddress } from "../../plugins/kit/net/address.ts";
import { createAuthority, parseCertificate } from "../../plugins/kit/x509.ts";
import type { NodeCredentials, Pair } from "./credentials.ts";
import { requestCertificate } from "./signing.ts";

export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Many clusters leave these requests to a person. */
const approvalWithinMs = 15 * 60_000;

export class ServingCertificate {
  readonly #nodeName: string;
  readonly #credentials: NodeCredentials;
  readonly #listeners = new Set<() => void>();
  #pair: Pair;

  constructor(nodeName: string, credentials: NodeCredentials, clock: Clock) {
    this.#nodeName = nodeName;
    this.#credentials = credentials;
    this.#pair = credentials.pair("serving") ?? stopgap(nodeName, clock);
  }

  pair(): Pair {
    return this.#pair;
  }

  onRenewed(then: () => void): () => void {
    this.#listeners.add(then);
    return () => this.#listeners.delete(then);
  }

  /** Asks the cluster for one where there is none, or not for long, or not for these addresses; resolves when it is signed. */
  async renew(api: ApiClient, names: ServingNames, call: Call): Promise<void> {
    const signed = this.#credentials.pair("serving");
    if (signed && !this.#credentials.isDue(signed) && carries(signed, names.ipAddresses)) return;
    const wish = { nodeName: this.#nodeName, signer: "kubernetes.io/kubelet-serving", ...names } as const;
    const pair = await requestCertificate(api, wish, within(approvalWithinMs, call));
    await this.#credentials.keep("serving", pair);
    this.#pair = pair;
    for (const listener of this.#listeners) listener();
  }
}

/** A node whose address changed is called by the new one, which its certificate must name. */
function carries({ cert }: Pair, ipAddresses: readonly string[]): boolean {
  const plain = (ip: string) => formatAddress(parseAddress(ip));
  const named = new Set(parseCertificate(cert).ipAddresses.map(plain));
  return ipAddresses.every((ip) => named.has(plain(ip)));
}

function stopgap(nodeName: string, clock: Clock): Pair {
  const now = clock.now();
  return createAuthority({ commonName: nodeName, notBefore: now - 3_600_000, notAfter: now + 365 * 24 * 3_600_000 });
}
