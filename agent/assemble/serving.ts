// What a node listens on: the kubelet's API with the certificate that it was given, and health on loopback.

import { rmSync } from "node:fs";
import { hostname } from "node:os";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { removePagePort, writePagePort } from "../../plugins/kit/os/platform/page-port.ts";
import { onAddressChange } from "../node/addresses.ts";
import type { AgentView } from "../server/contract.ts";
import type { MoreRoutes } from "../server/routes.ts";
import { Access } from "../server/access/access.ts";
import { openReadOnlyServer } from "../server/read-only.ts";
import { openHealthServer, openKubeletServer } from "../server/server.ts";
import type { CertificateRenewals } from "../stats/agent-metrics.ts";
import type { AgentMeters } from "../runtime/agent-meters.ts";
import { LocalToken } from "../server/ui/local-token.ts";
import { openPageServer } from "../server/ui/page-server.ts";
import { pageRoutes, type PageOptions } from "../server/ui/routes.ts";

export interface KubeletIdentity {
  /** The authority whose client certificates are believed. */
  readonly clientCa: string;
  /** The node's serving certificate, issued anew before it ends; asked again from time to time. */
  serving(
    nodeName: string,
    names: { dnsNames: readonly string[]; ipAddresses: readonly string[] },
  ): { readonly cert: string; readonly key: string };
  /** Tells that `serving` has a new answer; returns what ends it. */
  onRenewed?(then: () => void): () => void;
  /** How the node's certificates are doing; absent where others look after them. */
  renewals?(): CertificateRenewals;
}

/** What the kubelet's certificate is for. */
export function servingNames(nodeName: string, addresses: readonly string[]) {
  return {
    dnsNames: [...new Set(["localhost", nodeName, hostname().toLowerCase()])],
    ipAddresses: [...new Set(["127.0.0.1", "::1", ...addresses])],
  };
}

export interface NodeServersOptions {
  readonly view: AgentView;
  readonly identity: KubeletIdentity | undefined;
  readonly meters?: AgentMeters;
  /** Stats and metrics. */
  readonly more?: MoreRoutes;
  /** `tokenFile` is where a node without an API server puts the page's token; the port is recorded below the data dir. */
  readonly page?: PageOptions & { readonly port: number; readonly tokenFile: string; readonly dataDir: string };
  /** Answers who may; without an API server nobody may. */
  readonly client: ApiClient | undefined;
  /** The node's own, asked again: they may change. */
  readonly addresses: () => readonly string[];
  readonly kubeletPort: number;
  /** 0 is off. */
  readonly healthzPort: number;
  readonly readOnlyPort?: number;
  readonly log: Log;
  readonly clock: Clock;
}

export interface NodeServers {
  close(): Promise<void>;
}

export async function openNodeServers(options: NodeServersOptions): Promise<NodeServers> {
  const { view, identity, client, clock, log } = options;
  const open: { close(): Promise<void> }[] = [];
  const page = options.page && pageRoutes(view, options.page, clock);
  const close = async () => {
    if (options.page) removePagePort(options.page.dataDir);
    await Promise.all(open.map((server) => server.close()));
  };
  try {
    if (options.healthzPort > 0) open.push(await openHealthServer(view, options.healthzPort));
    if (options.readOnlyPort) {
      const listen = { host: "::", port: options.readOnlyPort };
      open.push(await openReadOnlyServer({ view, listen, clock, ...(options.more ? { more: options.more } : {}) }));
    }
    if (page && options.page && options.page.port > 0) {
      const access = client
        ? new Access({ nodeName: view.nodeName, client, clock })
        : await LocalToken.create(options.page.tokenFile);
      // Left from the time before the node joined a cluster, it would open nothing.
      if (client) rmSync(options.page.tokenFile, { force: true });
      const more = options.more ? { more: options.more } : {};
      const own = { view, routes: page, access, port: options.page.port, log: log.child({ part: "page" }), ...more };
      // A second node on one machine does without: the page is a convenience.
      const server = await openPageServer(own).catch((error: unknown) => {
        log.warn({ err: error, port: own.port }, "the page is not served on its own port");
        return undefined;
      });
      if (server) {
        open.push(server);
        await writePagePort(options.page.dataDir, server.port);
      }
    }
    if (identity && client) {
      const { addresses } = options;
      const names = () => servingNames(view.nodeName, addresses());
      const tls = () => ({ ...identity.serving(view.nodeName, names()), clientCa: identity.clientCa });
      const onRenewed = (then: () => void) => {
        const ends = [identity.onRenewed?.(then), onAddressChange(addresses, clock, then)];
        return () => ends.forEach((end) => end?.());
      };
      const listen = { host: "::", port: options.kubeletPort };
      open.push(
        await openKubeletServer({
          view,
          client,
          listen,
          tls,
          ...(options.more ? { more: options.more } : {}),
          ...(page ? { page } : {}),
          onRenewed,
          ...(options.meters ? { meters: options.meters } : {}),
          clock,
          log: log.child({ part: "kubelet API" }),
        }),
      );
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}
