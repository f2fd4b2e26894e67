// The composition root of the control plane: store, keys, who may do what, the API, controllers and the scheduler.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { controlPlugins } from "../../plugins/builtins.ts";
import { type AdmissionPlugin, admissionKind } from "../../plugins/kit/contracts/admission.ts";
import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { ClientMeters } from "../../plugins/kit/kube/client/client-meters.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { clusterViewKind } from "../../plugins/kit/kube/cluster-view.ts";
import { EventRecorder } from "../../plugins/kit/kube/events.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { Meters } from "../../plugins/kit/base/meters.ts";
import type { Handler, Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { pluginsFor } from "../../plugins/kit/base/plugin-sides.ts";
import { openPlugins, settingsOf } from "../../plugins/kit/base/registry.ts";
import { filterKind, placementKind, queueSortKind, scoreKind } from "../../plugins/kit/contracts/scheduling.ts";
import { dialingConnector } from "../api/connect/dial-nodes.ts";
import { NodeLines } from "../api/connect/node-lines.ts";
import { openStore, type StoreChoice } from "./store.ts";
import type { PathHandler } from "../machinery/path-handler.ts";
import { createApiServer } from "../api/server.ts";
import { openAccess, systemUser } from "../auth/assemble.ts";
import { type AuditSettings, openAudit } from "../auth/audit/open.ts";
import { reservedNames } from "../auth/certificates/reserved-names.ts";
import { serverNames } from "../auth/certificates/server-names.ts";
import { authenticatorKind, authorizerKind } from "../auth/contract.ts";
import { EncryptionKeys } from "../auth/encryption/keys.ts";
import { completeRotation, rotateEncryptionKey } from "../auth/encryption/rotate.ts";
import { secretsTransformer } from "../auth/encryption/transformer.ts";
import { withClusterCa } from "../auth/join/cluster-ca.ts";
import { accessPaths } from "../auth/paths.ts";
import { accessPlugins } from "../auth/plugins.ts";
import { agreeOnKeys } from "../auth/shared-keys.ts";
import { tokenAuthenticatorKind } from "../auth/tokens/contract.ts";
import { openPki, type Pki } from "../auth/pki.ts";
import { keepSystemObjects } from "../bootstrap/keep-system-objects.ts";
import { reconcileBootstrapPolicy } from "../auth/rbac/bootstrap-policy.ts";
import { controllers, eventSourceOf } from "../controllers/index.ts";
import { checkClusterNetwork } from "../bootstrap/cluster-network.ts";
import type { ControllerContext } from "../manager/contract.ts";
import { LeaderLease } from "../manager/leader-lease.ts";
import { ControllerManager } from "../manager/manager.ts";
import { controllerMetrics } from "../manager/metrics.ts";
import { serverIdentity } from "../manager/server-identity.ts";
import { configurationFrom } from "../scheduler/configuration.ts";
import { Scheduler } from "../scheduler/scheduler.ts";
import { SchedulerMeters } from "../scheduler/scheduler-meters.ts";
import { snapshotsFolder, takeSnapshot } from "../snapshots/files.ts";
import { snapshotPaths } from "../snapshots/path.ts";
import { runSchedule, type SnapshotSchedule } from "../snapshots/schedule.ts";
import { ServerAddresses } from "../bootstrap/server-addresses.ts";
import { ensureClusterInfo, ensureSystemObjects } from "../bootstrap/system-objects.ts";

export interface ControlOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Every name and address that clients may reach the server by. */
  readonly serving: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  readonly clusterCidrs: readonly string[];
  readonly serviceCidr: string;
  /** Addresses of the cluster's DNS, kept for it by the service `kube-dns`. */
  readonly clusterDns?: readonly string[];
  readonly clusterDomain: string;
  /** Where this server is reached, for the `kubernetes` service and discovery; `tellAddress` when it is another. */
  readonly advertise: { readonly address: string; readonly port: number };
  /** The node that runs in the same process, where one does. */
  readonly ownNode?: string;
  /** How long a node may be silent before it is taken for lost; 40 s when absent. */
  readonly nodeGraceMs?: number;
  readonly audit?: AuditSettings;
  /** `sqlite` when absent. */
  readonly store?: string;
  readonly etcdTls?: StoreChoice["etcdTls"];
  /** When the store is copied by itself; never when absent. */
  readonly snapshots?: SnapshotSchedule;
  /** Profiles of the scheduler, or a policy of the early days, as read from its file. */
  readonly schedulerConfig?: unknown;
  readonly userPlugins?: readonly AnyPlugin[];
  readonly pluginSettings?: Readonly<Record<string, unknown>>;
  /** Called when the store has ended by itself: nothing can be written any more until the program is started again. */
  onStoreEnded?(): void;
}

export interface ControlPlane {
  readonly handler: Handler;
  /** For connections that ask to stop being HTTP: exec, attach, port-forward, proxied WebSockets. */
  upgrade(upgrade: Upgrade): void;
  readonly pki: Pki;
  /** Writes where this server is now reached; tries again until it is written or the call is stopped. */
  tellAddress(call: Call): Promise<void>;
  /** The API in this process, with a fixed identity; authorization still applies. */
  fetchAs(user: UserInfo): Fetch;
  /** Runs controllers and the scheduler until the call is stopped. */
  run(call: Call): Promise<void>;
  close(): Promise<void>;
}

