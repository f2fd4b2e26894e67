import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
export declare const protobufPackage = "v1beta1";
export declare const protobufFileName = "device-plugin.proto";
/** Kubelet's device plugin interface, v1beta1: messages and numbers as published, comments ours. */
export interface Empty {
}
export interface DevicePluginOptions {
    preStartRequired: boolean;
    getPreferredAllocationAvailable: boolean;
}
export interface RegisterRequest {
    version: string;
    /** Name of the plugin's socket in the same folder. */
    endpoint: string;
    resourceName: string;
    options?: DevicePluginOptions | undefined;
}
export interface ListAndWatchResponse {
    devices: Device[];
}
export interface NUMANode {
    ID: bigint;
}
export interface TopologyInfo {
    nodes: NUMANode[];
}
export interface Device {
    ID: string;
    /** "Healthy" or "Unhealthy". */
    health: string;
    topology?: TopologyInfo | undefined;
}
export interface PreStartContainerRequest {
    devicesIds: string[];
}
export interface PreStartContainerResponse {
}
export interface PreferredAllocationRequest {
    containerRequests: ContainerPreferredAllocationRequest[];
}
export interface ContainerPreferredAllocationRequest {
    availableDeviceIDs: string[];
    mustIncludeDeviceIDs: string[];
    allocationSize: number;
}
export interface PreferredAllocationResponse {
    containerResponses: ContainerPreferredAllocationResponse[];
}
export interface ContainerPreferredAllocationResponse {
    deviceIDs: string[];
}
export interface AllocateRequest {
    containerRequests: ContainerAllocateRequest[];
}
export interface ContainerAllocateRequest {
    devicesIds: string[];
}
export interface AllocateResponse {
    containerResponses: ContainerAllocateResponse[];
}
export interface CDIDevice {
    name: string;
}
export interface ContainerAllocateResponse {
    envs: {
        [key: string]: string;
    };
    mounts: Mount[];
    devices: DeviceSpec[];
    annotations: {
        [key: string]: string;
    };
    cdiDevices: CDIDevice[];
}
export interface ContainerAllocateResponse_EnvsEntry {
    key: string;
    value: string;
}
export interface ContainerAllocateResponse_AnnotationsEntry {
    key: string;
    value: string;
}
export interface Mount {
    containerPath: string;
    hostPath: string;
    readOnly: boolean;
}
export interface DeviceSpec {
    containerPath: string;
    hostPath: string;
    permissions: string;
}
export declare const Empty: MessageFns<Empty>;
export declare const DevicePluginOptions: MessageFns<DevicePluginOptions>;
export declare const RegisterRequest: MessageFns<RegisterRequest>;
export declare const ListAndWatchResponse: MessageFns<ListAndWatchResponse>;
export declare const NUMANode: MessageFns<NUMANode>;
export declare const TopologyInfo: MessageFns<TopologyInfo>;
export declare const Device: MessageFns<Device>;
export declare const PreStartContainerRequest: MessageFns<PreStartContainerRequest>;
export declare const PreStartContainerResponse: MessageFns<PreStartContainerResponse>;
export declare const PreferredAllocationRequest: MessageFns<PreferredAllocationRequest>;
export declare const ContainerPreferredAllocationRequest: MessageFns<ContainerPreferredAllocationRequest>;
export declare const PreferredAllocationResponse: MessageFns<PreferredAllocationResponse>;
export declare const ContainerPreferredAllocationResponse: MessageFns<ContainerPreferredAllocationResponse>;
export declare const AllocateRequest: MessageFns<AllocateRequest>;
export declare const ContainerAllocateRequest: MessageFns<ContainerAllocateRequest>;
export declare const AllocateResponse: MessageFns<AllocateResponse>;
export declare const CDIDevice: MessageFns<CDIDevice>;
export declare const ContainerAllocateResponse: MessageFns<ContainerAllocateResponse>;
export declare const ContainerAllocateResponse_EnvsEntry: MessageFns<ContainerAllocateResponse_EnvsEntry>;
export declare const ContainerAllocateResponse_AnnotationsEntry: MessageFns<ContainerAllocateResponse_AnnotationsEntry>;
export declare const Mount: MessageFns<Mount>;
export declare const DeviceSpec: MessageFns<DeviceSpec>;
/** Served by the agent. */
export type RegistrationDefinition = typeof RegistrationDefinition;
export declare const RegistrationDefinition: {
    readonly name: "Registration";
    readonly fullName: "v1beta1.Registration";
    readonly methods: {
        readonly register: {
            readonly name: "Register";
            readonly requestType: typeof RegisterRequest;
            readonly requestStream: false;
            readonly responseType: typeof Empty;
            readonly responseStream: false;
            readonly options: {};
        };
    };
};
/** Served by a plugin. */
export type DevicePluginDefinition = typeof DevicePluginDefinition;
export declare const DevicePluginDefinition: {
    readonly name: "DevicePlugin";
    readonly fullName: "v1beta1.DevicePlugin";
    readonly methods: {
        readonly getDevicePluginOptions: {
            readonly name: "GetDevicePluginOptions";
            readonly requestType: typeof Empty;
            readonly requestStream: false;
            readonly responseType: typeof DevicePluginOptions;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly listAndWatch: {
            readonly name: "ListAndWatch";
            readonly requestType: typeof Empty;
            readonly requestStream: false;
            readonly responseType: typeof ListAndWatchResponse;
            readonly responseStream: true;
            readonly options: {};
        };
        readonly getPreferredAllocation: {
            readonly name: "GetPreferredAllocation";
            readonly requestType: typeof PreferredAllocationRequest;
            readonly requestStream: false;
            readonly responseType: typeof PreferredAllocationResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly allocate: {
            readonly name: "Allocate";
            readonly requestType: typeof AllocateRequest;
            readonly requestStream: false;
            readonly responseType: typeof AllocateResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly preStartContainer: {
            readonly name: "PreStartContainer";
            readonly requestType: typeof PreStartContainerRequest;
            readonly requestStream: false;
            readonly responseType: typeof PreStartContainerResponse;
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
