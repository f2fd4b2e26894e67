// Controllers for tests: an API server in this process with the real authorization rules, the named controllers acting as
// their own service accounts, and simulated nodes.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAccess, systemUser } from "../../control/auth/assemble.ts";
import { reservedNames } from "../../control/auth/certificates/reserved-names.ts";
import { serverNames } from "../../control/auth/certificates/server-names.ts";
import { openPki, type Pki } from "../../control/auth/pki.ts";
import { reconcileBootstrapPolicy } from "../../control/auth/rbac/bootstrap-policy.ts";
import { controllers as allControllers, eventSourceOf } from "../../control/controllers/index.ts";
import type { ControllerContext } from "../../control/manager/contract.ts";
import { ControllerManager } from "../../control/manager/manager.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import { EventRecorder } from "../../plugins/kit/kube/events.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { noLog, openLog } from "../../plugins/kit/base/log.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Event, KubeObject, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { type Json, startApi, type TestApi } from "./api-server.ts";
import { SimulatedKubelet, type SimulatedKubeletOptions } from "./simulated-kubelet.ts";
import { until } from "./until.ts";

interface Test {
  teardown(then: () => Promise<void> | void): void;
}

export interface ControllerRoomOptions extends Partial<Omit<SimulatedKubeletOptions, "client" | "pods" | "nodes">> {
  readonly clock?: Clock;
  /** Names of simulated nodes. */
  readonly nodes?: readonly string[];
  /** Without one pods stay as they are. */
  readonly kubelet?: boolean;
  /** Answers some requests of the controllers in the server's place, such as those for metrics. */
  readonly answer?: (request: Request) => Response | undefined;
}

export class ControllerRoom {
  readonly api: TestApi;
  readonly client: ApiClient;
  readonly call: Call;
  readonly kubelet: SimulatedKubelet;
  readonly manager: ControllerManager;
  readonly pki: Pki;

  constructor(parts: Pick<ControllerRoom, "api" | "client" | "call" | "kubelet" | "manager" | "pki">) {
    this.api = parts.api;
    this.client = parts.client;
    this.call = parts.call;
    this.kubelet = parts.kubelet;
    this.manager = parts.manager;
    this.pki = parts.pki;
  }

  create(ref: ResourceRef, object: Json): Promise<Json> {
    const namespace = ref.namespaced ? (object.metadata?.namespace ?? "default") : undefined;
    const typed = { apiVersion: ref.group ? `${ref.group}/${ref.version}` : ref.version, kind: ref.kind, ...object };
    return this.client.create(ref, typed, this.call, namespace ? { namespace } : {});
  }

  get(ref: ResourceRef, name: string, namespace = "default"): Json {
    return this.api.server.informers.for<KubeObject>(ref).get(ref.namespaced ? namespace : "", name);
  }

  list(ref: ResourceRef, namespace = "default"): Json[] {
    return [...this.api.server.informers.for<KubeObject>(ref).list(ref.namespaced ? namespace : "")];
  }

  patch(ref: ResourceRef, name: string, body: object, subresource?: string, namespace = "default"): Promise<Json> {
    const at = { ...(ref.namespaced ? { namespace } : {}), name, ...(subresource ? { subresource } : {}) };
    return this.client.patch(ref, at, { type: "merge", body }, this.call);
  }

  delete(ref: ResourceRef, name: string, options: object = {}): Promise<unknown> {
    return this.client.delete(
      ref,
      { ...(ref.namespaced ? { namespace: "default" } : {}), name },
      this.call,
      options as { gracePeriodSeconds?: number },
    );
  }

  /** Waits for the object to be as asked, by what the cache shows. */
  async until(ref: ResourceRef, name: string, is: (object: Json) => unknown): Promise<Json> {
    return until(`${ref.kind} ${name}: ${is}`, () => {
      const found = this.get(ref, name);
      return found && is(found) ? found : undefined;
    });
  }

  async untilEvent(reason: string): Promise<Event> {
    return until(`an event ${reason}`, () => this.list(resources.events).find((event) => event.reason === reason));
  }

  pods(): Pod[] {
    return this.list(resources.pods);
  }
}

export async function controllerRoom(
  t: Test,
  names: readonly string[],
  options: ControllerRoomOptions = {},
): Promise<ControllerRoom> {
  const clock = options.clock ?? systemClock;
  const log = process.env.SKIFF_TEST_LOG ? openLog({ level: "debug", human: true }) : noLog;
  const folder = mkdtempSync(join(tmpdir(), "skiff-controllers-"));
  const pki = openPki({ dir: folder, clock: systemClock, serving: { dnsNames: [], ipAddresses: [] } });
  const access = openAccess({ pki, clock, clusterDomain: "cluster.local" });
  const api = await startApi({
    authorizers: access.authorizers,
    issueToken: access.issueToken,
    frontProxy: () => pki.frontProxyClient(),
    clock,
  });
  access.connect(api.server);
  const clientAs = (user: { name: string; groups: string[] }) => {
    const fetch = api.server.fetchAs(user);
    const answered = async (request: Request) => options.answer?.(request) ?? fetch(request);
    return new ApiClient({ fetch: answered, clock, log, userAgent: user.name });
  };
  const client = clientAs({ ...systemUser, groups: [...systemUser.groups] });
  const stop = new AbortController();
  const call = { signal: stop.signal };
  for (const name of ["default", "kube-system", "kube-public", "kube-node-lease"])
    await client.create(resources.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, call);
  await reconcileBootstrapPolicy(client, call);
  for (const name of options.nodes ?? ["node"]) await client.create(resources.nodes, readyNode(name), call);
  const contextFor = (name: string): ControllerContext => {
    const groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
    const own = clientAs({ name: `system:serviceaccount:kube-system:${name}`, groups });
    const events = new EventRecorder({ client: own, component: eventSourceOf(name), clock, log });
    return { client: own, informers: api.server.informers, events, clock, log: log.child({ controller: name }) };
  };
  const { ca, serviceAccountKey } = pki;
  const reserved = reservedNames({
    servers: () => serverNames(pki, api.server.informers),
    clusterDomain: "cluster.local",
    cidrs: ["10.43.0.0/16"],
  });
  const settings = { clusterCidrs: ["10.42.0.0/16"], caCertificate: ca.cert, ca, reserved, serviceAccountKey };
  const wanted = allControllers(settings).filter(({ name }) => names.includes(name));
  const manager = new ControllerManager({ contextFor, controllers: wanted });
  const kubelet = new SimulatedKubelet({
    ...options,
    now: () => clock.now(),
    client,
    pods: api.server.informers.for<Pod>(resources.pods),
    nodes: api.server.informers.for<Node>(resources.nodes),
  });
  const running = Promise.all([manager.run(call), options.kubelet === false ? undefined : kubelet.run(call)]);
  t.teardown(async () => {
    stop.abort();
    await running.catch((error) => {
      if (!isFault(error) && (error as Error).name !== "AbortError") throw error;
    });
    await api.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return new ControllerRoom({ api, client, call, kubelet, manager, pki });
}

export function readyNode(name: string, extra: Json = {}): Json {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...extra.labels } },
    spec: extra.spec ?? {},
    status: {
      capacity: { cpu: "64", memory: "256Gi", pods: "5000" },
      allocatable: { cpu: "64", memory: "256Gi", pods: "5000" },
      addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
      conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "" }],
      ...extra.status,
    },
  };
}

export const podTemplate = (labels: Record<string, string>, spec: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: "main", image: "busybox" }], ...spec },
});
