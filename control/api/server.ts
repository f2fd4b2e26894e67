// createApiServer puts the API together: storage, definitions, the request path and its identities.

import { join } from "node:path";
import type { AdmissionPlugin } from "../../plugins/kit/contracts/admission.ts";
import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Handler, Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { projectFolder } from "../../plugins/kit/os/platform/project.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import type { Auditor } from "../auth/audit/contract.ts";
import type { Authenticator, Authorizer, Decision } from "../auth/contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
import { builtinResources } from "../resources/index.ts";
import { addressRanges } from "../resources/service/address-range.ts";
import { ServiceAllocator } from "../resources/service/allocator.ts";
import { serviceHoldings } from "../resources/service/holdings.ts";
import { Informers } from "../storage/cache-informer.ts";
import { Claims } from "../storage/claims.ts";
import { expireEvents } from "../storage/event-expiry.ts";
import { ObjectStorage } from "../storage/object-storage.ts";
import type { Transformer } from "../storage/transformer.ts";
import { WatchCache } from "../storage/watch-cache.ts";
import type { TokenAuthenticator } from "../auth/tokens/contract.ts";
import { Shapes } from "./apply/shape.ts";
import { keepRegistered } from "./aggregation/local-services.ts";
import { RemoteDocuments } from "./aggregation/remote-documents.ts";
import { Remotes } from "./aggregation/remotes.ts";
import { podBinding } from "./binding.ts";
import type { NodeConnector } from "./connect/connector.ts";
import { connectSubresources } from "./connect/handlers.ts";
import { acceptUpgrade } from "./connect/upgrade.ts";
import { CrdManager } from "./custom/crd-manager.ts";
import { customDocuments } from "./custom/custom-documents.ts";
import { Discovery } from "./discovery/discovery.ts";
import { type Dispatcher, dispatch } from "./dispatch.ts";
import type { PathHandler } from "../machinery/path-handler.ts";
import { defaultDeadlineMs } from "./deadline.ts";
import { podEviction } from "./eviction.ts";
import { reviewResources } from "./review-resources.ts";
import { tokenSubresource } from "./token.ts";
import type { TokenIssuer } from "../auth/tokens/contract.ts";
import { bindingResource, componentStatusResource } from "./virtual-core.ts";
import { type HealthCheck, healthAnswer } from "./health.ts";
import { OpenApi } from "./openapi/serve.ts";
import { compareVersions } from "../resources/version-order.ts";
import { Registry } from "./registry.ts";
import type { ApiRequest } from "../machinery/request.ts";
import { textAnswer } from "../machinery/answer.ts";
import { defaultSeats, FlowControl } from "./flow/flow-control.ts";
import { keepBootstrap } from "./flow/keep-bootstrap.ts";
import { Outbox, type OutboxLimits } from "./flow/outbox.ts";
import { HealthMetrics } from "./health-metrics.ts";
import { ApiMetrics } from "./metrics.ts";
import { loadSchemas } from "./schema/schemas.ts";
import type { Services } from "./scope.ts";
import { Snapshots } from "./snapshots.ts";
import { StoreHealth } from "./store-health.ts";
import type { SubresourceHandler } from "./subresources.ts";
import { usageResources } from "./usage/resources.ts";
import type { VirtualResource } from "./virtual.ts";
import { Watches } from "./watches.ts";
import { withAuditId } from "./audit-id.ts";
import { requestFrom, responseFrom } from "./web.ts";