export async function openControl(options: ControlOptions, call: Call): Promise<ControlPlane> {
  const { dataDir, clock, log } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const pki = openPki({
    dir: join(dataDir, "pki"),
    clock,
    serving: options.serving,
    clusterDomain: options.clusterDomain,
  });
  const choice = {
    store: options.store ?? "sqlite",
    dataDir,
    ...(options.etcdTls ? { etcdTls: options.etcdTls } : {}),
    plugins: options.userPlugins ?? [],
    settings: options.pluginSettings ?? {},
  };
  const store = await openStore(choice, log.child({ part: "store" }), clock, call);
  void store.ended?.then((fault) => {
    log.error({ err: fault }, "the store has ended; exiting to be restarted (containers keep running)");
    options.onStoreEnded?.();
  });
  const keyFile = join(dataDir, "pki", "encryption-keys.json");
  const encryptionKeys = new EncryptionKeys(keyFile);
  const folder = snapshotsFolder(dataDir);
  const take = () => {
    const source = { backup: (path: string) => backup(store, path), keys: () => readFileSync(keyFile, "utf8") };
    return takeSnapshot(folder, source, clock.now());
  };
  const sharedKeys = { store, pki, encryption: encryptionKeys, folder: join(dataDir, "pki") };
  try {
    await agreeOnKeys(sharedKeys, call);
    // A rotation that was interrupted is finished before anything is read.
    await completeRotation(encryptionKeys, store, call);
  } catch (error) {
    await store.close();
    throw error;
  }
  // The API asks the authorizers, and they decide by what the API's cache holds: they are put in once it is there.
  const access = openAccess({ pki, clock, clusterDomain: options.clusterDomain });
  const audit = openAudit(options.audit ?? {}, { dataDir, clock, log: log.child({ part: "audit" }) });
  const admission: AdmissionPlugin[] = [];
  const lines = new NodeLines(clock, log.child({ part: "node lines" }));
  const { ownNode } = options;
  const connector = dialingConnector({
    ca: pki.ca.cert,
    credentials: () => pki.kubeletClient(),
    clock,
    lines,
    ...(ownNode ? { ownNode } : {}),
  });
  const rotate = async (rotation: Call) => {
    await addresses.requireAlone("change the key of secrets", rotation);
    return rotateEncryptionKey(encryptionKeys, store, rotation, () => agreeOnKeys(sharedKeys, rotation));
  };
  const metricsSources: (() => string)[] = [];
  const api = await createApiServer({
    metricsSources,
    store,
    clock,
    log: log.child({ part: "api" }),
    authenticators: access.authenticators,
    authorizers: access.authorizers,
    audit: audit.auditor,
    admission,
    tokenAuthenticators: access.tokenAuthenticators,
    apiAudiences: access.apiAudiences,
    issueToken: access.issueToken,
    transformers: [secretsTransformer(encryptionKeys)],
    paths: inTurn(
      snapshotPaths(take),
      accessPaths({
        issuer: access.issuer,
        keys: pki.serviceAccountKeys,
        serverUrl: () => `https://${options.advertise.address}:${options.advertise.port}`,
        rotate,
      }),
    ),
    connector,
    frontProxy: () => pki.frontProxyClient(),
    serviceCidr: options.serviceCidr,
    advertiseAddress: () => `${options.advertise.address}:${options.advertise.port}`,
  });
  const view = access.connect(api);
  const pluginSettings = options.pluginSettings ?? {};
  const available: readonly AnyPlugin[] = [
    { kind: clusterViewKind, name: "api", open: () => view },
    ...controlPlugins,
    ...accessPlugins(pluginSettings),
    ...pluginsFor("control", options.userPlugins ?? []),
  ];
  const plugins = await openPlugins(
    {
      plugins: available,
      settings: settingsOf(available, pluginSettings),
      log,
      clock,
      stateDir: join(dataDir, "plugins"),
    },
    call,
  );
  access.extend({
    authenticators: plugins.all(authenticatorKind),
    tokenAuthenticators: plugins.all(tokenAuthenticatorKind),
    authorizers: plugins.all(authorizerKind),
  });

  const system = clientFor(api.fetchAs(systemUser), "apiserver", options);
  const close = async () => {
    await api.close();
    connector.close();
    await audit.flush();
    await plugins.close();
    await store.close();
  };
  const { clusterCidrs, clusterDns = [], clusterDomain } = options;
  const network = { clusterCidrs, serviceCidrs: options.serviceCidr.split(","), clusterDns, clusterDomain };
  try {
    await checkClusterNetwork(system, network, call);
  } catch (error) {
    await close();
    throw error;
  }
  const facts = { ...options, network, caCertificate: pki.ca.cert, frontProxyCa: pki.frontProxyCa.cert };
  await ensureSystemObjects(system, facts, call);
  // A store of our own has no other servers on it.
  const isShared = choice.store !== "sqlite";
  const { advertise, serving } = options;
  const { dnsNames } = serving;
  const addresses = new ServerAddresses({ client: system, clock, log, advertise, dnsNames, isShared });
  await keepTrying((tellCall) => addresses.tell(tellCall), clock, log, call);
  await reconcileBootstrapPolicy(system, call);
  // What every cluster has is there now; from here on writes are held to the rules.
  admission.push(...plugins.all(admissionKind), ...access.admission);

  const clientMeters = new Meters();
  const measured = new ClientMeters(clientMeters);
  metricsSources.push(() => clientMeters.text());
  const ownHost = `${options.advertise.address}:${options.advertise.port}`;
  const contextFor = (name: string): ControllerContext => {
    const user = controllerIdentity(name);
    const client = clientFor(measured.measured(api.fetchAs(user), clock, ownHost), name, options);
    const own = log.child({ controller: name });
    const events = new EventRecorder({ client, component: eventSourceOf(name), clock, log: own });
    return { client, informers: api.informers, events, clock, log: own };
  };
  const manager = new ControllerManager({
    contextFor,
    controllers: controllers({
      ...options,
      caCertificate: pki.ca.cert,
      ca: pki.ca,
      reserved: reservedNames({
        servers: () => serverNames(pki, api.informers),
        clusterDomain: options.clusterDomain,
        cidrs: [options.serviceCidr, ...options.clusterCidrs],
      }),
      serviceAccountKey: pki.serviceAccountKey,
    }),
  });
  metricsSources.push(() => controllerMetrics(manager));
  const decisions = {
    filters: plugins.all(filterKind),
    scores: plugins.all(scoreKind),
    placement: plugins.all(placementKind),
    queueSorts: plugins.all(queueSortKind),
  };
  const scheduling = configurationFrom(options.schedulerConfig, decisions, "scheduler-config");
  const schedulerMeters = new SchedulerMeters();
  let running: Scheduler | undefined;
  metricsSources.push(() => schedulerMeters.text(running?.queueCounts));
  const work = async (runCall: Call) => {
    const scheduler = new Scheduler({ context: contextFor("kube-scheduler"), ...scheduling, meters: schedulerMeters });
    running = scheduler;
    await Promise.all([
      manager.run(runCall),
      scheduler.run(runCall),
      ...(options.snapshots ? [runSchedule(options.snapshots, { folder, take, clock, log }, runCall)] : []),
    ]);
  };
  const lease = new LeaderLease({
    client: system,
    name: "kube-controller-manager",
    identity: isShared ? serverIdentity(dataDir, ownHost) : ownHost,
    clock,
    log,
  });
  const ensureAll = async (ensureCall: Call) => {
    await ensureSystemObjects(system, facts, ensureCall);
    await addresses.tell(ensureCall);
    await reconcileBootstrapPolicy(system, ensureCall);
  };
  const tellAddress = async (tellCall: Call) => {
    await addresses.tell(tellCall);
    await ensureClusterInfo(system, facts, tellCall);
  };
  return {
    handler: withClusterCa(api.handler, pki.ca.cert),
    upgrade(upgrade) {
      if (!lines.accept(upgrade)) api.upgrade(upgrade);
    },
    pki,
    tellAddress: (tellCall) => keepTrying(tellAddress, clock, log, tellCall),
    fetchAs: (user) => api.fetchAs(user),
    async run(runCall) {
      await Promise.all([
        isShared ? Promise.all([lease.run(work, runCall), addresses.run(runCall)]) : work(runCall),
        keepSystemObjects({ informers: api.informers, ensure: ensureAll, clock, log }, runCall),
      ]);
    },
    close,
  };
}

