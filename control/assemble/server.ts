// A running API server from its settings: the control plane behind a TLS listener, with the administrator's kubeconfig on disk.

import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { clusterNetworkFrom } from "../../plugins/kit/kube/cluster-network.ts";
import { type RunningServer, serve } from "../../plugins/kit/os/platform/http-server.ts";
import { checkPort } from "../../plugins/kit/os/platform/listen.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { readYaml } from "../../plugins/kit/base/yaml.ts";
import type { StoreChoice } from "./store.ts";
import { type ControlPlane, openControl } from "./control-plane.ts";
import type { AuditSettings } from "../auth/audit/open.ts";
import type { Pki } from "../auth/pki.ts";
import type { SnapshotSchedule } from "../snapshots/schedule.ts";
import { OwnAddresses } from "./addresses.ts";
import { durationSeconds } from "./duration.ts";
import { firstServiceAddress } from "../bootstrap/system-objects.ts";

export interface ServerOptions {
  readonly settings: Settings;
  readonly nodeName: string;
  /** A node of that name runs in this process. */
  readonly hasNode?: boolean;
  readonly userPlugins?: readonly AnyPlugin[];
  readonly log: Log;
  readonly clock: Clock;
}

export interface RunningControl {
  readonly control: ControlPlane;
  readonly kubeconfigPath: string;
  close(): Promise<void>;
}

/** How long requests may take to end when the server stops; watches are told to end at once. */
const graceMs = 2_000;

export async function openServer(options: ServerOptions, call: Call): Promise<RunningControl> {
  const { settings, log, clock } = options;
  const dataDir = String(settings["data-dir"]);
  const port = Number(settings["https-port"]);
  const network = clusterNetworkFrom(settings);
  const serviceCidr = network.serviceCidrs.join();
  const addresses = new OwnAddresses(settings["node-ip"]);
  const names = (settings["tls-san"] as readonly string[] | undefined) ?? [];
  const isAddress = (name: string) => /^[\d.]+$|:/.test(name);
  const listen = { host: String(settings["bind-address"]), port };
  // Before anything is written: the store keeps the ranges that it was first opened with.
  await checkPort(listen, "https-port");
  const control = await openControl(
    {
      dataDir,
      clock,
      log,
      serving: {
        dnsNames: [...new Set([hostname(), options.nodeName, ...names.filter((name) => !isAddress(name))])],
        get ipAddresses() {
          const kept = ["127.0.0.1", firstServiceAddress(serviceCidr), ...names.filter(isAddress)];
          return [...new Set([...kept, ...addresses.all])];
        },
      },
      clusterCidrs: network.clusterCidrs,
      serviceCidr,
      clusterDns: network.clusterDns,
      clusterDomain: network.clusterDomain,
      advertise: {
        get address() {
          return addresses.address;
        },
        port,
      },
      ...(options.hasNode ? { ownNode: options.nodeName } : {}),
      nodeGraceMs: (durationSeconds(String(settings["node-monitor-grace-period"])) ?? 50) * 1000,
      ...(options.userPlugins ? { userPlugins: options.userPlugins } : {}),
      audit: auditSettings(settings),
      schedulerConfig: readConfig(settings["scheduler-config"] as string | undefined),
      store: String(settings.store ?? "sqlite"),
      etcdTls: etcdTls(settings),
      ...snapshotSchedule(settings),
      pluginSettings: { ...pluginsFromFlags(settings), ...(settings["plugin-settings"] as object | undefined) },
      // The service manager starts it again. Going on would look healthy to its watchdog while every write fails.
      onStoreEnded: () => process.exit(1),
    },
    call,
  );
  const { cert, key } = control.pki.serving();
  let server: RunningServer;
  try {
    server = await serve({
      handler: control.handler,
      upgrade: (upgrade) => control.upgrade(upgrade),
      listen,
      portFlag: "https-port",
      tls: { cert, key, clientCa: control.pki.ca.cert },
      // kube-apiserver's own limit.
      maxConcurrentStreams: 100,
      onError: (error) => log.error({ err: error }, "a request ended in an unexpected error"),
    });
  } catch (error) {
    await control.close();
    throw error;
  }
  const renewing = renewCertificate(control.pki, server, clock);
  const stopFollowing = addresses.follow(clock, (now, before) => {
    log.info({ from: before.all, to: now.all }, "this server's addresses changed");
    renewing.look();
    if (now.address !== before.address) void control.tellAddress(call);
  });
  const kubeconfigPath = join(dataDir, "admin.kubeconfig");
  control.pki.writeAdminKubeconfig(kubeconfigPath, `https://127.0.0.1:${server.port}`);
  return {
    control,
    kubeconfigPath,
    async close() {
      stopFollowing();
      renewing.stop();
      await Promise.all([control.close(), server.close(graceMs)]);
    },
  };
}

