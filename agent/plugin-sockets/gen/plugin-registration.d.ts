import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
export declare const protobufPackage = "pluginregistration";
export declare const protobufFileName = "plugin-registration.proto";
/** The service that a plugin serves on its socket in the registration folder (kubelet's pluginregistration v1). */
export interface InfoRequest {
}
export interface PluginInfo {
    /** "CSIPlugin", "DevicePlugin", "DRAPlugin" */
    type: string;
    name: string;
    /** where it serves; the registration socket itself when empty */
    endpoint: string;
    supportedVersions: string[];
}
export interface RegistrationStatus {
    pluginRegistered: boolean;
    error: string;
}
export interface RegistrationStatusResponse {
}
export declare const InfoRequest: MessageFns<InfoRequest>;
export declare const PluginInfo: MessageFns<PluginInfo>;
export declare const RegistrationStatus: MessageFns<RegistrationStatus>;
export declare const RegistrationStatusResponse: MessageFns<RegistrationStatusResponse>;
export type RegistrationDefinition = typeof RegistrationDefinition;
export declare const RegistrationDefinition: {
    readonly name: "Registration";
    readonly fullName: "pluginregistration.Registration";
    readonly methods: {
        readonly getInfo: {
            readonly name: "GetInfo";
            readonly requestType: typeof InfoRequest;
            readonly requestStream: false;
            readonly responseType: typeof PluginInfo;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly notifyRegistrationStatus: {
            readonly name: "NotifyRegistrationStatus";
            readonly requestType: typeof RegistrationStatus;
            readonly requestStream: false;
            readonly responseType: typeof RegistrationStatusResponse;
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
