// The contract of a container runtime: CRI v1's two services as async methods, one per RPC, with generated messages.
// Make requests with the message's `create({...})`, which fills in what is left out. Errors are Faults.
// Two kinds of RPC belong to the wire and are known to `cri/remote` and `cri/serve` only: Exec, Attach and PortForward,
// which hand out URLs (here: `sessions`), and Stream…, which are lists cut in pieces.

import type { Call } from "../../plugins/kit/base/call.ts";
import { kind, type Kind } from "../../plugins/kit/base/plugin.ts";
import type {
  CheckpointContainerRequest,
  CheckpointContainerResponse,
  ContainerEventResponse,
  ContainerStatsRequest,
  ContainerStatsResponse,
  ContainerStatusRequest,
  ContainerStatusResponse,
  CreateContainerRequest,
  CreateContainerResponse,
  ExecSyncRequest,
  ExecSyncResponse,
  GetEventsRequest,
  ImageFsInfoRequest,
  ImageFsInfoResponse,
  ImageStatusRequest,
  ImageStatusResponse,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  ListContainersRequest,
  ListContainersResponse,
  ListImagesRequest,
  ListImagesResponse,
  ListMetricDescriptorsRequest,
  ListMetricDescriptorsResponse,
  ListPodSandboxMetricsRequest,
  ListPodSandboxMetricsResponse,
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  PodSandboxStatsRequest,
  PodSandboxStatsResponse,
  PodSandboxStatusRequest,
  PodSandboxStatusResponse,
  PullImageRequest,
  PullImageResponse,
  RemoveContainerRequest,
  RemoveContainerResponse,
  RemoveImageRequest,
  RemoveImageResponse,
  RemovePodSandboxRequest,
  RemovePodSandboxResponse,
  ReopenContainerLogRequest,
  ReopenContainerLogResponse,
  RunPodSandboxRequest,
  RunPodSandboxResponse,
  RuntimeConfigRequest,
  RuntimeConfigResponse,
  StartContainerRequest,
  StartContainerResponse,
  StatusRequest,
  StatusResponse,
  StopContainerRequest,
  StopContainerResponse,
  StopPodSandboxRequest,
  StopPodSandboxResponse,
  UpdateContainerResourcesRequest,
  UpdateContainerResourcesResponse,
  UpdatePodSandboxResourcesRequest,
  UpdatePodSandboxResourcesResponse,
  UpdateRuntimeConfigRequest,
  UpdateRuntimeConfigResponse,
  VersionRequest,
  VersionResponse,
} from "./gen/runtime.js";
import type { PullProgress } from "./pull-board.ts";
import type { Sessions } from "./sessions.ts";

