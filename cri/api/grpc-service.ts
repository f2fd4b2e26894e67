// Turns a generated service table into what grpc-js wants on either side of the wire.

import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import type { MessageFns } from "./gen/runtime.js";

/** The shape of the generated `…ServiceDefinition` tables. */
export interface ServiceTable {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodTable>>;
}

export interface MethodTable {
  readonly name: string;
  readonly requestType: Codec;
  readonly requestStream: boolean;
  readonly responseType: Codec;
  readonly responseStream: boolean;
}

type Codec = Pick<MessageFns<unknown>, "decode"> & {
  // A method, not a property: each message's own type then fits.
  encode(message: unknown): { finish(): Uint8Array };
};

/** Keyed by the method's name in lower camel case, as in the contracts. */
export function grpcService(table: ServiceTable): ServiceDefinition {
  const methods = Object.entries(table.methods).map(([key, method]) => [key, grpcMethod(table, method)]);
  return Object.fromEntries(methods) as ServiceDefinition;
}

export function grpcMethod(table: ServiceTable, method: MethodTable): MethodDefinition<unknown, unknown> {
  return {
    path: `/${table.fullName}/${method.name}`,
    requestStream: method.requestStream,
    responseStream: method.responseStream,
    requestSerialize: (message) => bytesOf(method.requestType, message),
    requestDeserialize: (bytes) => method.requestType.decode(bytes),
    responseSerialize: (message) => bytesOf(method.responseType, message),
    responseDeserialize: (bytes) => method.responseType.decode(bytes),
  };
}

function bytesOf(codec: Codec, message: unknown): Buffer {
  const bytes = codec.encode(message).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
