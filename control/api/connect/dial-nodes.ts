// The connector that dials: kubelets with the API server's client certificate, pods and services as they are. Only what
// the request named is reached: the address comes from the node, pod or endpoint, never from the client.

import { isIP } from "node:net";
import { type Call, within } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { toFault } from "../../../plugins/kit/base/fault.ts";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import { type HttpFetch, httpFetch } from "../../../plugins/kit/os/platform/http-client.ts";
import type { Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";
import { badRequest, failure, isStatus, statusOf } from "../../machinery/status.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { ConnectTarget, NodeConnector } from "./connector.ts";
import { joinUpgrade } from "./join-upgrade.ts";
import { dialKubelet, type KubeletAddress } from "./dial-kubelet.ts";
import type { NodeLines } from "./node-lines.ts";
import { upgradeHeaders } from "./pass-headers.ts";
import { isProxyable } from "./proxyable.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";

export interface DialOptions {
  /** The authority of kubelets' certificates. */
  readonly ca: string;
  /** The API server's own identity towards kubelets; asked again when a while has passed. */
  readonly credentials: () => { readonly cert: string; readonly key: string };
  readonly clock: Clock;
  /** Lines that nodes hold open: what they can be reached by goes before connecting to them. */
  readonly lines: NodeLines;
  /** The node that runs in this very process: it is there whatever addresses it tells, or none. */
  readonly ownNode?: string;
}

interface Kubelets {
  readonly fetch: HttpFetch;
  readonly cert: string;
  /** That its connections run over. */
  readonly line: object | undefined;
  until: number;
}

const credentialsForMs = 10 * 60_000;
const dialWithinMs = 15_000;
const addressTypes = ["InternalIP", "ExternalIP", "Hostname"];

export function dialingConnector(options: DialOptions): NodeConnector & { close(): void } {
  // Certificates of pods and services are nobody's we know; upstream does not check them either.
  const anyone = httpFetch({ insecureSkipVerify: true });
  /** By the node's name, and whether they run over its line. */
  const kubelets = new Map<string, Kubelets>();
  const toKubelet = (node: string): HttpFetch => {
    const line = options.lines.of(node);
    const way = `${line ? "line" : "dial"} ${node}`;
    const now = options.clock.monotonic();
    let known = kubelets.get(way);
    if (known && known.line !== line) {
      // The node came back, most likely with another address: what was kept of the old line leads nowhere.
      known.fetch.close();
      known = undefined;
    }
    if (known && known.until > now) return known.fetch;
    const { cert, key } = options.credentials();
    const until = now + credentialsForMs;
    if (known?.cert === cert) {
      known.until = until;
      return known.fetch;
    }
    const connect = line
      ? (to: KubeletAddress) => dialKubelet(options.lines, node, to, options.clock, within(dialWithinMs))
      : undefined;
    // A node reports its address itself. Whoever answers there must be that node by its certificate, not one that it points at.
    const servername = isIP(node) === 0 ? node : undefined;
    const fetch = httpFetch({ ca: options.ca, cert, key, connect, servername });
    known?.fetch.close();
    kubelets.set(way, { fetch, cert, line, until });
    return fetch;
  };
  const wayTo = (target: ConnectTarget): { client: HttpFetch; url: string } => {
    if (target.kind === "node") {
      const client = toKubelet(target.node.metadata.name ?? "");
      return { client, url: `${kubeletOf(target.node, options.ownNode)}${target.path}` };
    }
    if (!isProxyable(new URL(target.url).hostname)) throw badRequest("address not allowed");
    return { client: anyone, url: target.url };
  };
  return {
    async fetch(target, { method, headers, body }, call) {
      const { client, url } = wayTo(target);
      const init = { method, headers, signal: call.signal, redirect: "manual" as const, duplex: "half" as const };
      try {
        return await client(new Request(url, { ...init, ...(body ? { body: body as BodyInit } : {}) }));
      } catch (error) {
        throw unreached(error);
      }
    },
    upgrade(target, upgrade, call) {
      join(target, upgrade, call).catch((error: unknown) => refuseUpgrade(upgrade, statusOf(unreached(error))));
    },
    close() {
      anyone.close();
      for (const { fetch } of kubelets.values()) fetch.close();
      options.lines.close();
    },
  };

  async function join(target: ConnectTarget, upgrade: Upgrade, call: Call): Promise<void> {
    const { client, url } = wayTo(target);
    const headers = upgradeHeaders(upgrade.request, upgrade.peer.address);
    await joinUpgrade(client, { url, method: upgrade.request.method ?? "GET", headers }, upgrade, call);
  }
}

/** Where the node says that its kubelet listens. */
function kubeletOf(node: Node, ownNode: string | undefined): string {
  const addresses = node.status?.addresses ?? [];
  const told = addressTypes.map((type) => addresses.find((one) => one.type === type)).find(Boolean)?.address;
  const found = node.metadata.name === ownNode ? "127.0.0.1" : told;
  if (!found) throw unavailable(`no address is known for node ${node.metadata.name}`);
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port || 10_250;
  return `https://${found.includes(":") ? `[${found}]` : found}:${port}`;
}

function unavailable(message: string): Fault {
  return new Fault("unavailable", message, { details: failure(503, "ServiceUnavailable", message) });
}

/** A Fault that carries a Status stays; a connection that failed is reported in upstream's words. */
function unreached(error: unknown): Fault {
  const fault = toFault(error, "error trying to reach the node, pod or service", "unavailable");
  if (isStatus(fault.details)) return fault;
  return unavailable(`error trying to reach service: ${fault.message}`);
}
