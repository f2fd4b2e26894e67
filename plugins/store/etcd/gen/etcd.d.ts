import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
export declare const protobufPackage = "etcdserverpb";
export declare const protobufFileName = "etcd.proto";
/**
 * The part of etcd's v3 API that the store speaks, with the published names and numbers.
 * Regenerate gen/ with `node cri/api/generate.ts plugins/store/etcd` after a change.
 */
export declare const EventType: {
    readonly PUT: 0;
    readonly DELETE: 1;
};
export type EventType = typeof EventType[keyof typeof EventType];
export declare namespace EventType {
    type PUT = typeof EventType.PUT;
    type DELETE = typeof EventType.DELETE;
}
export declare const CompareResult: {
    readonly EQUAL: 0;
};
export type CompareResult = typeof CompareResult[keyof typeof CompareResult];
export declare namespace CompareResult {
    type EQUAL = typeof CompareResult.EQUAL;
}
export declare const CompareTarget: {
    readonly VERSION: 0;
    readonly MOD: 2;
};
export type CompareTarget = typeof CompareTarget[keyof typeof CompareTarget];
export declare namespace CompareTarget {
    type VERSION = typeof CompareTarget.VERSION;
    type MOD = typeof CompareTarget.MOD;
}
export interface ResponseHeader {
    revision: bigint;
}
export interface KeyValue {
    key: Uint8Array;
    createRevision: bigint;
    modRevision: bigint;
    value: Uint8Array;
}
export interface Event {
    type: EventType;
    kv?: KeyValue | undefined;
    prevKv?: KeyValue | undefined;
}
export interface RangeRequest {
    key: Uint8Array;
    rangeEnd: Uint8Array;
    limit: bigint;
    revision: bigint;
    keysOnly: boolean;
    countOnly: boolean;
}
export interface RangeResponse {
    header?: ResponseHeader | undefined;
    kvs: KeyValue[];
    /** Keys in the whole range, whatever the limit. */
    count: bigint;
}
export interface PutRequest {
    key: Uint8Array;
    value: Uint8Array;
    lease: bigint;
}
export interface PutResponse {
    header?: ResponseHeader | undefined;
}
export interface DeleteRangeRequest {
    key: Uint8Array;
    prevKv: boolean;
}
export interface DeleteRangeResponse {
    header?: ResponseHeader | undefined;
    deleted: bigint;
    prevKvs: KeyValue[];
}
export interface RequestOp {
    requestRange?: RangeRequest | undefined;
    requestPut?: PutRequest | undefined;
    requestDeleteRange?: DeleteRangeRequest | undefined;
}
export interface ResponseOp {
    responseRange?: RangeResponse | undefined;
    responsePut?: PutResponse | undefined;
    responseDeleteRange?: DeleteRangeResponse | undefined;
}
/** Only ever asks whether a key's mod_revision equals a number; 0 for a key that is not there. */
export interface Compare {
    result: CompareResult;
    target: CompareTarget;
    key: Uint8Array;
    modRevision?: bigint | undefined;
}
export interface TxnRequest {
    compare: Compare[];
    success: RequestOp[];
    failure: RequestOp[];
}
export interface TxnResponse {
    header?: ResponseHeader | undefined;
    succeeded: boolean;
    responses: ResponseOp[];
}
export interface CompactionRequest {
    revision: bigint;
}
export interface CompactionResponse {
    header?: ResponseHeader | undefined;
}
export interface WatchRequest {
    createRequest?: WatchCreateRequest | undefined;
}
export interface WatchCreateRequest {
    key: Uint8Array;
    rangeEnd: Uint8Array;
    startRevision: bigint;
    progressNotify: boolean;
    prevKv: boolean;
}
export interface WatchResponse {
    header?: ResponseHeader | undefined;
    created: boolean;
    canceled: boolean;
    compactRevision: bigint;
    cancelReason: string;
    events: Event[];
}
export interface LeaseGrantRequest {
    TTL: bigint;
}
export interface LeaseGrantResponse {
    header?: ResponseHeader | undefined;
    ID: bigint;
    TTL: bigint;
}
export declare const ResponseHeader: MessageFns<ResponseHeader>;
export declare const KeyValue: MessageFns<KeyValue>;
export declare const Event: MessageFns<Event>;
export declare const RangeRequest: MessageFns<RangeRequest>;
export declare const RangeResponse: MessageFns<RangeResponse>;
export declare const PutRequest: MessageFns<PutRequest>;
export declare const PutResponse: MessageFns<PutResponse>;
export declare const DeleteRangeRequest: MessageFns<DeleteRangeRequest>;
export declare const DeleteRangeResponse: MessageFns<DeleteRangeResponse>;
export declare const RequestOp: MessageFns<RequestOp>;
export declare const ResponseOp: MessageFns<ResponseOp>;
export declare const Compare: MessageFns<Compare>;
export declare const TxnRequest: MessageFns<TxnRequest>;
export declare const TxnResponse: MessageFns<TxnResponse>;
export declare const CompactionRequest: MessageFns<CompactionRequest>;
export declare const CompactionResponse: MessageFns<CompactionResponse>;
export declare const WatchRequest: MessageFns<WatchRequest>;
export declare const WatchCreateRequest: MessageFns<WatchCreateRequest>;
export declare const WatchResponse: MessageFns<WatchResponse>;
export declare const LeaseGrantRequest: MessageFns<LeaseGrantRequest>;
export declare const LeaseGrantResponse: MessageFns<LeaseGrantResponse>;
export type KVDefinition = typeof KVDefinition;
export declare const KVDefinition: {
    readonly name: "KV";
    readonly fullName: "etcdserverpb.KV";
    readonly methods: {
        readonly range: {
            readonly name: "Range";
            readonly requestType: typeof RangeRequest;
            readonly requestStream: false;
            readonly responseType: typeof RangeResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly txn: {
            readonly name: "Txn";
            readonly requestType: typeof TxnRequest;
            readonly requestStream: false;
            readonly responseType: typeof TxnResponse;
            readonly responseStream: false;
            readonly options: {};
        };
        readonly compact: {
            readonly name: "Compact";
            readonly requestType: typeof CompactionRequest;
            readonly requestStream: false;
            readonly responseType: typeof CompactionResponse;
            readonly responseStream: false;
            readonly options: {};
        };
    };
};
export type WatchDefinition = typeof WatchDefinition;
export declare const WatchDefinition: {
    readonly name: "Watch";
    readonly fullName: "etcdserverpb.Watch";
    readonly methods: {
        readonly watch: {
            readonly name: "Watch";
            readonly requestType: typeof WatchRequest;
            readonly requestStream: true;
            readonly responseType: typeof WatchResponse;
            readonly responseStream: true;
            readonly options: {};
        };
    };
};
export type LeaseDefinition = typeof LeaseDefinition;
export declare const LeaseDefinition: {
    readonly name: "Lease";
    readonly fullName: "etcdserverpb.Lease";
    readonly methods: {
        readonly leaseGrant: {
            readonly name: "LeaseGrant";
            readonly requestType: typeof LeaseGrantRequest;
            readonly requestStream: false;
            readonly responseType: typeof LeaseGrantResponse;
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
