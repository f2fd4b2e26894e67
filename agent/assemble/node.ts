// A whole node from its settings: runtime, network, volumes and the agent between them.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { removeNetworkList, writeNetworkList } from "../../cni/invoke/write-network-list.ts";
import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { daemonKind } from "../../plugins/kit/contracts/daemon.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { NodeDaemon } from "../../plugins/kit/kube/node-daemon.ts";
import type { Node } from "../../plugins/kit/kube/objects/types.ts";
import { claimNetworks } from "../../plugins/kit/os/net/claim.ts";
import { clusterNetworkFrom } from "../../plugins/kit/kube/cluster-network.ts";
import { parseCertificate } from "../../plugins/kit/os/x509/certificate.ts";
import { projectFolder } from "../../plugins/kit/os/platform/project.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { nodePlugins } from "../../plugins/builtins.ts";
import { pluginsFor } from "../../plugins/kit/base/plugin-sides.ts";
import { settingsOf } from "../../plugins/kit/base/registry.ts";
import { type Agent, openAgent } from "./agent.ts";
import { ImageFolder } from "../images/image-folder.ts";
import { agentConfig } from "../config/agent-config.ts";
import { nodeAddresses } from "../../plugins/kit/os/net/own-addresses.ts";
import { tuningFrom } from "../config/agent-settings.ts";
import { isMachineStopping } from "../node/shutdown.ts";
import { ShutdownWatch } from "../node/shutdown-watch.ts";
import { shutdownGroups } from "../resources/shutdown.ts";
import { openLogind } from "../host/logind.ts";
import { delayFile, dropDelay, raiseDelay } from "../host/logind-delay.ts";
import { systemdManager } from "../../plugins/kit/os/systemd/manager.ts";
import { networkPlugins, removeNetworkServices } from "./network.ts";
import { nodeConfigFrom, ownNetworks } from "./node-config.ts";
import { endContainers, ownSandboxes } from "./own-pods.ts";
import { instancePaths } from "./paths.ts";
import { openRuntime } from "./runtime.ts";
import { type KubeletIdentity, openNodeServers, servingNames } from "./serving.ts";
import { openNodeStats } from "./stats.ts";

/** What containers get to end when the machine goes down and nothing else was said. */
const goingDownGraceSeconds = 20;
/** For what a node does around the ends of its pods: the groups themselves keep to their own time. */
const shutdownSlackSeconds = 2;
/** What links have unless somebody says otherwise. */
const commonMtu = 1500;

export interface NodeOptions {
  readonly settings: Settings;
  readonly api?: {
    readonly fetch: Fetch;
    readonly server?: string;
    /** In the name of a user whom this node has admitted; only where the control plane is in this process. */
    readonly fetchAs?: (user: UserInfo) => Fetch;
    /** With the identities of the network daemons; without them these ask as the node does. */
    readonly daemons?: Readonly<Record<NodeDaemon, Fetch>>;
  };
  /** With which certificate the kubelet's API is served; without one it is not. */
  readonly identity?: KubeletIdentity;
  readonly userPlugins?: readonly AnyPlugin[];
  readonly log: Log;
  readonly clock: Clock;
}

/** What pods are left of the time to stop when they go with the program; what is not gone by then is killed. */
const trialGraceMs = 40_000;

export interface RunningNode {
  readonly agent: Agent;
  readonly runtimeName: string;
  /** Stops the agent; pods go too only when the settings say so. */
  close(call: Call): Promise<void>;
}

/** Settings of daemons that have flags of their own; the config file may say more of them by their names. */
function settingsByFlag(settings: Settings): Record<string, unknown> {
  const port = (name: string) => Number(settings[name] ?? 0);
  return { "service-proxy": { healthzPort: port("proxy-healthz-port"), metricsPort: port("proxy-metrics-port") } };
}

