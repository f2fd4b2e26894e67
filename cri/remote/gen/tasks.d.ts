import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
export declare const protobufPackage = "containerd.services.tasks.v1";
export declare const protobufFileName = "tasks.proto";
/** What Skiff uses of containerd's task service, to end a task that its CRI plugin has lost sight of. */
export interface KillRequest {
    containerId: string;
    signal: number;
    all: boolean;
}
export interface DeleteTaskRequest {
    containerId: string;
}
export interface Empty {
}
export declare const KillRequest: MessageFns<KillRequest>;
export declare const DeleteTaskRequest: MessageFns<DeleteTaskRequest>;
export declare const Empty: MessageFns<Empty>;
export type TasksDefinition = typeof TasksDefinition;
export declare const TasksDefinition: {
    readonly name: "Tasks";
    readonly fullName: "containerd.services.tasks.v1.Tasks";
    readonly methods: {
        readonly kill: {
            readonly name: "Kill";
            readonly requestType: typeof KillRequest;
            readonly requestStream: false;
            readonly responseType: typeof Empty;
            readonly responseStream: false;
            readonly options: {};
        };
        /** what it answers is not read */
        readonly delete: {
            readonly name: "Delete";
            readonly requestType: typeof DeleteTaskRequest;
            readonly requestStream: false;
            readonly responseType: typeof Empty;
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
