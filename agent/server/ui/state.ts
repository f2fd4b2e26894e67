// What the page shows, as one document: the node, its pods and containers, and points to plot.

import { statfsSync } from "node:fs";
import { kubeletVersion } from "../../node/node-status.ts";
import type { HistoryPoint, History } from "../../stats/history.ts";
import type { Snapshot } from "../../stats/usage.ts";
import type { Container } from "../../../plugins/kit/kube/objects/types.ts";
import { pullOf } from "../../images/pull-news.ts";
import { containersOf } from "../../model/agent-pod.ts";
import type { LoggedEvent } from "../../pods/event-log.ts";
import type { LatestAnswer } from "../../probes/latest.ts";
import type { AgentView } from "../contract.ts";

export interface PageContainer {
  readonly name: string;
  readonly id: string;
  readonly role: string;
  readonly state: string;
  readonly reason: string;
  /** Of its last end, where it has ended. */
  readonly exitCode?: number;
  /** It failed, or cannot be started. */
  readonly isTroubled: boolean;
  readonly isReady: boolean;
  readonly restarts: number;
  readonly image: string;
  /** How far the pull of its image is, while it waits for it. */
  readonly pull?: { readonly bytes: number; readonly totalBytes: number };
  readonly milliCpu: number;
  readonly memory: number;
  readonly probes: readonly PageProbe[];
  /** Of the container that was asked for alone. */
  readonly points: readonly HistoryPoint[];
}

interface PageProbe {
  readonly type: string;
  /** Unknown until it has answered. */
  readonly answer: string;
  readonly output: string;
  readonly inARow: number;
  readonly at: number;
}

export interface PagePod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  readonly ip: string;
  readonly startedAt: string;
  readonly isReady: boolean;
  readonly reason: string;
  /** Newest first. */
  readonly events: readonly LoggedEvent[];
  readonly containers: readonly PageContainer[];
}

export interface PageState {
  /** The control plane is here and can be looked at. */
  readonly hasCluster?: boolean;
  readonly at: number;
  readonly node: {
    readonly name: string;
    readonly version: string;
    /** When the machine was started, by wall time in milliseconds. */
    readonly bootedAt: number;
    readonly cpus: number;
    readonly memoryTotal: number;
    /** Of the file system that everything lies on; absent where it cannot be asked. */
    readonly disk?: { readonly total: number; readonly free: number };
    readonly load: readonly number[];
    readonly temperatures: readonly { readonly zone: string; readonly celsius: number }[];
    readonly throttled: number;
    readonly trouble: string;
    readonly points: readonly HistoryPoint[];
  };
  readonly pods: readonly PagePod[];
}

export interface PageWish {
  readonly cpus: number;
  readonly bootedAt: number;
  readonly dataDir: string;
  /** Whose points are wanted. */
  readonly container?: { readonly uid: string; readonly name: string };
}

export function pageState(view: AgentView, snapshot: Snapshot, history: History, wish: PageWish): PageState {
  const { node } = snapshot;
  const isWanted = (uid: string, name: string) => wish.container?.uid === uid && wish.container.name === name;
  const usage = new Map(
    snapshot.pods.flatMap(({ containers }) => containers.map((one) => [one.container.id, one] as const)),
  );
  const pulls = view.runtime.pulls?.() ?? [];
  const observed = new Map(view.observed().map((pod) => [pod.uid, pod]));
  const pods = view.pods().map((pod): PagePod => {
    const seen = observed.get(pod.metadata.uid);
    const answers = view.probes(pod.metadata.uid);
    const { status } = pod;
    const statuses = [
      ...(status?.initContainerStatuses ?? []),
      ...(status?.containerStatuses ?? []),
      ...(status?.ephemeralContainerStatuses ?? []),
    ];
    const containers = [...containersOf(pod)].map(({ container, role }): PageContainer => {
      const newest = seen?.containers.find(({ name }) => name === container.name);
      const told = statuses.find(({ name }) => name === container.name);
      const used = newest && usage.get(newest.id);
      const { waiting, terminated } = told?.state ?? {};
      const ended = terminated ?? told?.lastState?.terminated;
      const pull = waiting && pullOf(pulls, container.image ?? "");
      return {
        name: container.name,
        id: newest?.id ?? "",
        role,
        state: waiting ? "waiting" : (newest?.state ?? "waiting"),
        reason: waiting?.reason ?? terminated?.reason ?? "",
        ...(ended ? { exitCode: ended.exitCode } : {}),
        isTroubled: waiting
          ? !startReasons.has(waiting.reason ?? "")
          : terminated !== undefined && terminated.exitCode !== 0,
        isReady: told?.ready ?? false,
        restarts: told?.restartCount ?? 0,
        image: container.image ?? "",
        ...(pull ? { pull: { bytes: pull.bytes, totalBytes: pull.totalBytes } } : {}),
        milliCpu: (used?.nanoCores ?? 0) / 1e6,
        memory: used?.sample.memory?.workingSetBytes ?? 0,
        probes: probesOf(container, answers),
        points: newest && isWanted(pod.metadata.uid, container.name) ? history.container(newest.id) : [],
      };
    });
    const { namespace, name, uid } = pod.metadata;
    return {
      namespace,
      name,
      uid,
      phase: status?.phase ?? "Pending",
      ip: status?.podIP ?? "",
      startedAt: String(status?.startTime ?? ""),
      isReady: status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false,
      reason: status?.reason ?? "",
      events: view.events(uid).toReversed(),
      containers,
    };
  });
  return {
    at: snapshot.at,
    node: {
      name: view.nodeName,
      version: kubeletVersion,
      bootedAt: wish.bootedAt,
      cpus: wish.cpus,
      ...diskOf(wish.dataDir),
      memoryTotal: node.memory.totalBytes,
      load: node.load,
      temperatures: node.board.temperatures,
      throttled: node.board.throttled ?? 0,
      trouble: view.unhealthy() ?? "",
      points: history.node(),
    },
    pods,
  };
}

/** What every container waits for at first. */
const startReasons: ReadonlySet<string> = new Set(["", "ContainerCreating", "PodInitializing"]);

function diskOf(path: string): Pick<PageState["node"], "disk"> {
  try {
    const { bsize, blocks, bavail } = statfsSync(path);
    return { disk: { total: blocks * bsize, free: bavail * bsize } };
  } catch {
    // The page is of use without it.
    return {};
  }
}

/** Those of the spec, in the order in which they matter; one that has not answered yet is shown as waiting. */
function probesOf(container: Container, answers: readonly LatestAnswer[]): PageProbe[] {
  const specified = {
    startup: container.startupProbe,
    liveness: container.livenessProbe,
    readiness: container.readinessProbe,
  };
  return Object.entries(specified).flatMap(([type, probe]) => {
    if (!probe) return [];
    const told = answers.find((one) => one.container === container.name && one.type === type);
    const { answer = "waiting", output = "", inARow = 0, at = 0 } = told ?? {};
    return [{ type, answer, output, inARow, at }];
  });
}
