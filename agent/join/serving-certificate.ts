// What the kubelet's API is served with: a stopgap that nobody trusts until the cluster has signed a certificate, which is renewed before it
// ends and when the node's addresses change.

import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { formatAddress, parseAddress } from "../../plugins/kit/os/net/address.ts";
import { createAuthority, parseCertificate } from "../../plugins/kit/os/x509.ts";
import type { NodeCredentials, Pair } from "./credentials.ts";
import { requestCertificate } from "./signing.ts";

export interface ServingNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Many clusters leave these requests to a person. */
const approvalWithinMs = 15 * 60_000;
/** Skiff servers approve at once what they approve by themselves. */
export const skiffApprovalWithinMs = 15_000;
/** Addresses that were not approved, because they are another node's or the API server's too, are asked for again after this. */
const refusedForMs = 3_600_000;

export class ServingCertificate {
  readonly #nodeName: string;
  readonly #credentials: NodeCredentials;
  readonly #listeners = new Set<() => void>();
  readonly #clock: Clock;
  readonly #patienceMs: number;
  #pair: Pair;
  #refused: { readonly addresses: string; readonly until: number } | undefined;

  /** After `patienceMs` without an answer for its addresses it asks for the node's name alone. */
  constructor(nodeName: string, credentials: NodeCredentials, clock: Clock, patienceMs = approvalWithinMs) {
    this.#nodeName = nodeName;
    this.#patienceMs = patienceMs;
    this.#credentials = credentials;
    this.#clock = clock;
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
    const isGood = signed !== undefined && !this.#credentials.isDue(signed);
    const isRefused = this.#isRefused(names);
    if (isGood && carries(signed, isRefused ? [] : names.ipAddresses)) return;
    if (!isRefused) {
      try {
        return await this.#replace(api, names, within(this.#patienceMs, call));
      } catch (error) {
        const isAnswer =
          isFault(error, "forbidden") || (isFault(error, "timeout") && this.#patienceMs < approvalWithinMs);
        if (!isAnswer || call.signal.aborted || names.ipAddresses.length === 0) throw error;
        this.#refused = { addresses: names.ipAddresses.join(), until: this.#clock.monotonic() + refusedForMs };
      }
    }
    // The API server knows a kubelet by its node's name.
    if (!isGood) await this.#replace(api, { ...names, ipAddresses: [] }, within(approvalWithinMs, call));
  }

  async #replace(api: ApiClient, names: ServingNames, call: Call): Promise<void> {
    const spec = { nodeName: this.#nodeName, signer: "kubernetes.io/kubelet-serving", ...names } as const;
    const pair = await requestCertificate(api, spec, call);
    await this.#credentials.keep("serving", pair);
    this.#pair = pair;
    for (const listener of this.#listeners) listener();
  }

  #isRefused({ ipAddresses }: ServingNames): boolean {
    const refused = this.#refused;
    return refused?.addresses === ipAddresses.join() && this.#clock.monotonic() < refused.until;
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
