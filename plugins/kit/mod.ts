// The front door: all that the author of a plugin imports, and nothing in the program itself does. A plugin that lies outside a checkout
// takes types from here (`import type`), which leave nothing behind at run time.

export type { AnyPlugin, Host, Kind, Plugin } from "./base/plugin.ts";
export { type Call, untilStopped, within } from "./base/call.ts";
export type { Clock } from "./base/clock.ts";
export { Fault, type FaultCode, isFault, toFault } from "./base/fault.ts";
export type { Log } from "./base/log.ts";
export * as settings from "./base/config-check.ts";

export { type AdmissionPlugin, type AdmissionRequest, admissionKind, refuse } from "./contracts/admission.ts";
export { type Daemon, daemonKind } from "./contracts/daemon.ts";
export { hookKind, type PodHook, type StartedContainer } from "./contracts/hook.ts";
export { type ContainerExec, containerExecKind, type ExecAnswer } from "./contracts/container-exec.ts";
export { type NodeContext, nodeContextKind } from "./contracts/node-context.ts";
export { type PodObjects, podObjectsKind } from "./contracts/pod-objects.ts";
export { type ProbePlugin, type ProbeReport, type ProbeRequest, probeKind } from "./contracts/probe.ts";
export {
  type ClusterView as SchedulingView,
  type FilterPlugin,
  type FilterResult,
  filterKind,
  type NodeView,
  type PlacementPlugin,
  placementKind,
  type QueueSortPlugin,
  queueSortKind,
  Rejection,
  type ScorePlugin,
  scoreKind,
  skip,
} from "./contracts/scheduling.ts";
export { type CgroupSample, type StatsSource, statsKind } from "./contracts/stats-source.ts";
export {
  type DeleteResult,
  type Expectation,
  type PutResult,
  type Store,
  type StoreEntry,
  type StoreEvent,
  storeKind,
} from "./contracts/store.ts";
export { type VolumeMountRequest, type VolumePlugin, type VolumeUsage, volumeKind } from "./contracts/volume.ts";

export { type ClusterView, clusterViewKind } from "./kube/cluster-view.ts";
export type { KubeObject, Node, Pod, Volume } from "./kube/objects/types.ts";
export { formatQuantity, parseQuantity, type Quantity, quantityValue } from "./kube/quantity.ts";
export type { UserInfo } from "./kube/user-info.ts";