const tryAgainMs = 2_000;

async function keepTrying(work: (call: Call) => Promise<void>, clock: Clock, log: Log, call: Call): Promise<void> {
  while (!call.signal.aborted) {
    try {
      return await work(call);
    } catch (error) {
      if (call.signal.aborted) return;
      log.warn({ err: error }, "cannot write this server's address yet");
      await clock.sleep(tryAgainMs, call).catch(() => {});
    }
  }
}

async function backup(store: { backup?(path: string): Promise<void> }, path: string): Promise<void> {
  if (!store.backup)
    throw new Fault("unsupported", "Cannot take a snapshot of an etcd cluster from here: use etcdctl snapshot save");
  await store.backup(path);
}

/** The first that knows the path answers. */
function inTurn(...handlers: readonly PathHandler[]): PathHandler {
  return (request, user) => {
    for (const handler of handlers) {
      const answer = handler(request, user);
      if (answer) return answer;
    }
    return undefined;
  };
}

function clientFor(fetch: Fetch, userAgent: string, { clock, log }: ControlOptions): ApiClient {
  return new ApiClient({ fetch, clock, log, userAgent });
}

/** Controllers act as the service accounts that the bootstrap policy names; the scheduler as its own user. */
function controllerIdentity(name: string): UserInfo {
  if (name === "kube-scheduler") return { name: "system:kube-scheduler", groups: ["system:authenticated"] };
  return {
    name: `system:serviceaccount:kube-system:${name}`,
    groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
  };
}