export async function openNode(options: NodeOptions): Promise<RunningNode> {
  const { settings, log, clock } = options;
  const basics = nodeConfigFrom(settings);
  const paths = instancePaths(basics.dataDir);
  const config = agentConfig({ ...basics, ...tuningFrom(settings, paths.id ? `skiff-${paths.id}` : "skiff") });
  const { clusterCidrs } = clusterNetworkFrom(settings);
  // Before anything of the host is touched: a second agent with the same networks would break the first.
  const claim = options.api && claimNetworks(ownNetworks(settings));
  const { userPlugins = [] } = options;
  const pluginSettings = { ...settingsByFlag(settings), ...(settings["plugin-settings"] as object | undefined) };
  const { runtime, name, networkDir, networkPrograms, importArchive } = await openRuntime(String(settings.runtime), {
    paths,
    log,
    clock,
    plugins: userPlugins,
    settings: pluginSettings,
  });
  const listName = `10-${paths.bridge}.conflist`;
  const podNetwork: { cidrs: readonly string[]; mtu: number } = { cidrs: [], mtu: commonMtu };
  const writeList = () => {
    const { cidrs: podCidrs, mtu } = podNetwork;
    if (podCidrs.length === 0) return;
    const isNew = writeNetworkList({
      dir: networkDir,
      podCidrs,
      clusterCidrs,
      bridge: paths.bridge,
      name: paths.bridge,
      leaseDir: join(paths.dataDir, "cni", "leases"),
      fileName: listName,
      ...(mtu === commonMtu ? {} : { mtu }),
      ...(networkPrograms ? { typePrefix: networkPrograms.typePrefix } : {}),
    });
    if (isNew) log.info({ podCidrs, mtu }, "this node's pod addresses are known");
  };
  const onNode = ({ spec }: Node) => {
    podNetwork.cidrs = spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : []);
    writeList();
  };
  const tellPodMtu = (mtu: number) => {
    podNetwork.mtu = mtu;
    writeList();
  };
  const { nodeName, clusterDns, clusterDomain } = config;
  const network = options.api
    ? networkPlugins({
        nodeName,
        clusterDns,
        clusterDomain,
        clusterCidrs,
        instance: paths.id,
        tellPodMtu,
        api: options.api,
        log,
        clock,
      })
    : [];
  const plugins = [...nodePlugins, ...network, ...pluginsFor("node", userPlugins)];
  const agent = await openAgent({
    config,
    runtime,
    ...(options.api ? { api: options.api } : {}),
    plugins,
    pluginSettings: settingsOf(plugins, pluginSettings),
    onNode,
    log,
    clock,
  });
  const { identity } = options;
  const stats = openNodeStats({
    agent,
    dataDir: config.dataDir,
    nodeIps: config.nodeIps,
    certificateEndsAt: () => {
      if (!identity || !options.api) return undefined;
      const { cert } = identity.serving(nodeName, servingNames(nodeName, nodeAddresses(config.nodeIps)));
      return parseCertificate(cert).notAfter;
    },
    renewals: () => identity?.renewals?.(),
    clock,
    log,
  });
  const servers = await openNodeServers({
    view: agent.view,
    meters: agent.meters,
    more: stats.routes,
    page: {
      folder: join(projectFolder, ".generated", "ui"),
      state: (container) => stats.page(container),
      ...(options.api?.fetchAs ? { fetchAs: options.api.fetchAs } : {}),
      port: Number(settings["ui-port"] ?? 0),
      tokenFile: join(config.dataDir, "agent", "ui-token"),
      dataDir: config.dataDir,
    },
    identity: options.identity,
    client: options.api && new ApiClient({ ...options.api, log, clock, userAgent: "skiff-agent" }),
    addresses: () => nodeAddresses(config.nodeIps),
    kubeletPort: config.kubeletPort,
    healthzPort: config.healthzPort,
    readOnlyPort: config.readOnlyPort,
    log,
    clock,
  });
  const stop = new AbortController();
  const images = new ImageFolder({
    folder: join(paths.dataDir, "images"),
    stateFile: join(paths.dataDir, "agent", "imported-images.json"),
    importArchive: async (path, call) => {
      const names = await importArchive(path, call);
      agent.imagesArrived();
      return names;
    },
    clock,
    log,
  });
  const graceSeconds = shutdownGroups(config).reduce((sum, { seconds }) => sum + seconds, 0);
  const shutdownMs = (graceSeconds + shutdownSlackSeconds) * 1000;
  const isTrial = settings["stop-pods-on-exit"] === true;
  const watchShutdown = async (call: Call) => {
    if (isTrial) return;
    const manager = systemdManager();
    const delay = { file: delayFile(paths.id), manager, clock };
    try {
      if (graceSeconds === 0) return await dropDelay(delay, call);
      const watch = new ShutdownWatch({
        open: (inner) => openLogind(clock, inner),
        raise: (logind, inner) => raiseDelay(logind, graceSeconds, delay, inner),
        graceMs: shutdownMs,
        shutDown: (inner) => agent.shutDown(inner),
        calledOff: () => agent.cancelShutdown(),
        clock,
        log,
      });
      await watch.run(call);
    } finally {
      manager.close();
    }
  };
  const working = Promise.all([
    images.run({ signal: stop.signal }),
    stats.run({ signal: stop.signal }),
    watchShutdown({ signal: stop.signal }),
  ]);
  const endOwnContainers = async (call: Call) => {
    const own = await ownSandboxes(runtime, { dataDir: paths.dataDir, runtimeName: name }, call);
    await endContainers(runtime, own, goingDownGraceSeconds, within((goingDownGraceSeconds + 10) * 1000, call));
  };
  return {
    agent,
    runtimeName: name,
    async close(call) {
      stop.abort();
      await working;
      await servers.close();
      const installed = agent.plugins.all(daemonKind);
      const isGoingDown = !isTrial && (await isMachineStopping(call));
      if (isTrial) await agent.stopPods(within(trialGraceMs, call));
      else if (graceSeconds > 0 && isGoingDown) await agent.shutDown(within(shutdownMs, call)).catch(() => {});
      await agent.close();
      // Left to itself, the machine would wait a minute and a half for them, and cut them off.
      if (isGoingDown) await endOwnContainers(call).catch(() => {});
      await runtime.close();
      await networkPrograms?.close(isTrial);
      if (isTrial) {
        removeNetworkList({ dir: networkDir, fileName: listName });
        await removeNetworkServices(installed, { name: paths.bridge, bridge: paths.bridge }, log, call);
      }
      if (isTrial) rmSync(paths.runDir, { recursive: true, force: true });
      claim?.release();
    },
  };
}
