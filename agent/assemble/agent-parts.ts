// The agent's parts, made and joined; nothing runs yet.

import type { Runtime } from "../../cri/api/contract.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import { type ContainerExec, containerExecKind } from "../../plugins/kit/contracts/container-exec.ts";
import { hookKind } from "../../plugins/kit/contracts/hook.ts";
import { WatchingInformer } from "../../plugins/kit/kube/informer.ts";
import { nodeDriversKind } from "../../plugins/kit/contracts/node-drivers.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Service } from "../../plugins/kit/kube/objects/types.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { pluginSocketsKind } from "../../plugins/kit/contracts/plugin-sockets.ts";
import { podObjectsKind } from "../../plugins/kit/contracts/pod-objects.ts";
import { probeKind } from "../../plugins/kit/contracts/probe.ts";
import { openPlugins } from "../../plugins/kit/base/registry.ts";
import { volumeKind } from "../../plugins/kit/contracts/volume.ts";
import { credentialProviders } from "../images/credential-provider.ts";
import { ImageManager } from "../images/image-manager.ts";
import { hasDefaultRoute } from "../../plugins/kit/os/net/own-addresses.ts";
import { CsiNodeWriter } from "../node/csi-node.ts";
import { nodeFacts } from "../node/facts.ts";
import { NodeManager } from "../node/node-manager.ts";
import { SocketFolder } from "../plugin-sockets/plugin-sockets.ts";
import { Pleg } from "../pleg/pleg.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { PodDeps } from "../pods/deps.ts";
import { PodWorkers } from "../pods/pod-workers.ts";
import { measuredResources, measuredVolumes } from "./measured.ts";
import { ProbeManager } from "../probes/probe-manager.ts";
import { Prober } from "../probes/prober.ts";
import { canMapOwners, UserNamespaces } from "../resources/user-namespaces.ts";
import { openResources } from "../resources/node-resources.ts";
import { MirrorPods } from "../sources/mirror-pods.ts";
import { NodeObjects } from "../sources/node-objects.ts";
import { StatusManager } from "../status/manager.ts";
import { VolumeGrowth } from "../volumes/growth.ts";
import { openVolumeManager } from "../volumes/manager.ts";
import type { AgentOptions } from "./agent.ts";
import { pullSecrets } from "../images/pull-secrets.ts";
import { runtimeHandlerOf } from "../pods/runtime-handler.ts";
import type { AgentBase } from "./agent-base.ts";

export type AgentParts = Awaited<ReturnType<typeof openParts>>;