export interface ApiServerOptions {
  /** More text for /metrics, from who else works in this process; may be filled later. */
  readonly metricsSources?: readonly (() => string)[];
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** In order; with none, everyone is `system:anonymous`. */
  readonly authenticators: readonly Authenticator[];
  /** In order; the first allow or deny decides. With none, all is allowed. */
  readonly authorizers: readonly Authorizer[];
  readonly admission: readonly AdmissionPlugin[];
  /** For TokenReviews: whose tokens are good, and for whom. */
  readonly tokenAuthenticators?: readonly TokenAuthenticator[];
  readonly apiAudiences?: readonly string[];
  /** Signs TokenRequests for service accounts; the subresource is there only with it. */
  readonly issueToken?: TokenIssuer;
  /** Reaches nodes, pods and services for logs, exec, port-forward and proxies. */
  readonly connector?: NodeConnector;
  /** Who this server is towards those that answer groups in its place. */
  readonly frontProxy?: () => { readonly cert: string; readonly key: string };
  readonly transformers?: readonly Transformer[];
  /** Resources that are answered rather than stored (access reviews), by `group/plural`. */
  readonly virtuals?: ReadonlyMap<string, VirtualResource>;
  /** Records requests. */
  readonly audit?: Auditor | undefined;
  /** Answers paths that are no resources and that the server itself does not know. */
  readonly paths?: PathHandler;
  /** More subresources, by `group/plural/subresource`. */
  readonly subresources?: ReadonlyMap<string, SubresourceHandler>;
  /** Where cluster addresses of services are taken from; a second one, of the other family, behind a comma. */
  readonly serviceCidr?: string;
  /** Where the set-up put what `openapi/generate.ts` makes; beside the program when unset. */
  readonly openApiFolder?: string;
  /** How many requests are worked on at once; priority levels share them. */
  readonly seats?: number;
  /** How much of what was answered may wait to be read. */
  readonly outbox?: OutboxLimits;
  readonly healthChecks?: readonly HealthCheck[];
  /** Where clients reach this server, as discovery tells them: `10.0.0.1:6443`. */
  readonly advertiseAddress?: () => string;
}

export interface ApiServer {
  readonly handler: Handler;
  /** For connections that ask to stop being HTTP. */
  upgrade(upgrade: Upgrade): void;
  readonly informers: Informers;
  /** A fetch in the same process with a fixed identity; authorization still applies. */
  fetchAs(user: UserInfo): (request: Request) => Promise<Response>;
  /** Ends watches and stops following the store; the store itself stays open. */
  close(): Promise<void>;
}

