// Keeps the service table in step with services and endpoint slices: what changed is noted by name, and a moment later one
// transaction writes all of it. Also the flows and health checks that hang on a service.

import type { Call } from "../../kit/base/call.ts";
import type { Log } from "../../kit/base/log.ts";
import type { Nft } from "../../kit/os/net/nft.ts";
import type { EndpointSlice, Service } from "../../kit/kube/objects/types.ts";
import { OwnedTable } from "../ruleset/table.ts";
import { baseLines, serviceTable } from "./base.ts";
import { type HealthCheck, HealthCheckServers } from "./health-check.ts";
import { planService } from "./rules.ts";
import { type PortView, type ViewContext, viewService } from "./service-view.ts";
import { dropStaleFlows, staleFlows } from "./stale-flows.ts";

export interface ServiceProxyOptions {
  readonly nft: Nft;
  readonly log: Log;
  readonly instance: string;
  /** The pods of all nodes. */
  readonly podCidrs: readonly string[];
  readonly context: ViewContext;
  /** Whether health checks may send clients here at all; always, unless somebody says otherwise. */
  readonly isHealthy?: () => boolean;
}

/** `namespace/name` of the service that a slice belongs to. */
function serviceOfSlice(slice: EndpointSlice): string | undefined {
  const name = slice.metadata.labels?.["kubernetes.io/service-name"];
  return name ? `${slice.metadata.namespace}/${name}` : undefined;
}

export class ServiceProxy {
  readonly #table: OwnedTable;
  readonly #health: HealthCheckServers;
  readonly #services = new Map<string, Service>();
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();
  readonly #views = new Map<string, readonly PortView[]>();
  readonly #dirty = new Set<string>();
  #context: ViewContext;

  constructor(options: ServiceProxyOptions) {
    this.#context = options.context;
    this.#health = new HealthCheckServers(options.log, options.isHealthy ?? (() => true));
    this.#table = new OwnedTable({
      nft: options.nft,
      table: serviceTable(options.instance),
      base: baseLines(serviceTable(options.instance), options.podCidrs),
      log: options.log,
    });
  }

  /** Something is to be written. */
  get isDirty(): boolean {
    return this.#dirty.size > 0 || !this.#table.isWritten;
  }

  /** The next commit writes everything, not only what changed. */
  get isUnwritten(): boolean {
    return !this.#table.isWritten;
  }

  /** How many ports have a policy Local and endpoints, but none here. */
  withoutLocal(): { internal: number; external: number } {
    const views = [...this.#views.values()].flat().filter((view) => view.hasAnyEndpoint && !view.localEndpoints.length);
    return {
      internal: views.filter(({ isInternalLocal }) => isInternalLocal).length,
      external: views.filter(({ isExternalLocal }) => isExternalLocal).length,
    };
  }

  setService(key: string, service: Service | undefined): void {
    if (service) this.#services.set(key, service);
    else this.#services.delete(key);
    this.#dirty.add(key);
  }

  setSlice(slice: EndpointSlice, isGone: boolean): void {
    const key = serviceOfSlice(slice);
    if (!key) return;
    const slices = this.#slices.get(key) ?? new Map<string, EndpointSlice>();
    if (isGone) slices.delete(slice.metadata.name ?? "");
    else slices.set(slice.metadata.name ?? "", slice);
    if (slices.size > 0) this.#slices.set(key, slices);
    else this.#slices.delete(key);
    this.#dirty.add(key);
  }

  /** The node's zone or addresses changed: everything is looked at again. */
  setContext(context: ViewContext): void {
    const print = (some: ViewContext) => JSON.stringify({ ...some, skippedIps: [...some.skippedIps] });
    if (print(context) === print(this.#context)) return;
    this.#context = context;
    for (const key of this.#services.keys()) this.#dirty.add(key);
  }

  /** Writes everything noted since the last time, in one transaction. Returns the size of the script. */
  async commit(call: Call): Promise<number> {
    const keys = [...this.#dirty];
    this.#dirty.clear();
    const frontends = new Map<string, ReadonlySet<string> | undefined>();
    const nodePorts = new Map<number, ReadonlySet<string> | undefined>();
    for (const key of keys) {
      const service = this.#services.get(key);
      const views = service ? viewService(service, [...(this.#slices.get(key)?.values() ?? [])], this.#context) : [];
      const stale = staleFlows(this.#views.get(key) ?? [], views);
      for (const [frontend, which] of stale.frontends) frontends.set(frontend, which);
      for (const [port, which] of stale.nodePorts) nodePorts.set(port, which);
      this.#table.update(key, views.length > 0 ? planService(views) : undefined);
      if (views.length > 0) this.#views.set(key, views);
      else this.#views.delete(key);
    }
    let size: number;
    try {
      size = await this.#table.commit(call);
    } catch (error) {
      for (const key of keys) this.#dirty.add(key);
      throw error;
    }
    this.#health.set(this.#healthChecks());
    await dropStaleFlows({ frontends, nodePorts });
    return size;
  }

  #healthChecks(): Map<number, HealthCheck> {
    const checks = new Map<number, HealthCheck>();
    for (const [key, views] of this.#views) {
      const service = this.#services.get(key);
      const port = service?.spec?.healthCheckNodePort;
      if (!port || service.spec?.externalTrafficPolicy !== "Local") continue;
      const ips = new Set(views.flatMap(({ localReadyIps }) => localReadyIps));
      checks.set(port, {
        namespace: service.metadata.namespace ?? "",
        name: service.metadata.name ?? "",
        localEndpoints: ips.size,
      });
    }
    return checks;
  }

  /** True when somebody had changed the table and it was written anew. */
  verify(call: Call): Promise<boolean> {
    return this.#table.verify(call);
  }

  close(): void {
    this.#health.close();
  }

  async remove(call: Call): Promise<void> {
    this.close();
    await this.#table.remove(call);
  }
}