/** Parts know of each other only by the questions that they ask; those asked of a part that is made later come when all are there. */
export async function openParts(base: AgentBase, options: AgentOptions) {
  const { config, log, clock, meters, runtime, dirs, machine, addresses, client, recorder, checkpoint, remembered } =
    base;
  const call: Call = base.stop;
  const services = client && new WatchingInformer<Service>({ client, ref: resources.services, clock, log });
  const objects = new NodeObjects({
    client,
    services: () => services,
    node: () => nodes.node(),
    onKept: () => checkpoint.touch(),
  });
  objects.restore(remembered.objects);

  const sockets = new SocketFolder({ dir: config.pluginRegistryDir, clock, log });
  const drivers = new CsiNodeWriter({ nodeName: config.nodeName, client, node: () => nodes.node(), clock, log });
  const own: AnyPlugin[] = [
    { kind: podObjectsKind, name: "agent", open: () => objects },
    { kind: pluginSocketsKind, name: "agent", open: () => sockets },
    { kind: nodeDriversKind, name: "agent", open: () => drivers },
    { kind: containerExecKind, name: "agent", open: () => containerExec(runtime) },
  ];
  const plugins = await openPlugins(
    {
      plugins: [...own, ...options.plugins],
      ...(options.pluginSettings ? { settings: options.pluginSettings } : {}),
      log,
      clock,
      stateDir: dirs.plugins,
    },
    call,
  );
  const volumePlugins = plugins.all(volumeKind).map((plugin) => measuredVolumes(plugin, meters, clock));
  const users = new UserNamespaces(dirs.pods, canMapOwners(machine.kernelVersion));
  const rootOf = (pod: AgentPod) => {
    const range = users.of(pod);
    return range?.isMapped ? undefined : range?.hostId;
  };
  const onInUse = () => nodes.wake();
  const root = config.dataDir;
  const growth = new VolumeGrowth({ objects, client, recorder, clock });
  const volumes = openVolumeManager({ root, plugins: volumePlugins, objects, rootOf, onInUse, growth, clock, log });
  const nodeResources = await openResources({
    config,
    machine,
    runtime,
    dirs,
    recorder,
    clock,
    log,
    volumes,
    allocatable: () => nodes.allocatable(),
    sockets,
    users,
    labels: () => nodes.node()?.metadata.labels ?? { "kubernetes.io/hostname": config.nodeName, ...config.nodeLabels },
    taints: () => nodes.node()?.spec?.taints ?? [],
    observed: () => pleg.all(),
    listed: () => pleg.listed,
    pods: () => workers.list(),
    end: (uid, verdict, graceSeconds) => workers.end(uid, verdict, graceSeconds),
    isReleased: (uid) => workers.get(uid)?.isReleased ?? true,
    onNews: () => nodes.wake(),
    onOrphansKilled: (processes) => meters.orphanedProcesses.add({}, processes),
    onEvicted: (signal) => meters.evictions.add({ eviction_signal: signal }),
  });
  const nodes = new NodeManager({
    client,
    runtime,
    machine,
    nodeName: config.nodeName,
    register: config.registerNode,
    labels: config.nodeLabels,
    taints: config.nodeTaints,
    addresses,
    hasDefaultRoute,
    storageDir: config.dataDir,
    maxPods: config.maxPods,
    reserved: [config.systemReserved, config.kubeReserved],
    thresholds: config.eviction.thresholds,
    extended: () => nodeResources.extended(),
    pressure: () => nodeResources.pressure(),
    troubles: () => [...nodeResources.troubles(), ...[pleg.trouble()].filter((trouble) => trouble !== undefined)],
    volumesInUse: () => volumes.inUse(),
    port: config.kubeletPort,
    recorder,
    clock,
    log,
  });

  const { credentialProviderConfig: configPath, credentialProviderDir: binDir } = config;
  const providers = configPath && binDir ? await credentialProviders({ configPath, binDir, clock, log }) : [];
  const wake = (uid: string) => workers.wake(uid);
  const pleg = new Pleg({ runtime, podsDir: dirs.pods, clock, log, meters, onChange: wake });
  const mirrors = client && new MirrorPods({ client, clock, log, node: () => nodes.node() });
  const mirrorOf = (pod: AgentPod) => mirrors?.mirrorOf(pod);
  const statuses = new StatusManager({ client, clock, log, mirrorOf });
  const deps: PodDeps = {
    runtime,
    meters,
    runtimeName: await runtimeNameOf(runtime, call),
    pleg,
    images: new ImageManager({
      image: runtime.image,
      clock,
      recorder,
      pullSecrets: (pod, inner) => pullSecrets(objects, recorder, pod, inner),
      sources: [...(options.credentialSources ?? []), ...providers],
      parallelPulls: config.parallelPulls,
      pulls: () => runtime.pulls?.() ?? [],
      log,
    }),
    volumes,
    probes: new ProbeManager({
      clock,
      prober: new Prober(plugins.all(probeKind)),
      recorder,
      observe: (uid) => pleg.peek(uid),
      hostIp: () => addresses()[0] ?? "127.0.0.1",
      onChange: wake,
    }),
    statuses,
    objects,
    runtimeHandler: (pod, inner) => runtimeHandlerOf(pod, objects, runtime, inner),
    hooks: plugins.all(hookKind),
    resources: measuredResources(nodeResources, meters, clock),
    node: nodeFacts(config, machine, dirs, nodes, addresses, {
      cgroupParent: (pod) => nodeResources.cgroupParent(pod),
      usersOf: (pod) => users.of(pod),
    }),
    recorder,
    clock,
    log,
  };
  const workers = new PodWorkers(deps);
  return {
    services,
    objects,
    sockets,
    drivers,
    plugins,
    volumes,
    nodeResources,
    nodes,
    pleg,
    mirrors,
    mirrorOf,
    statuses,
    deps,
    workers,
  };
}

function containerExec({ runtime }: Runtime): ContainerExec {
  return {
    exec: (containerId, command, timeoutSeconds, call) =>
      runtime.execSync({ containerId, cmd: [...command], timeout: BigInt(timeoutSeconds) }, call),
  };
}

/** The prefix of container ids; a runtime that is not up yet is asked again until it is. */
async function runtimeNameOf(runtime: Runtime, call: Call): Promise<string> {
  try {
    return (await runtime.runtime.version({ version: "" }, within(5_000, call))).runtimeName;
  } catch {
    // The name is cosmetic until containers exist, and those need the runtime.
    return "containerd";
  }
}
