import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
export declare const protobufPackage = "containerd.services.events.v1";
export declare const protobufFileName = "events.proto";
/** What Skiff reads of containerd's event service, for releases whose CRI plugin has no GetContainerEvents. */
export interface SubscribeRequest {
    /** any of them may match */
    filters: string[];
}
export interface Timestamp {
    seconds: bigint;
    nanos: number;
}
export interface Any {
    typeUrl: string;
    value: Uint8Array;
}
export interface Envelope {
    timestamp?: Timestamp | undefined;
    namespace: string;
    topic: string;
    event?: Any | undefined;
}
/**
 * The fields that the container and task events have in common. `id` is the process of a TaskExit: the container's own
 * id for its main process, another for an exec.
 */
export interface TaskEvent {
    containerId: string;
    id: string;
}
export declare const SubscribeRequest: MessageFns<SubscribeRequest>;
export declare const Timestamp: MessageFns<Timestamp>;
export declare const Any: MessageFns<Any>;
export declare const Envelope: MessageFns<Envelope>;
export declare const TaskEvent: MessageFns<TaskEvent>;
export type EventsDefinition = typeof EventsDefinition;
export declare const EventsDefinition: {
    readonly name: "Events";
    readonly fullName: "containerd.services.events.v1.Events";
    readonly methods: {
        readonly subscribe: {
            readonly name: "Subscribe";
            readonly requestType: typeof SubscribeRequest;
            readonly requestStream: false;
            readonly responseType: typeof Envelope;
            readonly responseStream: true;
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
