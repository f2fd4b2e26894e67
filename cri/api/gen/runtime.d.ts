import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
export declare const protobufPackage = "runtime.v1";
export declare const protobufFileName = "runtime.proto";
/**
 * The Container Runtime Interface, v1, as Skiff speaks it: every RPC and field, with the published numbers
 * (the level of CRI 0.36). Ordered by noun: the services first, then what is shared, sandboxes, containers,
 * sessions, images, stats, metrics, the runtime itself. 64-bit integers are `bigint` in the generated code.
 */
export declare const NamespaceMode: {
    /** POD - shared by all containers of the sandbox */
    readonly POD: 0;
    /** CONTAINER - its own */
    readonly CONTAINER: 1;
    /** NODE - the host's */
    readonly NODE: 2;
    /** TARGET - that of the container target_id, for debugging */
    readonly TARGET: 3;
};
export type NamespaceMode = typeof NamespaceMode[keyof typeof NamespaceMode];
export declare namespace NamespaceMode {
    type POD = typeof NamespaceMode.POD;
    type CONTAINER = typeof NamespaceMode.CONTAINER;
    type NODE = typeof NamespaceMode.NODE;
    type TARGET = typeof NamespaceMode.TARGET;
}
/** What becomes of the groups that the image's /etc/group gives the user. */
export declare const SupplementalGroupsPolicy: {
    readonly Merge: 0;
    readonly Strict: 1;
};
export type SupplementalGroupsPolicy = typeof SupplementalGroupsPolicy[keyof typeof SupplementalGroupsPolicy];
export declare namespace SupplementalGroupsPolicy {
    type Merge = typeof SupplementalGroupsPolicy.Merge;
    type Strict = typeof SupplementalGroupsPolicy.Strict;
}
export declare const Protocol: {
    readonly TCP: 0;
    readonly UDP: 1;
    readonly SCTP: 2;
};
export type Protocol = typeof Protocol[keyof typeof Protocol];
export declare namespace Protocol {
    type TCP = typeof Protocol.TCP;
    type UDP = typeof Protocol.UDP;
    type SCTP = typeof Protocol.SCTP;
}
export declare const PodSandboxState: {
    readonly SANDBOX_READY: 0;
    readonly SANDBOX_NOTREADY: 1;
};
export type PodSandboxState = typeof PodSandboxState[keyof typeof PodSandboxState];
export declare namespace PodSandboxState {
    type SANDBOX_READY = typeof PodSandboxState.SANDBOX_READY;
    type SANDBOX_NOTREADY = typeof PodSandboxState.SANDBOX_NOTREADY;
}
export declare const MountPropagation: {
    readonly PROPAGATION_PRIVATE: 0;
    readonly PROPAGATION_HOST_TO_CONTAINER: 1;
    readonly PROPAGATION_BIDIRECTIONAL: 2;
};
export type MountPropagation = typeof MountPropagation[keyof typeof MountPropagation];
export declare namespace MountPropagation {
    type PROPAGATION_PRIVATE = typeof MountPropagation.PROPAGATION_PRIVATE;
    type PROPAGATION_HOST_TO_CONTAINER = typeof MountPropagation.PROPAGATION_HOST_TO_CONTAINER;
    type PROPAGATION_BIDIRECTIONAL = typeof MountPropagation.PROPAGATION_BIDIRECTIONAL;
}
/** CRI's own numbering, in the order of the names; not the kernel's. */
export declare const Signal: {
    readonly RUNTIME_DEFAULT: 0;
    readonly SIGABRT: 1;
    readonly SIGALRM: 2;
    readonly SIGBUS: 3;
    readonly SIGCHLD: 4;
    readonly SIGCLD: 5;
    readonly SIGCONT: 6;
    readonly SIGFPE: 7;
    readonly SIGHUP: 8;
    readonly SIGILL: 9;
    readonly SIGINT: 10;
    readonly SIGIO: 11;
    readonly SIGIOT: 12;
    readonly SIGKILL: 13;
    readonly SIGPIPE: 14;
    readonly SIGPOLL: 15;
    readonly SIGPROF: 16;
    readonly SIGPWR: 17;
    readonly SIGQUIT: 18;
    readonly SIGSEGV: 19;
    readonly SIGSTKFLT: 20;
    readonly SIGSTOP: 21;
    readonly SIGSYS: 22;
    readonly SIGTERM: 23;
    readonly SIGTRAP: 24;
    readonly SIGTSTP: 25;
    readonly SIGTTIN: 26;
    readonly SIGTTOU: 27;
    readonly SIGURG: 28;
    readonly SIGUSR1: 29;
    readonly SIGUSR2: 30;
    readonly SIGVTALRM: 31;
    readonly SIGWINCH: 32;
    readonly SIGXCPU: 33;
    readonly SIGXFSZ: 34;
    readonly SIGRTMIN: 35;
    readonly SIGRTMINPLUS1: 36;
    readonly SIGRTMINPLUS2: 37;
    readonly SIGRTMINPLUS3: 38;
    readonly SIGRTMINPLUS4: 39;
    readonly SIGRTMINPLUS5: 40;
    readonly SIGRTMINPLUS6: 41;
    readonly SIGRTMINPLUS7: 42;
    readonly SIGRTMINPLUS8: 43;
    readonly SIGRTMINPLUS9: 44;
    readonly SIGRTMINPLUS10: 45;
    readonly SIGRTMINPLUS11: 46;
    readonly SIGRTMINPLUS12: 47;
    readonly SIGRTMINPLUS13: 48;
    readonly SIGRTMINPLUS14: 49;
    readonly SIGRTMINPLUS15: 50;
    readonly SIGRTMAXMINUS14: 51;
    readonly SIGRTMAXMINUS13: 52;
    readonly SIGRTMAXMINUS12: 53;
    readonly SIGRTMAXMINUS11: 54;
    readonly SIGRTMAXMINUS10: 55;
    readonly SIGRTMAXMINUS9: 56;
    readonly SIGRTMAXMINUS8: 57;
    readonly SIGRTMAXMINUS7: 58;
    readonly SIGRTMAXMINUS6: 59;
    readonly SIGRTMAXMINUS5: 60;
    readonly SIGRTMAXMINUS4: 61;
    readonly SIGRTMAXMINUS3: 62;
    readonly SIGRTMAXMINUS2: 63;
    readonly SIGRTMAXMINUS1: 64;
    readonly SIGRTMAX: 65;
};
export type Signal = typeof Signal[keyof typeof Signal];
export declare namespace Signal {
    type RUNTIME_DEFAULT = typeof Signal.RUNTIME_DEFAULT;
    type SIGABRT = typeof Signal.SIGABRT;
    type SIGALRM = typeof Signal.SIGALRM;
    type SIGBUS = typeof Signal.SIGBUS;
    type SIGCHLD = typeof Signal.SIGCHLD;
    type SIGCLD = typeof Signal.SIGCLD;
    type SIGCONT = typeof Signal.SIGCONT;
    type SIGFPE = typeof Signal.SIGFPE;
    type SIGHUP = typeof Signal.SIGHUP;
    type SIGILL = typeof Signal.SIGILL;
    type SIGINT = typeof Signal.SIGINT;
    type SIGIO = typeof Signal.SIGIO;
    type SIGIOT = typeof Signal.SIGIOT;
    type SIGKILL = typeof Signal.SIGKILL;
    type SIGPIPE = typeof Signal.SIGPIPE;
    type SIGPOLL = typeof Signal.SIGPOLL;
    type SIGPROF = typeof Signal.SIGPROF;
    type SIGPWR = typeof Signal.SIGPWR;
    type SIGQUIT = typeof Signal.SIGQUIT;
    type SIGSEGV = typeof Signal.SIGSEGV;
    type SIGSTKFLT = typeof Signal.SIGSTKFLT;
    type SIGSTOP = typeof Signal.SIGSTOP;
    type SIGSYS = typeof Signal.SIGSYS;
    type SIGTERM = typeof Signal.SIGTERM;
    type SIGTRAP = typeof Signal.SIGTRAP;
    type SIGTSTP = typeof Signal.SIGTSTP;
    type SIGTTIN = typeof Signal.SIGTTIN;
    type SIGTTOU = typeof Signal.SIGTTOU;
    type SIGURG = typeof Signal.SIGURG;
    type SIGUSR1 = typeof Signal.SIGUSR1;
    type SIGUSR2 = typeof Signal.SIGUSR2;
    type SIGVTALRM = typeof Signal.SIGVTALRM;
    type SIGWINCH = typeof Signal.SIGWINCH;
    type SIGXCPU = typeof Signal.SIGXCPU;
    type SIGXFSZ = typeof Signal.SIGXFSZ;
    type SIGRTMIN = typeof Signal.SIGRTMIN;
    type SIGRTMINPLUS1 = typeof Signal.SIGRTMINPLUS1;
    type SIGRTMINPLUS2 = typeof Signal.SIGRTMINPLUS2;
    type SIGRTMINPLUS3 = typeof Signal.SIGRTMINPLUS3;
    type SIGRTMINPLUS4 = typeof Signal.SIGRTMINPLUS4;
    type SIGRTMINPLUS5 = typeof Signal.SIGRTMINPLUS5;
    type SIGRTMINPLUS6 = typeof Signal.SIGRTMINPLUS6;
    type SIGRTMINPLUS7 = typeof Signal.SIGRTMINPLUS7;
    type SIGRTMINPLUS8 = typeof Signal.SIGRTMINPLUS8;
    type SIGRTMINPLUS9 = typeof Signal.SIGRTMINPLUS9;
    type SIGRTMINPLUS10 = typeof Signal.SIGRTMINPLUS10;
    type SIGRTMINPLUS11 = typeof Signal.SIGRTMINPLUS11;
    type SIGRTMINPLUS12 = typeof Signal.SIGRTMINPLUS12;
    type SIGRTMINPLUS13 = typeof Signal.SIGRTMINPLUS13;
    type SIGRTMINPLUS14 = typeof Signal.SIGRTMINPLUS14;
    type SIGRTMINPLUS15 = typeof Signal.SIGRTMINPLUS15;
    type SIGRTMAXMINUS14 = typeof Signal.SIGRTMAXMINUS14;
    type SIGRTMAXMINUS13 = typeof Signal.SIGRTMAXMINUS13;
    type SIGRTMAXMINUS12 = typeof Signal.SIGRTMAXMINUS12;
    type SIGRTMAXMINUS11 = typeof Signal.SIGRTMAXMINUS11;
    type SIGRTMAXMINUS10 = typeof Signal.SIGRTMAXMINUS10;
    type SIGRTMAXMINUS9 = typeof Signal.SIGRTMAXMINUS9;
    type SIGRTMAXMINUS8 = typeof Signal.SIGRTMAXMINUS8;
    type SIGRTMAXMINUS7 = typeof Signal.SIGRTMAXMINUS7;
    type SIGRTMAXMINUS6 = typeof Signal.SIGRTMAXMINUS6;
    type SIGRTMAXMINUS5 = typeof Signal.SIGRTMAXMINUS5;
    type SIGRTMAXMINUS4 = typeof Signal.SIGRTMAXMINUS4;
    type SIGRTMAXMINUS3 = typeof Signal.SIGRTMAXMINUS3;
    type SIGRTMAXMINUS2 = typeof Signal.SIGRTMAXMINUS2;
    type SIGRTMAXMINUS1 = typeof Signal.SIGRTMAXMINUS1;
    type SIGRTMAX = typeof Signal.SIGRTMAX;
}
export declare const ContainerState: {
    readonly CONTAINER_CREATED: 0;
    readonly CONTAINER_RUNNING: 1;
    readonly CONTAINER_EXITED: 2;
    readonly CONTAINER_UNKNOWN: 3;
};
export type ContainerState = typeof ContainerState[keyof typeof ContainerState];
export declare namespace ContainerState {
    type CONTAINER_CREATED = typeof ContainerState.CONTAINER_CREATED;
    type CONTAINER_RUNNING = typeof ContainerState.CONTAINER_RUNNING;
    type CONTAINER_EXITED = typeof ContainerState.CONTAINER_EXITED;
    type CONTAINER_UNKNOWN = typeof ContainerState.CONTAINER_UNKNOWN;
}
export declare const ContainerEventType: {
    readonly CONTAINER_CREATED_EVENT: 0;
    readonly CONTAINER_STARTED_EVENT: 1;
    readonly CONTAINER_STOPPED_EVENT: 2;
    readonly CONTAINER_DELETED_EVENT: 3;
};
export type ContainerEventType = typeof ContainerEventType[keyof typeof ContainerEventType];
export declare namespace ContainerEventType {
    type CONTAINER_CREATED_EVENT = typeof ContainerEventType.CONTAINER_CREATED_EVENT;
    type CONTAINER_STARTED_EVENT = typeof ContainerEventType.CONTAINER_STARTED_EVENT;
    type CONTAINER_STOPPED_EVENT = typeof ContainerEventType.CONTAINER_STOPPED_EVENT;
    type CONTAINER_DELETED_EVENT = typeof ContainerEventType.CONTAINER_DELETED_EVENT;
}
export declare const MetricType: {
    readonly COUNTER: 0;
    readonly GAUGE: 1;
};
export type MetricType = typeof MetricType[keyof typeof MetricType];
export declare namespace MetricType {
    type COUNTER = typeof MetricType.COUNTER;
    type GAUGE = typeof MetricType.GAUGE;
}
export declare const CgroupDriver: {
    readonly SYSTEMD: 0;
    readonly CGROUPFS: 1;
};
export type CgroupDriver = typeof CgroupDriver[keyof typeof CgroupDriver];
export declare namespace CgroupDriver {
    type SYSTEMD = typeof CgroupDriver.SYSTEMD;
    type CGROUPFS = typeof CgroupDriver.CGROUPFS;
}
/** A number that may be absent. */
export interface Int64Value {
    value: bigint;
}
export interface UInt64Value {
    value: bigint;
}
export interface KeyValue {
    key: string;
    value: string;
}
/** A run of `length` ids, from container_id inside the user namespace to host_id outside. */
export interface IDMapping {
    hostId: number;
    containerId: number;
    length: number;
}
export interface UserNamespace {
    /** POD or NODE */
    mode: NamespaceMode;
    uids: IDMapping[];
    gids: IDMapping[];
}
export interface NamespaceOption {
    network: NamespaceMode;
    pid: NamespaceMode;
    ipc: NamespaceMode;
    targetId: string;
    usernsOptions?: UserNamespace | undefined;
}
export interface SELinuxOption {
    user: string;
    role: string;
    type: string;
    level: string;
}
export interface SecurityProfile {
    profileType: SecurityProfile_ProfileType;
    /** set for Localhost only: a path (seccomp) or a profile's name (AppArmor) */
    localhostRef: string;
}
export declare const SecurityProfile_ProfileType: {
    readonly RuntimeDefault: 0;
    readonly Unconfined: 1;
    readonly Localhost: 2;
};
export type SecurityProfile_ProfileType = typeof SecurityProfile_ProfileType[keyof typeof SecurityProfile_ProfileType];
export declare namespace SecurityProfile_ProfileType {
    type RuntimeDefault = typeof SecurityProfile_ProfileType.RuntimeDefault;
    type Unconfined = typeof SecurityProfile_ProfileType.Unconfined;
    type Localhost = typeof SecurityProfile_ProfileType.Localhost;
}
export interface LinuxContainerResources {
    /** microseconds; 0 keeps the default */
    cpuPeriod: bigint;
    /** microseconds a period; -1 is no limit */
    cpuQuota: bigint;
    cpuShares: bigint;
    memoryLimitInBytes: bigint;
    oomScoreAdj: bigint;
    cpusetCpus: string;
    cpusetMems: string;
    hugepageLimits: HugepageLimit[];
    /** cgroup v2 files, written as they stand */
    unified: {
        [key: string]: string;
    };
    memorySwapLimitInBytes: bigint;
}
export interface LinuxContainerResources_UnifiedEntry {
    key: string;
    value: string;
}
export interface HugepageLimit {
    pageSize: string;
    limit: bigint;
}
export interface WindowsContainerResources {
    cpuShares: bigint;
    cpuCount: bigint;
    cpuMaximum: bigint;
    memoryLimitInBytes: bigint;
    rootfsSizeInBytes: bigint;
    affinityCpus: WindowsCpuGroupAffinity[];
}
export interface WindowsCpuGroupAffinity {
    cpuMask: bigint;
    cpuGroup: number;
}
export interface WindowsNamespaceOption {
    network: NamespaceMode;
}
export interface PodSandboxMetadata {
    name: string;
    uid: string;
    namespace: string;
    attempt: number;
}
export interface PodSandboxConfig {
    metadata?: PodSandboxMetadata | undefined;
    hostname: string;
    /** container log_path values are relative to it */
    logDirectory: string;
    dnsConfig?: DNSConfig | undefined;
    portMappings: PortMapping[];
    labels: {
        [key: string]: string;
    };
    annotations: {
        [key: string]: string;
    };
    linux?: LinuxPodSandboxConfig | undefined;
    windows?: WindowsPodSandboxConfig | undefined;
}
export interface PodSandboxConfig_LabelsEntry {
    key: string;
    value: string;
}
export interface PodSandboxConfig_AnnotationsEntry {
    key: string;
    value: string;
}
export interface DNSConfig {
    servers: string[];
    searches: string[];
    options: string[];
}
export interface PortMapping {
    protocol: Protocol;
    containerPort: number;
    hostPort: number;
    hostIp: string;
}
export interface LinuxPodSandboxConfig {
    cgroupParent: string;
    securityContext?: LinuxSandboxSecurityContext | undefined;
    sysctls: {
        [key: string]: string;
    };
    overhead?: LinuxContainerResources | undefined;
    /** the sum over the pod's containers */
    resources?: LinuxContainerResources | undefined;
}
export interface LinuxPodSandboxConfig_SysctlsEntry {
    key: string;
    value: string;
}
export interface LinuxSandboxSecurityContext {
    namespaceOptions?: NamespaceOption | undefined;
    selinuxOptions?: SELinuxOption | undefined;
    runAsUser?: Int64Value | undefined;
    readonlyRootfs: boolean;
    supplementalGroups: bigint[];
    /** whether any container of the sandbox may be privileged */
    privileged: boolean;
    /** @deprecated */
    seccompProfilePath: string;
    runAsGroup?: Int64Value | undefined;
    seccomp?: SecurityProfile | undefined;
    apparmor?: SecurityProfile | undefined;
    supplementalGroupsPolicy: SupplementalGroupsPolicy;
}
export interface WindowsPodSandboxConfig {
    securityContext?: WindowsSandboxSecurityContext | undefined;
}
export interface WindowsSandboxSecurityContext {
    runAsUsername: string;
    credentialSpec: string;
    hostProcess: boolean;
    namespaceOptions?: WindowsNamespaceOption | undefined;
}
export interface RunPodSandboxRequest {
    config?: PodSandboxConfig | undefined;
    /** from the RuntimeClass; empty is the default */
    runtimeHandler: string;
}
export interface RunPodSandboxResponse {
    podSandboxId: string;
}
export interface StopPodSandboxRequest {
    podSandboxId: string;
}
export interface StopPodSandboxResponse {
}
export interface RemovePodSandboxRequest {
    podSandboxId: string;
}
export interface RemovePodSandboxResponse {
}
export interface PodSandboxStateValue {
    state: PodSandboxState;
}
export interface PodSandboxFilter {
    id: string;
    state?: PodSandboxStateValue | undefined;
    /** all of them must match */
    labelSelector: {
        [key: string]: string;
    };
}
export interface PodSandboxFilter_LabelSelectorEntry {
    key: string;
    value: string;
}
export interface PodSandbox {
    id: string;
    metadata?: PodSandboxMetadata | undefined;
    state: PodSandboxState;
    /** nanoseconds since 1970 */
    createdAt: bigint;
    labels: {
        [key: string]: string;
    };
    annotations: {
        [key: string]: string;
    };
    runtimeHandler: string;
}
export interface PodSandbox_LabelsEntry {
    key: string;
    value: string;
}
export interface PodSandbox_AnnotationsEntry {
    key: string;
    value: string;
}
export interface ListPodSandboxRequest {
    filter?: PodSandboxFilter | undefined;
}
export interface ListPodSandboxResponse {
    items: PodSandbox[];
}
export interface StreamPodSandboxesRequest {
    filter?: PodSandboxFilter | undefined;
}
export interface StreamPodSandboxesResponse {
    podSandboxes: PodSandbox[];
}
export interface PodSandboxStatusRequest {
    podSandboxId: string;
    verbose: boolean;
}
export interface PodSandboxStatusResponse {
    status?: PodSandboxStatus | undefined;
    /** only when verbose */
    info: {
        [key: string]: string;
    };
    /** only from runtimes with container events */
    containersStatuses: ContainerStatus[];
    timestamp: bigint;
}
export interface PodSandboxStatusResponse_InfoEntry {
    key: string;
    value: string;
}
export interface PodSandboxStatus {
    id: string;
    metadata?: PodSandboxMetadata | undefined;
    state: PodSandboxState;
    createdAt: bigint;
    network?: PodSandboxNetworkStatus | undefined;
    linux?: LinuxPodSandboxStatus | undefined;
    labels: {
        [key: string]: string;
    };
    annotations: {
        [key: string]: string;
    };
    runtimeHandler: string;
}
export interface PodSandboxStatus_LabelsEntry {
    key: string;
    value: string;
}
export interface PodSandboxStatus_AnnotationsEntry {
    key: string;
    value: string;
}
export interface PodIP {
    ip: string;
}
export interface PodSandboxNetworkStatus {
    ip: string;
    additionalIps: PodIP[];
}
export interface Namespace {
    options?: NamespaceOption | undefined;
}
export interface LinuxPodSandboxStatus {
    namespaces?: Namespace | undefined;
}
export interface UpdatePodSandboxResourcesRequest {
    podSandboxId: string;
    overhead?: LinuxContainerResources | undefined;
    resources?: LinuxContainerResources | undefined;
}
export interface UpdatePodSandboxResourcesResponse {
}
export interface ContainerMetadata {
    name: string;
    attempt: number;
}
export interface ContainerConfig {
    metadata?: ContainerMetadata | undefined;
    image?: ImageSpec | undefined;
    command: string[];
    args: string[];
    workingDir: string;
    envs: KeyValue[];
    mounts: Mount[];
    devices: Device[];
    labels: {
        [key: string]: string;
    };
    annotations: {
        [key: string]: string;
    };
    /** below the sandbox's log_directory */
    logPath: string;
    stdin: boolean;
    stdinOnce: boolean;
    tty: boolean;
    linux?: LinuxContainerConfig | undefined;
    windows?: WindowsContainerConfig | undefined;
    CDIDevices: CDIDevice[];
    stopSignal: Signal;
}
export interface ContainerConfig_LabelsEntry {
    key: string;
    value: string;
}
export interface ContainerConfig_AnnotationsEntry {
    key: string;
    value: string;
}
export interface Mount {
    containerPath: string;
    hostPath: string;
    readonly: boolean;
    selinuxRelabel: boolean;
    propagation: MountPropagation;
    uidMappings: IDMapping[];
    gidMappings: IDMapping[];
    recursiveReadOnly: boolean;
    /** an image to mount instead of host_path */
    image?: ImageSpec | undefined;
    imageSubPath: string;
}
export interface Device {
    containerPath: string;
    hostPath: string;
    /** of r, w, m */
    permissions: string;
}
export interface CDIDevice {
    name: string;
}
export interface LinuxContainerConfig {
    resources?: LinuxContainerResources | undefined;
    securityContext?: LinuxContainerSecurityContext | undefined;
}
export interface Capability {
    addCapabilities: string[];
    dropCapabilities: string[];
    addAmbientCapabilities: string[];
}
export interface LinuxContainerSecurityContext {
    capabilities?: Capability | undefined;
    privileged: boolean;
    namespaceOptions?: NamespaceOption | undefined;
    selinuxOptions?: SELinuxOption | undefined;
    runAsUser?: Int64Value | undefined;
    /** instead of run_as_user, not beside it */
    runAsUsername: string;
    readonlyRootfs: boolean;
    supplementalGroups: bigint[];
    /** @deprecated */
    apparmorProfile: string;
    /** @deprecated */
    seccompProfilePath: string;
    noNewPrivs: boolean;
    runAsGroup?: Int64Value | undefined;
    maskedPaths: string[];
    readonlyPaths: string[];
    seccomp?: SecurityProfile | undefined;
    apparmor?: SecurityProfile | undefined;
    supplementalGroupsPolicy: SupplementalGroupsPolicy;
}
export interface WindowsContainerConfig {
    resources?: WindowsContainerResources | undefined;
    securityContext?: WindowsContainerSecurityContext | undefined;
}
export interface WindowsContainerSecurityContext {
    runAsUsername: string;
    credentialSpec: string;
    hostProcess: boolean;
}
export interface CreateContainerRequest {
    podSandboxId: string;
    config?: ContainerConfig | undefined;
    /** the one the sandbox was run with */
    sandboxConfig?: PodSandboxConfig | undefined;
}
export interface CreateContainerResponse {
    containerId: string;
}
export interface StartContainerRequest {
    containerId: string;
}
export interface StartContainerResponse {
}
export interface StopContainerRequest {
    containerId: string;
    /** seconds between the stop signal and SIGKILL; 0 kills at once */
    timeout: bigint;
}
export interface StopContainerResponse {
}
export interface RemoveContainerRequest {
    containerId: string;
}
export interface RemoveContainerResponse {
}
export interface ContainerStateValue {
    state: ContainerState;
}
export interface ContainerFilter {
    id: string;
    state?: ContainerStateValue | undefined;
    podSandboxId: string;
    labelSelector: {
        [key: string]: string;
    };
}
export interface ContainerFilter_LabelSelectorEntry {
    key: string;
    value: string;
}
export interface Container {
    id: string;
    podSandboxId: string;
    metadata?: ContainerMetadata | undefined;
    image?: ImageSpec | undefined;
    imageRef: string;
    state: ContainerState;
    createdAt: bigint;
    labels: {
        [key: string]: string;
    };
    annotations: {
        [key: string]: string;
    };
    imageId: string;
}
export interface Container_LabelsEntry {
    key: string;
    value: string;
}
export interface Container_AnnotationsEntry {
    key: string;
    value: string;
}
export interface ListContainersRequest {
    filter?: ContainerFilter | undefined;
}
export interface ListContainersResponse {
    containers: Container[];
}
export interface StreamContainersRequest {
    filter?: ContainerFilter | undefined;
}
export interface StreamContainersResponse {
    containers: Container[];
}
export interface ContainerStatusRequest {
    containerId: string;
    verbose: boolean;
}
export interface ContainerStatusResponse {
    status?: ContainerStatus | undefined;
    info: {
        [key: string]: string;
    };
}
export interface ContainerStatusResponse_InfoEntry {
    key: string;
    value: string;
}
export interface ContainerStatus {
    id: string;
    metadata?: ContainerMetadata | undefined;
    state: ContainerState;
    createdAt: bigint;
    /** 0 before the start */
    startedAt: bigint;
    /** 0 before the exit */
    finishedAt: bigint;
    exitCode: number;
    image?: ImageSpec | undefined;
    imageRef: string;
    /** one CamelCase word, such as OOMKilled */
    reason: string;
    message: string;
    labels: {
        [key: string]: string;
    };
    annotations: {
        [key: string]: string;
    };
    mounts: Mount[];
    logPath: string;
    resources?: ContainerResources | undefined;
    imageId: string;
    user?: ContainerUser | undefined;
    stopSignal: Signal;
}
export interface ContainerStatus_LabelsEntry {
    key: string;
    value: string;
}
export interface ContainerStatus_AnnotationsEntry {
    key: string;
    value: string;
}
export interface ContainerResources {
    linux?: LinuxContainerResources | undefined;
    windows?: WindowsContainerResources | undefined;
}
export interface ContainerUser {
    linux?: LinuxContainerUser | undefined;
}
export interface LinuxContainerUser {
    uid: bigint;
    gid: bigint;
    supplementalGroups: bigint[];
}
export interface UpdateContainerResourcesRequest {
    containerId: string;
    linux?: LinuxContainerResources | undefined;
    windows?: WindowsContainerResources | undefined;
    annotations: {
        [key: string]: string;
    };
}
export interface UpdateContainerResourcesRequest_AnnotationsEntry {
    key: string;
    value: string;
}
export interface UpdateContainerResourcesResponse {
}
export interface ReopenContainerLogRequest {
    containerId: string;
}
export interface ReopenContainerLogResponse {
}
export interface CheckpointContainerRequest {
    containerId: string;
    /** the archive to write */
    location: string;
    /** seconds; 0 is the runtime's own */
    timeout: bigint;
}
export interface CheckpointContainerResponse {
}
export interface GetEventsRequest {
}
/** container_id may also be a sandbox's. */
export interface ContainerEventResponse {
    containerId: string;
    containerEventType: ContainerEventType;
    createdAt: bigint;
    podSandboxStatus?: PodSandboxStatus | undefined;
    containersStatuses: ContainerStatus[];
}
export interface ExecSyncRequest {
    containerId: string;
    cmd: string[];
    /** seconds; 0 waits for ever */
    timeout: bigint;
}
export interface ExecSyncResponse {
    stdout: Uint8Array;
    stderr: Uint8Array;
    exitCode: number;
}
export interface ExecRequest {
    containerId: string;
    cmd: string[];
    tty: boolean;
    stdin: boolean;
    stdout: boolean;
    stderr: boolean;
}
export interface ExecResponse {
    url: string;
}
export interface AttachRequest {
    containerId: string;
    stdin: boolean;
    tty: boolean;
    stdout: boolean;
    stderr: boolean;
}
export interface AttachResponse {
    url: string;
}
export interface PortForwardRequest {
    podSandboxId: string;
    port: number[];
}
export interface PortForwardResponse {
    url: string;
}
export interface ImageSpec {
    image: string;
    annotations: {
        [key: string]: string;
    };
    userSpecifiedImage: string;
    runtimeHandler: string;
    imageRef: string;
}
export interface ImageSpec_AnnotationsEntry {
    key: string;
    value: string;
}
export interface Image {
    id: string;
    repoTags: string[];
    repoDigests: string[];
    size: bigint;
    /** the image's user where it is a number */
    uid?: Int64Value | undefined;
    /** and where it is a name */
    username: string;
    spec?: ImageSpec | undefined;
    /** never collected as garbage */
    pinned: boolean;
}
export interface ImageFilter {
    image?: ImageSpec | undefined;
}
export interface ListImagesRequest {
    filter?: ImageFilter | undefined;
}
export interface ListImagesResponse {
    images: Image[];
}
export interface StreamImagesRequest {
    filter?: ImageFilter | undefined;
}
export interface StreamImagesResponse {
    images: Image[];
}
export interface ImageStatusRequest {
    image?: ImageSpec | undefined;
    verbose: boolean;
}
/** Without an image when it is not present. */
export interface ImageStatusResponse {
    image?: Image | undefined;
    info: {
        [key: string]: string;
    };
}
export interface ImageStatusResponse_InfoEntry {
    key: string;
    value: string;
}
export interface AuthConfig {
    username: string;
    password: string;
    /** base64 of username:password */
    auth: string;
    serverAddress: string;
    identityToken: string;
    registryToken: string;
}
export interface PullImageRequest {
    image?: ImageSpec | undefined;
    auth?: AuthConfig | undefined;
    sandboxConfig?: PodSandboxConfig | undefined;
}
export interface PullImageResponse {
    imageRef: string;
}
export interface RemoveImageRequest {
    image?: ImageSpec | undefined;
}
export interface RemoveImageResponse {
}
export interface ImageFsInfoRequest {
}
export interface ImageFsInfoResponse {
    imageFilesystems: FilesystemUsage[];
    containerFilesystems: FilesystemUsage[];
}
export interface FilesystemIdentifier {
    mountpoint: string;
}
export interface FilesystemUsage {
    timestamp: bigint;
    fsId?: FilesystemIdentifier | undefined;
    usedBytes?: UInt64Value | undefined;
    inodesUsed?: UInt64Value | undefined;
}
export interface ContainerStatsRequest {
    containerId: string;
}
export interface ContainerStatsResponse {
    stats?: ContainerStats | undefined;
}
export interface ContainerStatsFilter {
    id: string;
    podSandboxId: string;
    labelSelector: {
        [key: string]: string;
    };
}
export interface ContainerStatsFilter_LabelSelectorEntry {
    key: string;
    value: string;
}
export interface ListContainerStatsRequest {
    filter?: ContainerStatsFilter | undefined;
}
export interface ListContainerStatsResponse {
    stats: ContainerStats[];
}
export interface StreamContainerStatsRequest {
    filter?: ContainerStatsFilter | undefined;
}
export interface StreamContainerStatsResponse {
    containerStats: ContainerStats[];
}
export interface ContainerAttributes {
    id: string;
    metadata?: ContainerMetadata | undefined;
    labels: {
        [key: string]: string;
    };
    annotations: {
        [key: string]: string;
    };
}
export interface ContainerAttributes_LabelsEntry {
    key: string;
    value: string;
}
export interface ContainerAttributes_AnnotationsEntry {
    key: string;
    value: string;
}
export interface ContainerStats {
    attributes?: ContainerAttributes | undefined;
    cpu?: CpuUsage | undefined;
    memory?: MemoryUsage | undefined;
    writableLayer?: FilesystemUsage | undefined;
    swap?: SwapUsage | undefined;
    io?: IoUsage | undefined;
}
export interface CpuUsage {
    timestamp: bigint;
    /** since the start */
    usageCoreNanoSeconds?: UInt64Value | undefined;
    /** now */
    usageNanoCores?: UInt64Value | undefined;
    psi?: PsiStats | undefined;
}
export interface MemoryUsage {
    timestamp: bigint;
    workingSetBytes?: UInt64Value | undefined;
    availableBytes?: UInt64Value | undefined;
    usageBytes?: UInt64Value | undefined;
    rssBytes?: UInt64Value | undefined;
    pageFaults?: UInt64Value | undefined;
    majorPageFaults?: UInt64Value | undefined;
    psi?: PsiStats | undefined;
}
export interface SwapUsage {
    timestamp: bigint;
    swapAvailableBytes?: UInt64Value | undefined;
    swapUsageBytes?: UInt64Value | undefined;
}
export interface IoUsage {
    timestamp: bigint;
    psi?: PsiStats | undefined;
}
export interface PsiStats {
    Full?: PsiData | undefined;
    Some?: PsiData | undefined;
}
export interface PsiData {
    Total: bigint;
    Avg10: number;
    Avg60: number;
    Avg300: number;
}
export interface PodSandboxStatsRequest {
    podSandboxId: string;
}
export interface PodSandboxStatsResponse {
    stats?: PodSandboxStats | undefined;
}
export interface PodSandboxStatsFilter {
    id: string;
    labelSelector: {
        [key: string]: string;
    };
}
export interface PodSandboxStatsFilter_LabelSelectorEntry {
    key: string;
    value: string;
}
export interface ListPodSandboxStatsRequest {
    filter?: PodSandboxStatsFilter | undefined;
}
export interface ListPodSandboxStatsResponse {
    stats: PodSandboxStats[];
}
export interface StreamPodSandboxStatsRequest {
    filter?: PodSandboxStatsFilter | undefined;
}
export interface StreamPodSandboxStatsResponse {
    podSandboxStats: PodSandboxStats[];
}
export interface PodSandboxAttributes {
    id: string;
    metadata?: PodSandboxMetadata | undefined;
    labels: {
        [key: string]: string;
    };
    annotations: {
        [key: string]: string;
    };
}
export interface PodSandboxAttributes_LabelsEntry {
    key: string;
    value: string;
}
export interface PodSandboxAttributes_AnnotationsEntry {
    key: string;
    value: string;
}
export interface PodSandboxStats {
    attributes?: PodSandboxAttributes | undefined;
    linux?: LinuxPodSandboxStats | undefined;
    windows?: WindowsPodSandboxStats | undefined;
}
export interface LinuxPodSandboxStats {
    cpu?: CpuUsage | undefined;
    memory?: MemoryUsage | undefined;
    network?: NetworkUsage | undefined;
    process?: ProcessUsage | undefined;
    containers: ContainerStats[];
    io?: IoUsage | undefined;
}
export interface NetworkUsage {
    timestamp: bigint;
    defaultInterface?: NetworkInterfaceUsage | undefined;
    interfaces: NetworkInterfaceUsage[];
}
export interface NetworkInterfaceUsage {
    name: string;
    rxBytes?: UInt64Value | undefined;
    rxErrors?: UInt64Value | undefined;
    txBytes?: UInt64Value | undefined;
    txErrors?: UInt64Value | undefined;
}
export interface ProcessUsage {
    timestamp: bigint;
    processCount?: UInt64Value | undefined;
}
export interface WindowsPodSandboxStats {
    cpu?: WindowsCpuUsage | undefined;
    memory?: WindowsMemoryUsage | undefined;
    network?: WindowsNetworkUsage | undefined;
    process?: WindowsProcessUsage | undefined;
    containers: WindowsContainerStats[];
}
export interface WindowsContainerStats {
    attributes?: ContainerAttributes | undefined;
    cpu?: WindowsCpuUsage | undefined;
    memory?: WindowsMemoryUsage | undefined;
    writableLayer?: WindowsFilesystemUsage | undefined;
}
export interface WindowsCpuUsage {
    timestamp: bigint;
    usageCoreNanoSeconds?: UInt64Value | undefined;
    usageNanoCores?: UInt64Value | undefined;
}
export interface WindowsMemoryUsage {
    timestamp: bigint;
    workingSetBytes?: UInt64Value | undefined;
    availableBytes?: UInt64Value | undefined;
    pageFaults?: UInt64Value | undefined;
    commitMemoryBytes?: UInt64Value | undefined;
}
export interface WindowsFilesystemUsage {
    timestamp: bigint;
    fsId?: FilesystemIdentifier | undefined;
    usedBytes?: UInt64Value | undefined;
}
export interface WindowsNetworkUsage {
    timestamp: bigint;
    defaultInterface?: WindowsNetworkInterfaceUsage | undefined;
    interfaces: WindowsNetworkInterfaceUsage[];
}
export interface WindowsNetworkInterfaceUsage {
    name: string;
    rxBytes?: UInt64Value | undefined;
    rxPacketsDropped?: UInt64Value | undefined;
    txBytes?: UInt64Value | undefined;
    txPacketsDropped?: UInt64Value | undefined;
}
export interface WindowsProcessUsage {
    timestamp: bigint;
    processCount?: UInt64Value | undefined;
}
export interface ListMetricDescriptorsRequest {
}
export interface ListMetricDescriptorsResponse {
    descriptors: MetricDescriptor[];
}
export interface MetricDescriptor {
    name: string;
    help: string;
    labelKeys: string[];
}
export interface ListPodSandboxMetricsRequest {
}
export interface ListPodSandboxMetricsResponse {
    podMetrics: PodSandboxMetrics[];
}
export interface StreamPodSandboxMetricsRequest {
}
export interface StreamPodSandboxMetricsResponse {
    podSandboxMetrics: PodSandboxMetrics[];
}
export interface PodSandboxMetrics {
    podSandboxId: string;
    metrics: Metric[];
    containerMetrics: ContainerMetrics[];
}
export interface ContainerMetrics {
    containerId: string;
    metrics: Metric[];
}
export interface Metric {
    name: string;
    /** 0 when not cached */
    timestamp: bigint;
    metricType: MetricType;
    /** in the order of the descriptor's label_keys */
    labelValues: string[];
    value?: UInt64Value | undefined;
}
export interface VersionRequest {
    version: string;
}
export interface VersionResponse {
    version: string;
    runtimeName: string;
    runtimeVersion: string;
    runtimeApiVersion: string;
}
export interface StatusRequest {
    verbose: boolean;
}
export interface StatusResponse {
    status?: RuntimeStatus | undefined;
    info: {
        [key: string]: string;
    };
    runtimeHandlers: RuntimeHandler[];
    features?: RuntimeFeatures | undefined;
}
export interface StatusResponse_InfoEntry {
    key: string;
    value: string;
}
export interface RuntimeStatus {
    conditions: RuntimeCondition[];
}
/** RuntimeReady and NetworkReady are always there. */
export interface RuntimeCondition {
    type: string;
    status: boolean;
    reason: string;
    message: string;
}
export interface RuntimeHandler {
    name: string;
    features?: RuntimeHandlerFeatures | undefined;
}
export interface RuntimeHandlerFeatures {
    recursiveReadOnlyMounts: boolean;
    userNamespaces: boolean;
}
export interface RuntimeFeatures {
    supplementalGroupsPolicy: boolean;
    userNamespacesHostNetwork: boolean;
}
export interface RuntimeConfigRequest {
}
export interface RuntimeConfigResponse {
    linux?: LinuxRuntimeConfiguration | undefined;
}
export interface LinuxRuntimeConfiguration {
    cgroupDriver: CgroupDriver;
}
export interface UpdateRuntimeConfigRequest {
    runtimeConfig?: RuntimeConfig | undefined;
}
export interface UpdateRuntimeConfigResponse {
}
export interface RuntimeConfig {
    networkConfig?: NetworkConfig | undefined;
}
export interface NetworkConfig {
    podCidr: string;
}
export declare const Int64Value: MessageFns<Int64Value>;
export declare const UInt64Value: MessageFns<UInt64Value>;
export declare const KeyValue: MessageFns<KeyValue>;
export declare const IDMapping: MessageFns<IDMapping>;
export declare const UserNamespace: MessageFns<UserNamespace>;
export declare const NamespaceOption: MessageFns<NamespaceOption>;
export declare const SELinuxOption: MessageFns<SELinuxOption>;
export declare const SecurityProfile: MessageFns<SecurityProfile>;
export declare const LinuxContainerResources: MessageFns<LinuxContainerResources>;
export declare const LinuxContainerResources_UnifiedEntry: MessageFns<LinuxContainerResources_UnifiedEntry>;
export declare const HugepageLimit: MessageFns<HugepageLimit>;
export declare const WindowsContainerResources: MessageFns<WindowsContainerResources>;
export declare const WindowsCpuGroupAffinity: MessageFns<WindowsCpuGroupAffinity>;
export declare const WindowsNamespaceOption: MessageFns<WindowsNamespaceOption>;
export declare const PodSandboxMetadata: MessageFns<PodSandboxMetadata>;
export declare const PodSandboxConfig: MessageFns<PodSandboxConfig>;
export declare const PodSandboxConfig_LabelsEntry: MessageFns<PodSandboxConfig_LabelsEntry>;
export declare const PodSandboxConfig_AnnotationsEntry: MessageFns<PodSandboxConfig_AnnotationsEntry>;
export declare const DNSConfig: MessageFns<DNSConfig>;
export declare const PortMapping: MessageFns<PortMapping>;
export declare const LinuxPodSandboxConfig: MessageFns<LinuxPodSandboxConfig>;
export declare const LinuxPodSandboxConfig_SysctlsEntry: MessageFns<LinuxPodSandboxConfig_SysctlsEntry>;
export declare const LinuxSandboxSecurityContext: MessageFns<LinuxSandboxSecurityContext>;
export declare const WindowsPodSandboxConfig: MessageFns<WindowsPodSandboxConfig>;
export declare const WindowsSandboxSecurityContext: MessageFns<WindowsSandboxSecurityContext>;
export declare const RunPodSandboxRequest: MessageFns<RunPodSandboxRequest>;
export declare const RunPodSandboxResponse: MessageFns<RunPodSandboxResponse>;
export declare const StopPodSandboxRequest: MessageFns<StopPodSandboxRequest>;
export declare const StopPodSandboxResponse: MessageFns<StopPodSandboxResponse>;
export declare const RemovePodSandboxRequest: MessageFns<RemovePodSandboxRequest>;
export declare const RemovePodSandboxResponse: MessageFns<RemovePodSandboxResponse>;
export declare const PodSandboxStateValue: MessageFns<PodSandboxStateValue>;
export declare const PodSandboxFilter: MessageFns<PodSandboxFilter>;
export declare const PodSandboxFilter_LabelSelectorEntry: MessageFns<PodSandboxFilter_LabelSelectorEntry>;
export declare const PodSandbox: MessageFns<PodSandbox>;
export declare const PodSandbox_LabelsEntry: MessageFns<PodSandbox_LabelsEntry>;
export declare const PodSandbox_AnnotationsEntry: MessageFns<PodSandbox_AnnotationsEntry>;
export declare const ListPodSandboxRequest: MessageFns<ListPodSandboxRequest>;
export declare const ListPodSandboxResponse: MessageFns<ListPodSandboxResponse>;
export declare const StreamPodSandboxesRequest: MessageFns<StreamPodSandboxesRequest>;
export declare const StreamPodSandboxesResponse: MessageFns<StreamPodSandboxesResponse>;
export declare const PodSandboxStatusRequest: MessageFns<PodSandboxStatusRequest>;
export declare const PodSandboxStatusResponse: MessageFns<PodSandboxStatusResponse>;
export declare const PodSandboxStatusResponse_InfoEntry: MessageFns<PodSandboxStatusResponse_InfoEntry>;
export declare const PodSandboxStatus: MessageFns<PodSandboxStatus>;
export declare const PodSandboxStatus_LabelsEntry: MessageFns<PodSandboxStatus_LabelsEntry>;
export declare const PodSandboxStatus_AnnotationsEntry: MessageFns<PodSandboxStatus_AnnotationsEntry>;
export declare const PodIP: MessageFns<PodIP>;
export declare const PodSandboxNetworkStatus: MessageFns<PodSandboxNetworkStatus>;
export declare const Namespace: MessageFns<Namespace>;
export declare const LinuxPodSandboxStatus: MessageFns<LinuxPodSandboxStatus>;
export declare const UpdatePodSandboxResourcesRequest: MessageFns<UpdatePodSandboxResourcesRequest>;
export declare const UpdatePodSandboxResourcesResponse: MessageFns<UpdatePodSandboxResourcesResponse>;
export declare const ContainerMetadata: MessageFns<ContainerMetadata>;
export declare const ContainerConfig: MessageFns<ContainerConfig>;
export declare const ContainerConfig_LabelsEntry: MessageFns<ContainerConfig_LabelsEntry>;
export declare const ContainerConfig_AnnotationsEntry: MessageFns<ContainerConfig_AnnotationsEntry>;
export declare const Mount: MessageFns<Mount>;
export declare const Device: MessageFns<Device>;
export declare const CDIDevice: MessageFns<CDIDevice>;
export declare const LinuxContainerConfig: MessageFns<LinuxContainerConfig>;
export declare const Capability: MessageFns<Capability>;
export declare const LinuxContainerSecurityContext: MessageFns<LinuxContainerSecurityContext>;
export declare const WindowsContainerConfig: MessageFns<WindowsContainerConfig>;
export declare const WindowsContainerSecurityContext: MessageFns<WindowsContainerSecurityContext>;
export declare const CreateContainerRequest: MessageFns<CreateContainerRequest>;
export declare const CreateContainerResponse: MessageFns<CreateContainerResponse>;
export declare const StartContainerRequest: MessageFns<StartContainerRequest>;
export declare const StartContainerResponse: MessageFns<StartContainerResponse>;
export declare const StopContainerRequest: MessageFns<StopContainerRequest>;
export declare const StopContainerResponse: MessageFns<StopContainerResponse>;
export declare const RemoveContainerRequest: MessageFns<RemoveContainerRequest>;
export declare const RemoveContainerResponse: MessageFns<RemoveContainerResponse>;
export declare const ContainerStateValue: MessageFns<ContainerStateValue>;
export declare const ContainerFilter: MessageFns<ContainerFilter>;
export declare const ContainerFilter_LabelSelectorEntry: MessageFns<ContainerFilter_LabelSelectorEntry>;
export declare const Container: MessageFns<Container>;
export declare const Container_LabelsEntry: MessageFns<Container_LabelsEntry>;
export declare const Container_AnnotationsEntry: MessageFns<Container_AnnotationsEntry>;
export declare const ListContainersRequest: MessageFns<ListContainersRequest>;
export declare const ListContainersResponse: MessageFns<ListContainersResponse>;
export declare const StreamContainersRequest: MessageFns<StreamContainersRequest>;
export declare const StreamContainersResponse: MessageFns<StreamContainersResponse>;
export declare const ContainerStatusRequest: MessageFns<ContainerStatusRequest>;
export declare const ContainerStatusResponse: MessageFns<ContainerStatusResponse>;
export declare const ContainerStatusResponse_InfoEntry: MessageFns<ContainerStatusResponse_InfoEntry>;
export declare const ContainerStatus: MessageFns<ContainerStatus>;
export declare const ContainerStatus_LabelsEntry: MessageFns<ContainerStatus_LabelsEntry>;
export declare const ContainerStatus_AnnotationsEntry: MessageFns<ContainerStatus_AnnotationsEntry>;
export declare const ContainerResources: MessageFns<ContainerResources>;
export declare const ContainerUser: MessageFns<ContainerUser>;
export declare const LinuxContainerUser: MessageFns<LinuxContainerUser>;
export declare const UpdateContainerResourcesRequest: MessageFns<UpdateContainerResourcesRequest>;
export declare const UpdateContainerResourcesRequest_AnnotationsEntry: MessageFns<UpdateContainerResourcesRequest_AnnotationsEntry>;
export declare const UpdateContainerResourcesResponse: MessageFns<UpdateContainerResourcesResponse>;
export declare const ReopenContainerLogRequest: MessageFns<ReopenContainerLogRequest>;
export declare const ReopenContainerLogResponse: MessageFns<ReopenContainerLogResponse>;
export declare const CheckpointContainerRequest: MessageFns<CheckpointContainerRequest>;
export declare const CheckpointContainerResponse: MessageFns<CheckpointContainerResponse>;
export declare const GetEventsRequest: MessageFns<GetEventsRequest>;
export declare const ContainerEventResponse: MessageFns<ContainerEventResponse>;
export declare const ExecSyncRequest: MessageFns<ExecSyncRequest>;
export declare const ExecSyncResponse: MessageFns<ExecSyncResponse>;
export declare const ExecRequest: MessageFns<ExecRequest>;
export declare const ExecResponse: MessageFns<ExecResponse>;
export declare const AttachRequest: MessageFns<AttachRequest>;
export declare const AttachResponse: MessageFns<AttachResponse>;
export declare const PortForwardRequest: MessageFns<PortForwardRequest>;
export declare const PortForwardResponse: MessageFns<PortForwardResponse>;
export declare const ImageSpec: MessageFns<ImageSpec>;
export declare const ImageSpec_AnnotationsEntry: MessageFns<ImageSpec_AnnotationsEntry>;
export declare const Image: MessageFns<Image>;
export declare const ImageFilter: MessageFns<ImageFilter>;
export declare const ListImagesRequest: MessageFns<ListImagesRequest>;
export declare const ListImagesResponse: MessageFns<ListImagesResponse>;
export declare const StreamImagesRequest: MessageFns<StreamImagesRequest>;
export declare const StreamImagesResponse: MessageFns<StreamImagesResponse>;
export declare const ImageStatusRequest: MessageFns<ImageStatusRequest>;
export declare const ImageStatusResponse: MessageFns<ImageStatusResponse>;
export declare const ImageStatusResponse_InfoEntry: MessageFns<ImageStatusResponse_InfoEntry>;
export declare const AuthConfig: MessageFns<AuthConfig>;
export declare const PullImageRequest: MessageFns<PullImageRequest>;
export declare const PullImageResponse: MessageFns<PullImageResponse>;
export declare const RemoveImageRequest: MessageFns<RemoveImageRequest>;
export declare const RemoveImageResponse: MessageFns<RemoveImageResponse>;
export declare const ImageFsInfoRequest: MessageFns<ImageFsInfoRequest>;
export declare const ImageFsInfoResponse: MessageFns<ImageFsInfoResponse>;
export declare const FilesystemIdentifier: MessageFns<FilesystemIdentifier>;
export declare const FilesystemUsage: MessageFns<FilesystemUsage>;
export declare const ContainerStatsRequest: MessageFns<ContainerStatsRequest>;
export declare const ContainerStatsResponse: MessageFns<ContainerStatsResponse>;
export declare const ContainerStatsFilter: MessageFns<ContainerStatsFilter>;
export declare const ContainerStatsFilter_LabelSelectorEntry: MessageFns<ContainerStatsFilter_LabelSelectorEntry>;
export declare const ListContainerStatsRequest: MessageFns<ListContainerStatsRequest>;
export declare const ListContainerStatsResponse: MessageFns<ListContainerStatsResponse>;
export declare const StreamContainerStatsRequest: MessageFns<StreamContainerStatsRequest>;
export declare const StreamContainerStatsResponse: MessageFns<StreamContainerStatsResponse>;
export declare const ContainerAttributes: MessageFns<ContainerAttributes>;
export declare const ContainerAttributes_LabelsEntry: MessageFns<ContainerAttributes_LabelsEntry>;
export declare const ContainerAttributes_AnnotationsEntry: MessageFns<ContainerAttributes_AnnotationsEntry>;
export declare const ContainerStats: MessageFns<ContainerStats>;
export declare const CpuUsage: MessageFns<CpuUsage>;
export declare const MemoryUsage: MessageFns<MemoryUsage>;
export declare const SwapUsage: MessageFns<SwapUsage>;
export declare const IoUsage: MessageFns<IoUsage>;
export declare const PsiStats: MessageFns<PsiStats>;
export declare const PsiData: MessageFns<PsiData>;
export declare const PodSandboxStatsRequest: MessageFns<PodSandboxStatsRequest>;
export declare const PodSandboxStatsResponse: MessageFns<PodSandboxStatsResponse>;
export declare const PodSandboxStatsFilter: MessageFns<PodSandboxStatsFilter>;
export declare const PodSandboxStatsFilter_LabelSelectorEntry: MessageFns<PodSandboxStatsFilter_LabelSelectorEntry>;
export declare const ListPodSandboxStatsRequest: MessageFns<ListPodSandboxStatsRequest>;
export declare const ListPodSandboxStatsResponse: MessageFns<ListPodSandboxStatsResponse>;
export declare const StreamPodSandboxStatsRequest: MessageFns<StreamPodSandboxStatsRequest>;
export declare const StreamPodSandboxStatsResponse: MessageFns<StreamPodSandboxStatsResponse>;
export declare const PodSandboxAttributes: MessageFns<PodSandboxAttributes>;
export declare const PodSandboxAttributes_LabelsEntry: MessageFns<PodSandboxAttributes_LabelsEntry>;
export declare const PodSandboxAttributes_AnnotationsEntry: MessageFns<PodSandboxAttributes_AnnotationsEntry>;
export declare const PodSandboxStats: MessageFns<PodSandboxStats>;
export declare const LinuxPodSandboxStats: MessageFns<LinuxPodSandboxStats>;
export declare const NetworkUsage: MessageFns<NetworkUsage>;
export declare const NetworkInterfaceUsage: MessageFns<NetworkInterfaceUsage>;
export declare const ProcessUsage: MessageFns<ProcessUsage>;
export declare const WindowsPodSandboxStats: MessageFns<WindowsPodSandboxStats>;
export declare const WindowsContainerStats: MessageFns<WindowsContainerStats>;
export declare const WindowsCpuUsage: MessageFns<WindowsCpuUsage>;
export declare const WindowsMemoryUsage: MessageFns<WindowsMemoryUsage>;
export declare const WindowsFilesystemUsage: MessageFns<WindowsFilesystemUsage>;
export declare const WindowsNetworkUsage: MessageFns<WindowsNetworkUsage>;
export declare const WindowsNetworkInterfaceUsage: MessageFns<WindowsNetworkInterfaceUsage>;
export declare const WindowsProcessUsage: MessageFns<WindowsProcessUsage>;
export declare const ListMetricDescriptorsRequest: MessageFns<ListMetricDescriptorsRequest>;
export declare const ListMetricDescriptorsResponse: MessageFns<ListMetricDescriptorsResponse>;
export declare const MetricDescriptor: MessageFns<MetricDescriptor>;
export declare const ListPodSandboxMetricsRequest: MessageFns<ListPodSandboxMetricsRequest>;
export declare const ListPodSandboxMetricsResponse: MessageFns<ListPodSandboxMetricsResponse>;
export declare const StreamPodSandboxMetricsRequest: MessageFns<StreamPodSandboxMetricsRequest>;
export declare const StreamPodSandboxMetricsResponse: MessageFns<StreamPodSandboxMetricsResponse>;
export declare const PodSandboxMetrics: MessageFns<PodSandboxMetrics>;
export declare const ContainerMetrics: MessageFns<ContainerMetrics>;
export declare const Metric: MessageFns<Metric>;
export declare const VersionRequest: MessageFns<VersionRequest>;
export declare const VersionResponse: MessageFns<VersionResponse>;
export declare const StatusRequest: MessageFns<StatusRequest>;
export declare const StatusResponse: MessageFns<StatusResponse>;
export declare const StatusResponse_InfoEntry: MessageFns<StatusResponse_InfoEntry>;
export declare const RuntimeStatus: MessageFns<RuntimeStatus>;
export declare const RuntimeCondition: MessageFns<RuntimeCondition>;
export declare const RuntimeHandler: MessageFns<RuntimeHandler>;
export declare const RuntimeHandlerFeatures: MessageFns<RuntimeHandlerFeatures>;
export declare const RuntimeFeatures: MessageFns<RuntimeFeatures>;
export declare const RuntimeConfigRequest: MessageFns<RuntimeConfigRequest>;
export declare const RuntimeConfigResponse: MessageFns<RuntimeConfigResponse>;
export declare const LinuxRuntimeConfiguration: MessageFns<LinuxRuntimeConfiguration>;
export declare const UpdateRuntimeConfigRequest: MessageFns<UpdateRuntimeConfigRequest>;
export declare const UpdateRuntimeConfigResponse: MessageFns<UpdateRuntimeConfigResponse>;
export declare const RuntimeConfig: MessageFns<RuntimeConfig>;
export declare const NetworkConfig: MessageFns<NetworkConfig>;
export type RuntimeServiceDefinition = typeof RuntimeServiceDefinition;
export declare const RuntimeServiceDefinition: {
    readonly name: "RuntimeService";
    readonly fullName: "runtime.v1.RuntimeService";
    readonly methods: {
        readonly version: {
            readonly name: "Version";
            readonly requestType: typeof VersionRequest;
            readonly requestStream: false;
            readonly responseType: typeof VersionResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly status: {
            readonly name: "Status";
            readonly requestType: typeof StatusRequest;
            readonly requestStream: false;
            readonly responseType: typeof StatusResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly runtimeConfig: {
            readonly name: "RuntimeConfig";
            readonly requestType: typeof RuntimeConfigRequest;
            readonly requestStream: false;
            readonly responseType: typeof RuntimeConfigResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly updateRuntimeConfig: {
            readonly name: "UpdateRuntimeConfig";
            readonly requestType: typeof UpdateRuntimeConfigRequest;
            readonly requestStream: false;
            readonly responseType: typeof UpdateRuntimeConfigResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly runPodSandbox: {
            readonly name: "RunPodSandbox";
            readonly requestType: typeof RunPodSandboxRequest;
            readonly requestStream: false;
            readonly responseType: typeof RunPodSandboxResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly stopPodSandbox: {
            readonly name: "StopPodSandbox";
            readonly requestType: typeof StopPodSandboxRequest;
            readonly requestStream: false;
            readonly responseType: typeof StopPodSandboxResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly removePodSandbox: {
            readonly name: "RemovePodSandbox";
            readonly requestType: typeof RemovePodSandboxRequest;
            readonly requestStream: false;
            readonly responseType: typeof RemovePodSandboxResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly podSandboxStatus: {
            readonly name: "PodSandboxStatus";
            readonly requestType: typeof PodSandboxStatusRequest;
            readonly requestStream: false;
            readonly responseType: typeof PodSandboxStatusResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly listPodSandbox: {
            readonly name: "ListPodSandbox";
            readonly requestType: typeof ListPodSandboxRequest;
            readonly requestStream: false;
            readonly responseType: typeof ListPodSandboxResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly streamPodSandboxes: {
            readonly name: "StreamPodSandboxes";
            readonly requestType: typeof StreamPodSandboxesRequest;
            readonly requestStream: false;
            readonly responseType: typeof StreamPodSandboxesResponse;
            readonly responseStream: true;
            readonly options: {};
        };
        readonly updatePodSandboxResources: {
            readonly name: "UpdatePodSandboxResources";
            readonly requestType: typeof UpdatePodSandboxResourcesRequest;
            readonly requestStream: false;
            readonly responseType: typeof UpdatePodSandboxResourcesResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly createContainer: {
            readonly name: "CreateContainer";
            readonly requestType: typeof CreateContainerRequest;
            readonly requestStream: false;
            readonly responseType: typeof CreateContainerResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly startContainer: {
            readonly name: "StartContainer";
            readonly requestType: typeof StartContainerRequest;
            readonly requestStream: false;
            readonly responseType: typeof StartContainerResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly stopContainer: {
            readonly name: "StopContainer";
            readonly requestType: typeof StopContainerRequest;
            readonly requestStream: false;
            readonly responseType: typeof StopContainerResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly removeContainer: {
            readonly name: "RemoveContainer";
            readonly requestType: typeof RemoveContainerRequest;
            readonly requestStream: false;
            readonly responseType: typeof RemoveContainerResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly listContainers: {
            readonly name: "ListContainers";
            readonly requestType: typeof ListContainersRequest;
            readonly requestStream: false;
            readonly responseType: typeof ListContainersResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly streamContainers: {
            readonly name: "StreamContainers";
            readonly requestType: typeof StreamContainersRequest;
            readonly requestStream: false;
            readonly responseType: typeof StreamContainersResponse;
            readonly responseStream: true;
            readonly options: {};
        };
        readonly containerStatus: {
            readonly name: "ContainerStatus";
            readonly requestType: typeof ContainerStatusRequest;
            readonly requestStream: false;
            readonly responseType: typeof ContainerStatusResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly updateContainerResources: {
            readonly name: "UpdateContainerResources";
            readonly requestType: typeof UpdateContainerResourcesRequest;
            readonly requestStream: false;
            readonly responseType: typeof UpdateContainerResourcesResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly reopenContainerLog: {
            readonly name: "ReopenContainerLog";
            readonly requestType: typeof ReopenContainerLogRequest;
            readonly requestStream: false;
            readonly responseType: typeof ReopenContainerLogResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly checkpointContainer: {
            readonly name: "CheckpointContainer";
            readonly requestType: typeof CheckpointContainerRequest;
            readonly requestStream: false;
            readonly responseType: typeof CheckpointContainerResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly getContainerEvents: {
            readonly name: "GetContainerEvents";
            readonly requestType: typeof GetEventsRequest;
            readonly requestStream: false;
            readonly responseType: typeof ContainerEventResponse;
            readonly responseStream: true;
            readonly options: {};
        };
        readonly execSync: {
            readonly name: "ExecSync";
            readonly requestType: typeof ExecSyncRequest;
            readonly requestStream: false;
            readonly responseType: typeof ExecSyncResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly exec: {
            readonly name: "Exec";
            readonly requestType: typeof ExecRequest;
            readonly requestStream: false;
            readonly responseType: typeof ExecResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly attach: {
            readonly name: "Attach";
            readonly requestType: typeof AttachRequest;
            readonly requestStream: false;
            readonly responseType: typeof AttachResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly portForward: {
            readonly name: "PortForward";
            readonly requestType: typeof PortForwardRequest;
            readonly requestStream: false;
            readonly responseType: typeof PortForwardResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly containerStats: {
            readonly name: "ContainerStats";
            readonly requestType: typeof ContainerStatsRequest;
            readonly requestStream: false;
            readonly responseType: typeof ContainerStatsResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly listContainerStats: {
            readonly name: "ListContainerStats";
            readonly requestType: typeof ListContainerStatsRequest;
            readonly requestStream: false;
            readonly responseType: typeof ListContainerStatsResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly streamContainerStats: {
            readonly name: "StreamContainerStats";
            readonly requestType: typeof StreamContainerStatsRequest;
            readonly requestStream: false;
            readonly responseType: typeof StreamContainerStatsResponse;
            readonly responseStream: true;
            readonly options: {};
        };
        readonly podSandboxStats: {
            readonly name: "PodSandboxStats";
            readonly requestType: typeof PodSandboxStatsRequest;
            readonly requestStream: false;
            readonly responseType: typeof PodSandboxStatsResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly listPodSandboxStats: {
            readonly name: "ListPodSandboxStats";
            readonly requestType: typeof ListPodSandboxStatsRequest;
            readonly requestStream: false;
            readonly responseType: typeof ListPodSandboxStatsResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly streamPodSandboxStats: {
            readonly name: "StreamPodSandboxStats";
            readonly requestType: typeof StreamPodSandboxStatsRequest;
            readonly requestStream: false;
            readonly responseType: typeof StreamPodSandboxStatsResponse;
            readonly responseStream: true;
            readonly options: {};
        };
        readonly listMetricDescriptors: {
            readonly name: "ListMetricDescriptors";
            readonly requestType: typeof ListMetricDescriptorsRequest;
            readonly requestStream: false;
            readonly responseType: typeof ListMetricDescriptorsResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly listPodSandboxMetrics: {
            readonly name: "ListPodSandboxMetrics";
            readonly requestType: typeof ListPodSandboxMetricsRequest;
            readonly requestStream: false;
            readonly responseType: typeof ListPodSandboxMetricsResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly streamPodSandboxMetrics: {
            readonly name: "StreamPodSandboxMetrics";
            readonly requestType: typeof StreamPodSandboxMetricsRequest;
            readonly requestStream: false;
            readonly responseType: typeof StreamPodSandboxMetricsResponse;
            readonly responseStream: true;
            readonly options: {};
        };
    };
};
export type ImageServiceDefinition = typeof ImageServiceDefinition;
export declare const ImageServiceDefinition: {
    readonly name: "ImageService";
    readonly fullName: "runtime.v1.ImageService";
    readonly methods: {
        readonly listImages: {
            readonly name: "ListImages";
            readonly requestType: typeof ListImagesRequest;
            readonly requestStream: false;
            readonly responseType: typeof ListImagesResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly streamImages: {
            readonly name: "StreamImages";
            readonly requestType: typeof StreamImagesRequest;
            readonly requestStream: false;
            readonly responseType: typeof StreamImagesResponse;
            readonly responseStream: true;
            readonly options: {};
        };
        readonly imageStatus: {
            readonly name: "ImageStatus";
            readonly requestType: typeof ImageStatusRequest;
            readonly requestStream: false;
            readonly responseType: typeof ImageStatusResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly pullImage: {
            readonly name: "PullImage";
            readonly requestType: typeof PullImageRequest;
            readonly requestStream: false;
            readonly responseType: typeof PullImageResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly removeImage: {
            readonly name: "RemoveImage";
            readonly requestType: typeof RemoveImageRequest;
            readonly requestStream: false;
            readonly responseType: typeof RemoveImageResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly imageFsInfo: {
            readonly name: "ImageFsInfo";
            readonly requestType: typeof ImageFsInfoRequest;
            readonly requestStream: false;
            readonly responseType: typeof ImageFsInfoResponse;
            readonly responseStream: false;
            readonly options: {};
        };
    };
};
type Builtin = Date | Function | Uint8Array | string | number | boolean | bigint | undefined;
export type DeepPartial<T> = T extends bigint ? string | number | bigint : T extends Builtin ? T : T extends globalThis.Array<infer U> ? globalThis.Array<DeepPartial<U>> : T extends ReadonlyArray<infer U> ? ReadonlyArray<DeepPartial<U>> : T extends {} ? {
    [K in keyof T]?: DeepPartial<T[K]>;
} : Partial<T>;
export interface MessageFns<T> {
    encode(message: T, writer?: BinaryWriter): BinaryWriter;
    decode(input: BinaryReader | Uint8Array, length?: number): T;
    create(base?: DeepPartial<T>): T;
    fromPartial(object: DeepPartial<T>): T;
}
export {};
