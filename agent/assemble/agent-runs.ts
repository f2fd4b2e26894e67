// Starts the agent's parts and keeps them running until it is stopped.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { daemonKind } from "../../plugins/kit/contracts/daemon.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Node } from "../../plugins/kit/kube/objects/types.ts";
import { watchClock } from "../node/clock-watch.ts";
import { NodeLease } from "../node/lease.ts";
import { watchOom } from "../node/oom-watch.ts";
import { keepRunning } from "../node/daemons.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { nodeSubject } from "../model/recorder.ts";
import { removeLeftovers } from "../pods/leftovers.ts";
import { watchApi } from "../sources/api-pods.ts";
import { referencedBy, slim } from "../sources/checkpoint.ts";
import { ManifestFolder } from "../sources/manifest-folder.ts";
import { ManifestUrl } from "../sources/manifest-url.ts";
import { PodSources, type SourceName } from "../sources/pod-sources.ts";
import { LocalPathVolumes } from "../volumes/local-path.ts";
import type { AgentBase } from "./agent-base.ts";
import type { AgentParts } from "./agent-parts.ts";

/** Pods of the API wait this long for the services that their environment names. */
const servicesWithinMs = 3_000;

/** How soon what pods left behind is tried again where it could not be removed. */
const leftoversAgainMs = 15_000;

type Start = (what: string, work: Promise<unknown>) => void;

/** Starts every part; what is given back ends when all of them have, which is after `base.stop`. */
export function runParts(base: AgentBase, parts: AgentParts, onNode?: (node: Node) => void): () => Promise<void> {
  const { config, clock, log, client, dirs } = base;
  const { pleg, workers, volumes, nodeResources, nodes, statuses, mirrors, sockets, drivers, plugins, services } =
    parts;
  const call: Call = base.stop;
  const sourceNames: SourceName[] = [
    ...(client ? (["api"] as const) : []),
    ...(config.manifestDir ? (["file"] as const) : []),
    ...(config.manifestUrl ? (["http"] as const) : []),
  ];
  const cleanUp = async () => {
    await pleg.listed;
    if (call.signal.aborted) return;
    workers.cleanOrphans();
    // A storage driver that is not up yet keeps its volumes until it is.
    while (!(await removeLeftovers(dirs, workers, volumes, nodeResources, log, call)))
      await clock.sleep(leftoversAgainMs, call);
  };
  // What it could not remove is found again by the next start.
  const cleanUpOnce = () =>
    cleanUp().catch((error: unknown) => {
      if (!call.signal.aborted) log.error({ err: error }, "cannot clean up what pods of before have left");
    });
  const running: Promise<unknown>[] = [];
  // Handled by nobody on purpose: without one of its parts a node only seems to work, so the process ends and is started anew.
  const start = (what: string, work: Promise<unknown>) => {
    running.push(
      work.catch((error: unknown) => {
        if (!call.signal.aborted)
          throw new Fault("internal", `The agent's part "${what}" ended: ${(error as Error).message}`, {
            cause: error,
          });
      }),
    );
  };
  const sources = new PodSources({
    sink: workers,
    sources: sourceNames,
    onStatics: (pods) => mirrors?.setStatics(pods),
    onAllTold: () => {
      mirrors?.allTold();
      start("clean-up", cleanUpOnce());
    },
  });
  if (sourceNames.length === 0) start("clean-up", cleanUpOnce());

  const node = nodeSubject(config.nodeName);
  base.recorder.event(node, "Normal", "Starting", "Starting kubelet.");
  runManifests(base, sources, start);
  start("pleg", pleg.run(call));
  start("statuses", statuses.run(call));
  start("node", nodes.run(call));
  start("clock", watchClock({ clock, laterThan: base.laterThan, log, onSet: () => nodes.wake() }, call));
  start("memory", watchOom({ clock, recorder: base.recorder, node, log }, call));
  start("volumes", volumes.run(call));
  start("resources", nodeResources.run(call));
  start("plugin sockets", sockets.run(call));
  start("storage drivers", drivers.run(call));
  if (client) runApi(base, parts, client, sources, onNode, start);
  runCheckpoint(base, parts, sources, start);
  for (const daemon of plugins.all(daemonKind)) start(daemon.name, keepRunning(daemon, clock, log, call));
  const servicesKnown = services
    ? Promise.race([services.synced, clock.sleep(servicesWithinMs, call).catch(() => {})])
    : undefined;
  start(
    "pods",
    Promise.resolve(servicesKnown).then(() => workers.run(call)),
  );
  return async () => {
    // One part may start another on its way out.
    for (let settled = 0; settled < running.length; ) {
      settled = running.length;
      await Promise.allSettled(running);
    }
  };
}

