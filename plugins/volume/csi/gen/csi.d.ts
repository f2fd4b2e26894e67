import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
export declare const protobufPackage = "csi.v1";
export declare const protobufFileName = "csi.proto";
/** What a node asks of a storage driver: the node half of the Container Storage Interface v1, with its published field numbers. */
/** The answers of staging and publishing hold nothing. */
export interface Done {
}
export interface VolumeCapability {
    /** One of the two is set. */
    block?: VolumeCapability_BlockVolume | undefined;
    mount?: VolumeCapability_MountVolume | undefined;
    accessMode?: VolumeCapability_AccessMode | undefined;
}
export interface VolumeCapability_BlockVolume {
}
export interface VolumeCapability_MountVolume {
    fsType: string;
    mountFlags: string[];
    volumeMountGroup: string;
}
export interface VolumeCapability_AccessMode {
    mode: VolumeCapability_AccessMode_Mode;
}
export declare const VolumeCapability_AccessMode_Mode: {
    readonly UNKNOWN: 0;
    readonly SINGLE_NODE_WRITER: 1;
    readonly SINGLE_NODE_READER_ONLY: 2;
    readonly MULTI_NODE_READER_ONLY: 3;
    readonly MULTI_NODE_SINGLE_WRITER: 4;
    readonly MULTI_NODE_MULTI_WRITER: 5;
    readonly SINGLE_NODE_SINGLE_WRITER: 6;
    readonly SINGLE_NODE_MULTI_WRITER: 7;
};
export type VolumeCapability_AccessMode_Mode = typeof VolumeCapability_AccessMode_Mode[keyof typeof VolumeCapability_AccessMode_Mode];
export declare namespace VolumeCapability_AccessMode_Mode {
    type UNKNOWN = typeof VolumeCapability_AccessMode_Mode.UNKNOWN;
    type SINGLE_NODE_WRITER = typeof VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER;
    type SINGLE_NODE_READER_ONLY = typeof VolumeCapability_AccessMode_Mode.SINGLE_NODE_READER_ONLY;
    type MULTI_NODE_READER_ONLY = typeof VolumeCapability_AccessMode_Mode.MULTI_NODE_READER_ONLY;
    type MULTI_NODE_SINGLE_WRITER = typeof VolumeCapability_AccessMode_Mode.MULTI_NODE_SINGLE_WRITER;
    type MULTI_NODE_MULTI_WRITER = typeof VolumeCapability_AccessMode_Mode.MULTI_NODE_MULTI_WRITER;
    type SINGLE_NODE_SINGLE_WRITER = typeof VolumeCapability_AccessMode_Mode.SINGLE_NODE_SINGLE_WRITER;
    type SINGLE_NODE_MULTI_WRITER = typeof VolumeCapability_AccessMode_Mode.SINGLE_NODE_MULTI_WRITER;
}
export interface NodeStageVolumeRequest {
    volumeId: string;
    publishContext: {
        [key: string]: string;
    };
    stagingTargetPath: string;
    volumeCapability?: VolumeCapability | undefined;
    secrets: {
        [key: string]: string;
    };
    volumeContext: {
        [key: string]: string;
    };
}
export interface NodeStageVolumeRequest_PublishContextEntry {
    key: string;
    value: string;
}
export interface NodeStageVolumeRequest_SecretsEntry {
    key: string;
    value: string;
}
export interface NodeStageVolumeRequest_VolumeContextEntry {
    key: string;
    value: string;
}
export interface NodeUnstageVolumeRequest {
    volumeId: string;
    stagingTargetPath: string;
}
export interface NodePublishVolumeRequest {
    volumeId: string;
    publishContext: {
        [key: string]: string;
    };
    stagingTargetPath: string;
    targetPath: string;
    volumeCapability?: VolumeCapability | undefined;
    readonly: boolean;
    secrets: {
        [key: string]: string;
    };
    volumeContext: {
        [key: string]: string;
    };
}
export interface NodePublishVolumeRequest_PublishContextEntry {
    key: string;
    value: string;
}
export interface NodePublishVolumeRequest_SecretsEntry {
    key: string;
    value: string;
}
export interface NodePublishVolumeRequest_VolumeContextEntry {
    key: string;
    value: string;
}
export interface NodeUnpublishVolumeRequest {
    volumeId: string;
    targetPath: string;
}
export interface NodeGetVolumeStatsRequest {
    volumeId: string;
    volumePath: string;
    stagingTargetPath: string;
}
export interface VolumeUsage {
    available: bigint;
    total: bigint;
    used: bigint;
    unit: VolumeUsage_Unit;
}
export declare const VolumeUsage_Unit: {
    readonly UNKNOWN: 0;
    readonly BYTES: 1;
    readonly INODES: 2;
};
export type VolumeUsage_Unit = typeof VolumeUsage_Unit[keyof typeof VolumeUsage_Unit];
export declare namespace VolumeUsage_Unit {
    type UNKNOWN = typeof VolumeUsage_Unit.UNKNOWN;
    type BYTES = typeof VolumeUsage_Unit.BYTES;
    type INODES = typeof VolumeUsage_Unit.INODES;
}
export interface NodeGetVolumeStatsResponse {
    usage: VolumeUsage[];
}
export interface CapacityRange {
    requiredBytes: bigint;
    limitBytes: bigint;
}
export interface NodeExpandVolumeRequest {
    volumeId: string;
    volumePath: string;
    capacityRange?: CapacityRange | undefined;
    stagingTargetPath: string;
    volumeCapability?: VolumeCapability | undefined;
    secrets: {
        [key: string]: string;
    };
}
export interface NodeExpandVolumeRequest_SecretsEntry {
    key: string;
    value: string;
}
export interface NodeExpandVolumeResponse {
    capacityBytes: bigint;
}
export interface NodeServiceCapability {
    rpc?: NodeServiceCapability_RPC | undefined;
}
export interface NodeServiceCapability_RPC {
    type: NodeServiceCapability_RPC_Type;
}
export declare const NodeServiceCapability_RPC_Type: {
    readonly UNKNOWN: 0;
    readonly STAGE_UNSTAGE_VOLUME: 1;
    readonly GET_VOLUME_STATS: 2;
    readonly EXPAND_VOLUME: 3;
    readonly VOLUME_CONDITION: 4;
    readonly SINGLE_NODE_MULTI_WRITER: 5;
    readonly VOLUME_MOUNT_GROUP: 6;
};
export type NodeServiceCapability_RPC_Type = typeof NodeServiceCapability_RPC_Type[keyof typeof NodeServiceCapability_RPC_Type];
export declare namespace NodeServiceCapability_RPC_Type {
    type UNKNOWN = typeof NodeServiceCapability_RPC_Type.UNKNOWN;
    type STAGE_UNSTAGE_VOLUME = typeof NodeServiceCapability_RPC_Type.STAGE_UNSTAGE_VOLUME;
    type GET_VOLUME_STATS = typeof NodeServiceCapability_RPC_Type.GET_VOLUME_STATS;
    type EXPAND_VOLUME = typeof NodeServiceCapability_RPC_Type.EXPAND_VOLUME;
    type VOLUME_CONDITION = typeof NodeServiceCapability_RPC_Type.VOLUME_CONDITION;
    type SINGLE_NODE_MULTI_WRITER = typeof NodeServiceCapability_RPC_Type.SINGLE_NODE_MULTI_WRITER;
    type VOLUME_MOUNT_GROUP = typeof NodeServiceCapability_RPC_Type.VOLUME_MOUNT_GROUP;
}
export interface NodeGetCapabilitiesRequest {
}
export interface NodeGetCapabilitiesResponse {
    capabilities: NodeServiceCapability[];
}
export interface NodeGetInfoRequest {
}
export interface Topology {
    segments: {
        [key: string]: string;
    };
}
export interface Topology_SegmentsEntry {
    key: string;
    value: string;
}
export interface NodeGetInfoResponse {
    nodeId: string;
    maxVolumesPerNode: bigint;
    accessibleTopology?: Topology | undefined;
}
export declare const Done: MessageFns<Done>;
export declare const VolumeCapability: MessageFns<VolumeCapability>;
export declare const VolumeCapability_BlockVolume: MessageFns<VolumeCapability_BlockVolume>;
export declare const VolumeCapability_MountVolume: MessageFns<VolumeCapability_MountVolume>;
export declare const VolumeCapability_AccessMode: MessageFns<VolumeCapability_AccessMode>;
export declare const NodeStageVolumeRequest: MessageFns<NodeStageVolumeRequest>;
export declare const NodeStageVolumeRequest_PublishContextEntry: MessageFns<NodeStageVolumeRequest_PublishContextEntry>;
export declare const NodeStageVolumeRequest_SecretsEntry: MessageFns<NodeStageVolumeRequest_SecretsEntry>;
export declare const NodeStageVolumeRequest_VolumeContextEntry: MessageFns<NodeStageVolumeRequest_VolumeContextEntry>;
export declare const NodeUnstageVolumeRequest: MessageFns<NodeUnstageVolumeRequest>;
export declare const NodePublishVolumeRequest: MessageFns<NodePublishVolumeRequest>;
export declare const NodePublishVolumeRequest_PublishContextEntry: MessageFns<NodePublishVolumeRequest_PublishContextEntry>;
export declare const NodePublishVolumeRequest_SecretsEntry: MessageFns<NodePublishVolumeRequest_SecretsEntry>;
export declare const NodePublishVolumeRequest_VolumeContextEntry: MessageFns<NodePublishVolumeRequest_VolumeContextEntry>;
export declare const NodeUnpublishVolumeRequest: MessageFns<NodeUnpublishVolumeRequest>;
export declare const NodeGetVolumeStatsRequest: MessageFns<NodeGetVolumeStatsRequest>;
export declare const VolumeUsage: MessageFns<VolumeUsage>;
export declare const NodeGetVolumeStatsResponse: MessageFns<NodeGetVolumeStatsResponse>;
export declare const CapacityRange: MessageFns<CapacityRange>;
export declare const NodeExpandVolumeRequest: MessageFns<NodeExpandVolumeRequest>;
export declare const NodeExpandVolumeRequest_SecretsEntry: MessageFns<NodeExpandVolumeRequest_SecretsEntry>;
export declare const NodeExpandVolumeResponse: MessageFns<NodeExpandVolumeResponse>;
export declare const NodeServiceCapability: MessageFns<NodeServiceCapability>;
export declare const NodeServiceCapability_RPC: MessageFns<NodeServiceCapability_RPC>;
export declare const NodeGetCapabilitiesRequest: MessageFns<NodeGetCapabilitiesRequest>;
export declare const NodeGetCapabilitiesResponse: MessageFns<NodeGetCapabilitiesResponse>;
export declare const NodeGetInfoRequest: MessageFns<NodeGetInfoRequest>;
export declare const Topology: MessageFns<Topology>;
export declare const Topology_SegmentsEntry: MessageFns<Topology_SegmentsEntry>;
export declare const NodeGetInfoResponse: MessageFns<NodeGetInfoResponse>;
export type NodeDefinition = typeof NodeDefinition;
export declare const NodeDefinition: {
    readonly name: "Node";
    readonly fullName: "csi.v1.Node";
    readonly methods: {
        readonly nodeStageVolume: {
            readonly name: "NodeStageVolume";
            readonly requestType: typeof NodeStageVolumeRequest;
            readonly requestStream: false;
            readonly responseType: typeof Done;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly nodeUnstageVolume: {
            readonly name: "NodeUnstageVolume";
            readonly requestType: typeof NodeUnstageVolumeRequest;
            readonly requestStream: false;
            readonly responseType: typeof Done;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly nodePublishVolume: {
            readonly name: "NodePublishVolume";
            readonly requestType: typeof NodePublishVolumeRequest;
            readonly requestStream: false;
            readonly responseType: typeof Done;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly nodeUnpublishVolume: {
            readonly name: "NodeUnpublishVolume";
            readonly requestType: typeof NodeUnpublishVolumeRequest;
            readonly requestStream: false;
            readonly responseType: typeof Done;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly nodeGetVolumeStats: {
            readonly name: "NodeGetVolumeStats";
            readonly requestType: typeof NodeGetVolumeStatsRequest;
            readonly requestStream: false;
            readonly responseType: typeof NodeGetVolumeStatsResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly nodeExpandVolume: {
            readonly name: "NodeExpandVolume";
            readonly requestType: typeof NodeExpandVolumeRequest;
            readonly requestStream: false;
            readonly responseType: typeof NodeExpandVolumeResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly nodeGetCapabilities: {
            readonly name: "NodeGetCapabilities";
            readonly requestType: typeof NodeGetCapabilitiesRequest;
            readonly requestStream: false;
            readonly responseType: typeof NodeGetCapabilitiesResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly nodeGetInfo: {
            readonly name: "NodeGetInfo";
            readonly requestType: typeof NodeGetInfoRequest;
            readonly requestStream: false;
            readonly responseType: typeof NodeGetInfoResponse;
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