const renewEveryMs = 12 * 3_600_000;

/** The certificate is issued anew long before it ends; connections from then on see the new one. */
function renewCertificate(pki: Pki, server: RunningServer, clock: Clock): { look(): void; stop(): void } {
  let current = pki.serving().cert;
  let cancel: () => void;
  const look = () => {
    const next = pki.serving();
    if (next.cert !== current) server.setCertificate({ ...next, clientCa: pki.ca.cert });
    current = next.cert;
    cancel();
    cancel = clock.after(renewEveryMs, look);
  };
  cancel = clock.after(renewEveryMs, look);
  return { look, stop: () => cancel() };
}

function readConfig(path: string | undefined): unknown {
  if (path === undefined) return undefined;
  try {
    return readYaml(readFileSync(path, "utf8"), path);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("invalid", `Cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function etcdTls(settings: Settings): StoreChoice["etcdTls"] & object {
  const file = (name: string, key: string) => (settings[name] ? { [key]: String(settings[name]) } : {});
  return { ...file("etcd-cafile", "caFile"), ...file("etcd-certfile", "certFile"), ...file("etcd-keyfile", "keyFile") };
}

function snapshotSchedule(settings: Settings): { snapshots?: SnapshotSchedule } {
  const everyMs = (durationSeconds(String(settings["snapshot-every"] ?? "0")) ?? 0) * 1000;
  return everyMs > 0 ? { snapshots: { everyMs, keep: Number(settings["snapshot-keep"]) } } : {};
}

function auditSettings(settings: Settings): AuditSettings {
  const text = (name: string) => settings[name] as string | undefined;
  const count = (name: string) => settings[name] as number | undefined;
  return {
    logPath: text("audit-log-path"),
    policyPath: text("audit-policy-file"),
    maxAgeDays: count("audit-log-maxage"),
    maxBackups: count("audit-log-maxbackup"),
    maxSizeMegabytes: count("audit-log-maxsize"),
  };
}

/** Flags of kube-apiserver that stand for the settings of a plugin. */
function pluginsFromFlags(settings: Settings): Record<string, unknown> {
  const plugins: Record<string, unknown> = {};
  if (settings["token-auth-file"]) plugins.TokenFile = { path: settings["token-auth-file"] };
  if (settings["authorization-policy-file"]) plugins.ABAC = { path: settings["authorization-policy-file"] };
  if (settings["authorization-webhook-config-file"]) {
    plugins.AuthorizationWebhook = { kubeconfig: settings["authorization-webhook-config-file"] };
  }
  if (settings["oidc-issuer-url"]) {
    const given = {
      issuerUrl: settings["oidc-issuer-url"],
      clientId: settings["oidc-client-id"],
      usernameClaim: settings["oidc-username-claim"],
      usernamePrefix: settings["oidc-username-prefix"],
      groupsClaim: settings["oidc-groups-claim"],
      groupsPrefix: settings["oidc-groups-prefix"],
      caFile: settings["oidc-ca-file"],
    };
    plugins.OIDC = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  }
  return plugins;
}