export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, clock, log } = options;
  const stop = new AbortController();
  const call: Call = { signal: stop.signal };
  const claims = Claims.on(store, [{ ref: { group: "", plural: "services" }, holdings: serviceHoldings }]);
  await claims?.settle(log, call);
  const cache = new WatchCache({ store, clock, log, transformers: options.transformers ?? [] });
  await cache.load(call);
  const following = cache.follow(call);
  const informers = new Informers(cache);
  const serviceAllocator = new ServiceAllocator(addressRanges(options.serviceCidr ?? "10.43.0.0/16"), {
    first: 30000,
    last: 32767,
  });
  informers.for({ group: "", plural: "services" }).onEvent((event) => serviceAllocator.onEvent(event));
  const registry = new Registry(builtinResources({ serviceAllocator }), compareVersions);
  const watches = new Watches();
  const snapshots = new Snapshots(clock);
  const flows = new FlowControl(informers, options.seats ?? defaultSeats, new Outbox(options.outbox));
  const metrics = new ApiMetrics();
  const subresources = new Map<string, SubresourceHandler>([
    ["/pods/binding", podBinding],
    ["/pods/eviction", podEviction],
    ...connectSubresources(options.connector),
    ...(options.issueToken ? [["/serviceaccounts/token", tokenSubresource(options.issueToken)] as const] : []),
    ...(options.subresources ?? []),
  ]);
  const virtuals = new Map<string, VirtualResource>([
    ["/bindings", bindingResource],
    ["/componentstatuses", componentStatusResource(() => checks)],
    ...reviewResources({
      authorizers: options.authorizers,
      tokenAuthenticators: options.tokenAuthenticators ?? [],
      apiAudiences: options.apiAudiences ?? [],
    }),
    ...usageResources({ connector: options.connector, cache, clock }),
    ...(options.virtuals ?? []),
  ]);
  const storeHealth = new StoreHealth(store, clock, call);
  const checks: HealthCheck[] = [
    { name: "ping", check: () => undefined },
    { name: "log", check: () => undefined },
    { name: "etcd", check: () => storeHealth.problem() },
    ...(options.healthChecks ?? []),
    { name: "etcd-readiness", readyOnly: true, check: () => storeHealth.problem() },
    {
      name: "shutdown",
      readyOnly: true,
      check: () => (stop.signal.aborted ? "process is shutting down" : undefined),
    },
  ];
  const openApiFolder = options.openApiFolder ?? join(projectFolder, ".generated/openapi");
  const schemas = loadSchemas(openApiFolder);
  if (!schemas) log.warn({ folder: openApiFolder }, "no schemas found: fields are not checked; run the set-up");
  const storage = new ObjectStorage(store, cache, claims);
  const expiring = expireEvents(cache, storage, clock, call);
  const services: Services = {
    registry,
    store,
    cache,
    snapshots,
    watches,
    flows,
    metrics,
    storage,
    clock,
    deadlineMs: defaultDeadlineMs,
    log,
    admission: options.admission,
    schemas,
    shapes: schemas && new Shapes(schemas),
    virtuals,
    subresources,
    authorize: authorizeBy(options.authorizers),
  };
  const crds = new CrdManager(services, informers, call);
  const remotes = new Remotes(services, informers, options.frontProxy, call);
  const discovery = new Discovery(services, remotes, options.advertiseAddress ?? (() => ""));
  const openApi = new OpenApi(
    openApiFolder,
    customDocuments(() => crds.served(), openApiFolder),
    new RemoteDocuments(remotes),
  );
  await crds.start();
  remotes.start();
  const registered = keepRegistered(services, call);
  const sorted = keepBootstrap(services, informers, call);
  await Promise.all([registered.settled(), sorted.settled()]);
  const healthMetrics = new HealthMetrics();
  const expositions: Record<string, () => string> = {
    "/metrics": () =>
      [
        metrics.text({ seats: flows.seats, watches, cache, remotes }),
        ...(options.metricsSources ?? []).map((text) => text()),
      ].join(""),
    "/metrics/slis": () => healthMetrics.text(),
  };
  const metricsAnswer = ({ path }: ApiRequest) => {
    const exposition = expositions[path];
    return exposition && textAnswer(exposition(), 200, "text/plain; version=0.0.4; charset=utf-8");
  };
  const dispatcher: Dispatcher = {
    services,
    authenticators: options.authenticators,
    audit: options.audit,
    remotes,
    async catchUp(asked) {
      await cache.caughtUp(asked);
      await crds.settled();
    },
    paths: (request, user) =>
      discovery.answer(request) ??
      openApi.answer(request, user) ??
      metricsAnswer(request) ??
      healthAnswer(request, checks, healthMetrics) ??
      options.paths?.(request, user),
  };
  const answer = async (request: ApiRequest) => responseFrom(withAuditId(request, await dispatch(dispatcher, request)));
  return {
    handler: (request, peer) => answer(requestFrom(request, peer)),
    upgrade: (upgrade) => acceptUpgrade(dispatcher, options.connector, upgrade),
    informers,
    fetchAs: (user) => (request) => answer(requestFrom(request, { address: "127.0.0.1" }, user)),
    async close() {
      stop.abort();
      watches.endAll();
      snapshots.close();
      crds.close();
      remotes.close();
      await Promise.all([following, expiring, registered.settled(), sorted.settled()]);
    },
  };
}

function authorizeBy(authorizers: readonly Authorizer[]): (attributes: Attributes, call: Call) => Promise<Decision> {
  if (authorizers.length === 0) return async () => ({ answer: "allow", reason: "" });
  return async (attributes, call) => {
    const reasons: string[] = [];
    for (const authorizer of authorizers) {
      const decision = await authorizer.authorize(attributes, call);
      if (decision.answer !== "no-opinion") return decision;
      if (decision.reason !== "") reasons.push(decision.reason);
    }
    return { answer: "no-opinion", reason: reasons.join(", ") };
  };
}