/** Static pods from a folder and from a URL. */
function runManifests(
  { config, recorder, clock, log, stop, checkpoint, remembered }: AgentBase,
  sources: PodSources,
  start: Start,
): void {
  const trouble = (message: string) => {
    log.error({}, message);
    recorder.event(nodeSubject(config.nodeName), "Warning", "InvalidManifest", message);
  };
  const manifest = { nodeName: config.nodeName, clock, log, onTrouble: trouble };
  if (config.manifestDir) {
    const onPods = (pods: readonly AgentPod[]) => sources.set("file", pods);
    start("manifest folder", new ManifestFolder({ ...manifest, dir: config.manifestDir, onPods }).run(stop));
  }
  if (config.manifestUrl) {
    const url = config.manifestUrl;
    const onPods = (pods: readonly AgentPod[]) => {
      sources.set("http", pods);
      checkpoint.touch();
    };
    const before = remembered.manifest?.url === url ? remembered.manifest.pods : [];
    const get = (from: string, init: RequestInit) => fetch(from, init);
    start("manifest URL", new ManifestUrl({ ...manifest, url, fetch: get, onPods, remembered: before }).run(stop));
  }
}

/** What a node of a cluster does besides: it follows its pods, says that it lives, and remembers. */
function runApi(
  base: AgentBase,
  parts: AgentParts,
  client: ApiClient,
  sources: PodSources,
  onNode: ((node: Node) => void) | undefined,
  start: Start,
): void {
  const { config, clock, log, dirs, remembered, checkpoint } = base;
  const { nodes, statuses, mirrors, services, drivers } = parts;
  const call: Call = base.stop;
  const localPaths = new LocalPathVolumes({ root: dirs.localPath, client, nodeName: config.nodeName, log });
  const followed = {
    client,
    clock,
    log,
    nodeName: config.nodeName,
    sources,
    statuses,
    mirrors,
    onNode: (node: Node) => {
      nodes.seen(node);
      drivers.seen(node);
      void localPaths.seen(node, call);
      onNode?.(node);
    },
    onNodeDeleted: (node: Node) => nodes.deleted(node),
    remembered: remembered.pods,
    checkpoint,
  };
  start("API source", watchApi(followed, call));
  start("lease", new NodeLease({ client, nodeName: config.nodeName, node: () => nodes.node(), clock, log }).run(call));
  if (mirrors) start("mirrors", mirrors.run(call));
  services?.onEvent(() => checkpoint.touch());
  if (services) start("services", services.run(call));
}

/** What it needs to run the same pods after a boot with nobody in reach. A manifest folder is there then, too. */
function runCheckpoint(
  { config, checkpoint, stop }: AgentBase,
  parts: AgentParts,
  sources: PodSources,
  start: Start,
): void {
  const { objects } = parts;
  const url = config.manifestUrl;
  const collect = () => {
    const pods = sources.from("api");
    const needed = referencedBy([...pods, ...sources.statics()], objects.kept());
    objects.retain(needed);
    const manifest = url ? { manifest: { url, pods: sources.from("http") } } : {};
    return { pods: pods.map(slim), objects: [...needed], ...manifest };
  };
  start("checkpoint", checkpoint.run(collect, stop));
}