export interface RuntimeService {
  version(request: VersionRequest, call: Call): Promise<VersionResponse>;
  /** Conditions `RuntimeReady` and `NetworkReady` are always there. */
  status(request: StatusRequest, call: Call): Promise<StatusResponse>;
  runtimeConfig(request: RuntimeConfigRequest, call: Call): Promise<RuntimeConfigResponse>;
  /** Tells the pod CIDR to runtimes that make their own network configuration. */
  updateRuntimeConfig(request: UpdateRuntimeConfigRequest, call: Call): Promise<UpdateRuntimeConfigResponse>;
  /** Networked and ready when it resolves; what failed half-way is taken down again. */
  runPodSandbox(request: RunPodSandboxRequest, call: Call): Promise<RunPodSandboxResponse>;
  /** Kills what runs in it and frees its addresses. Idempotent: an unknown sandbox is stopped already. */
  stopPodSandbox(request: StopPodSandboxRequest, call: Call): Promise<StopPodSandboxResponse>;
  /** Removes its containers too, by force. Idempotent. */
  removePodSandbox(request: RemovePodSandboxRequest, call: Call): Promise<RemovePodSandboxResponse>;
  podSandboxStatus(request: PodSandboxStatusRequest, call: Call): Promise<PodSandboxStatusResponse>;
  listPodSandbox(request: ListPodSandboxRequest, call: Call): Promise<ListPodSandboxResponse>;
  updatePodSandboxResources(
    request: UpdatePodSandboxResourcesRequest,
    call: Call,
  ): Promise<UpdatePodSandboxResourcesResponse>;
  createContainer(request: CreateContainerRequest, call: Call): Promise<CreateContainerResponse>;
  startContainer(request: StartContainerRequest, call: Call): Promise<StartContainerResponse>;
  /** Idempotent. Resolves when the container has exited. */
  stopContainer(request: StopContainerRequest, call: Call): Promise<StopContainerResponse>;
  /** By force when it runs. Idempotent. Leaves the log file to the caller. */
  removeContainer(request: RemoveContainerRequest, call: Call): Promise<RemoveContainerResponse>;
  listContainers(request: ListContainersRequest, call: Call): Promise<ListContainersResponse>;
  containerStatus(request: ContainerStatusRequest, call: Call): Promise<ContainerStatusResponse>;
  updateContainerResources(
    request: UpdateContainerResourcesRequest,
    call: Call,
  ): Promise<UpdateContainerResourcesResponse>;
  /** Called after the log file was moved away. */
  reopenContainerLog(request: ReopenContainerLogRequest, call: Call): Promise<ReopenContainerLogResponse>;
  checkpointContainer(request: CheckpointContainerRequest, call: Call): Promise<CheckpointContainerResponse>;
  /** A command that outlives `timeout` is killed, and the call fails with `timeout`. Output is bounded at 16 MiB. */
  execSync(request: ExecSyncRequest, call: Call): Promise<ExecSyncResponse>;
  containerStats(request: ContainerStatsRequest, call: Call): Promise<ContainerStatsResponse>;
  listContainerStats(request: ListContainerStatsRequest, call: Call): Promise<ListContainerStatsResponse>;
  podSandboxStats(request: PodSandboxStatsRequest, call: Call): Promise<PodSandboxStatsResponse>;
  listPodSandboxStats(request: ListPodSandboxStatsRequest, call: Call): Promise<ListPodSandboxStatsResponse>;
  listMetricDescriptors(request: ListMetricDescriptorsRequest, call: Call): Promise<ListMetricDescriptorsResponse>;
  listPodSandboxMetrics(request: ListPodSandboxMetricsRequest, call: Call): Promise<ListPodSandboxMetricsResponse>;
  /**
   * Every life-cycle step from the call on, until stopped. Ends with a Fault `unavailable` when the runtime is lost
   * and `unsupported` where there are none. Steps may be missed around a reconnect: a relist finds them.
   */
  getContainerEvents(request: GetEventsRequest, call: Call): AsyncIterable<ContainerEventResponse>;
}

export interface ImageService {
  listImages(request: ListImagesRequest, call: Call): Promise<ListImagesResponse>;
  /** Without `image` when it is not present: that is no fault. */
  imageStatus(request: ImageStatusRequest, call: Call): Promise<ImageStatusResponse>;
  pullImage(request: PullImageRequest, call: Call): Promise<PullImageResponse>;
  /** Idempotent. */
  removeImage(request: RemoveImageRequest, call: Call): Promise<RemoveImageResponse>;
  imageFsInfo(request: ImageFsInfoRequest, call: Call): Promise<ImageFsInfoResponse>;
}

export interface Runtime {
  readonly runtime: RuntimeService;
  readonly image: ImageService;
  readonly sessions: Sessions;
  /** The pulls that are under way, from memory; absent where the runtime does not tell how far it is. */
  readonly pulls?: () => readonly PullProgress[];
  /** Lets go of connections and timers; leaves every container as it is. May be called twice. */
  close(): Promise<void>;
}

/** The socket that runtimes are plugged into. */
export const runtimeKind: Kind<Runtime> = kind<Runtime>("runtime");
