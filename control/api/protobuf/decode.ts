// Reads objects in Kubernetes' protobuf encoding, which Go clients of v1.32 and later send for built-in kinds, into the JSON form
// that everything else here works on. Answers are always JSON: those clients accept it.

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { type Field, type Message, messageById, messageOf } from "./schema.ts";

export const protobufType = "application/vnd.kubernetes.protobuf";

type JsonObject = Record<string, unknown>;

const magic = [0x6b, 0x38, 0x73, 0x00];
const deepest = 100;

/** Fault `invalid` for bytes that are not such an object, `unsupported` for kinds that have no protobuf form here. */
export function decodeProtobuf(body: Uint8Array): JsonObject {
  if (!magic.every((byte, index) => body[index] === byte)) {
    throw new Fault(
      "invalid",
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    );
  }
  try {
    const { apiVersion, kind, raw } = readEnvelope(body.subarray(magic.length));
    const message = messageOf(apiVersion, kind);
    if (!message) throw new Fault("unsupported", `${kind} of ${apiVersion} has no protobuf form here`);
    return { apiVersion, kind, ...readMessage(new BinaryReader(raw), raw.length, message, 0) };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("invalid", `couldn't parse the body as protobuf: ${(error as Error).message}`, { cause: error });
  }
}

function readEnvelope(bytes: Uint8Array): { apiVersion: string; kind: string; raw: Uint8Array } {
  const reader = new BinaryReader(bytes);
  const envelope = { apiVersion: "", kind: "", raw: new Uint8Array() as Uint8Array };
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (number === 1) {
      const end = reader.uint32() + reader.pos;
      while (reader.pos < end) {
        const [inner, innerWire] = reader.tag();
        if (inner === 1) envelope.apiVersion = reader.string();
        else if (inner === 2) envelope.kind = reader.string();
        else reader.skip(innerWire);
      }
    } else if (number === 2) envelope.raw = reader.bytes();
    else reader.skip(wire);
  }
  return envelope;
}

function readMessage(reader: BinaryReader, end: number, message: Message, depth: number): JsonObject {
  if (depth > deepest)
    throw new Fault("invalid", `couldn't parse the body as protobuf: nested more than ${deepest} deep`);
  const object: JsonObject = {};
  while (reader.pos < end) {
    const [number, wire] = reader.tag();
    const field = message.get(number);
    if (!field) reader.skip(wire);
    else if (field.shape === "map") readEntry(reader, field, object, depth);
    else readField(reader, wire, field, object, depth);
  }
  return object;
}

function readField(reader: BinaryReader, wire: WireType, field: Field, object: JsonObject, depth: number): void {
  if (field.shape === "list" && wire === WireType.LengthDelimited && field.type === "i") {
    const end = reader.uint32() + reader.pos;
    const list = listOf(object, field.name);
    while (reader.pos < end) list.push(readValue(reader, "i", depth));
    return;
  }
  const value = readValue(reader, field.type, depth);
  if (field.shape === "list") return void listOf(object, field.name).push(value);
  if (field.name === "") {
    for (const [name, inner] of Object.entries(value as JsonObject)) put(object, name, inner);
    return;
  }
  if (value === undefined || (!field.keepsZero && isZero(value))) return;
  put(object, field.name, value);
}

/** The list of that name, to be added to: a copy for every element would take a time that grows with its square. */
function listOf(object: JsonObject, name: string): unknown[] {
  if (!Object.hasOwn(object, name)) put(object, name, []);
  return object[name] as unknown[];
}

function readEntry(reader: BinaryReader, field: Field, object: JsonObject, depth: number): void {
  const end = reader.uint32() + reader.pos;
  let key = "";
  let value: unknown = field.type === "s" ? "" : undefined;
  while (reader.pos < end) {
    const [number, wire] = reader.tag();
    if (number === 1) key = reader.string();
    else if (number === 2) value = readValue(reader, field.type, depth);
    else reader.skip(wire);
  }
  if (!Object.hasOwn(object, field.name)) put(object, field.name, {});
  put(object[field.name] as JsonObject, key, value);
}

/** Own properties only, whatever the key is called. */
function put(object: JsonObject, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false;
}

/** Fault `invalid` for an integer that no number holds: another one would be stored. */
function exact(value: bigint | string | number): number {
  const number = Number(value);
  if (BigInt(number) !== BigInt(value)) throw new Fault("invalid", `integer ${value} cannot be stored exactly`);
  return number;
}

const scalars: Record<string, (reader: BinaryReader, depth: number) => unknown> = {
  s: (reader) => reader.string(),
  i: (reader) => exact(reader.int64()),
  b: (reader) => reader.bool(),
  d: (reader) => reader.double(),
  y: (reader) => Buffer.from(reader.bytes()).toString("base64"),
  T: (reader) => timeText(reader, 0),
  M: (reader) => timeText(reader, 6),
  D: (reader) => `${Number(numbered(reader, { 1: (inner) => inner.int64() })[1] ?? 0) / 1e9}s`,
  Q: (reader) => numbered(reader, { 1: (inner) => inner.string() })[1] ?? "0",
  I: (reader) => {
    const parts = numbered(reader, {
      1: (inner) => Number(inner.int64()),
      2: (inner) => Number(inner.int64()),
      3: (inner) => inner.string(),
    });
    return parts[1] === 1 ? (parts[3] ?? "") : (parts[2] ?? 0);
  },
  R: (reader) => jsonIn(reader),
  F: (reader) => jsonIn(reader),
  E: (reader) => {
    const items: string[] = [];
    numbered(reader, { 1: (inner) => items.push(inner.string()) });
    return items;
  },
};

function readValue(reader: BinaryReader, type: string, depth: number): unknown {
  const scalar = scalars[type];
  if (scalar) return scalar(reader, depth);
  const message = messageById(type);
  if (!message) throw new Fault("internal", `no message is called ${type}`);
  const length = reader.uint32();
  const object = readMessage(reader, reader.pos + length, message, depth + 1);
  return choices[type]?.(object) ?? object;
}

/** Messages that stand for one of several things, which JSON writes as such. */
const choices: Record<string, (object: JsonObject) => unknown> = {
  "apiextensions/v1.JSONSchemaPropsOrArray": ({ JSONSchemas, Schema }) => JSONSchemas ?? Schema,
  "apiextensions/v1.JSONSchemaPropsOrBool": ({ Schema, Allows }) => Schema ?? Allows ?? false,
  "apiextensions/v1.JSONSchemaPropsOrStringArray": ({ Property, Schema }) => Property ?? Schema,
};

/** A small message by field numbers; the last value of each counts. */
function numbered(
  reader: BinaryReader,
  readers: Record<number, (reader: BinaryReader) => unknown>,
): Record<number, unknown> {
  const end = reader.uint32() + reader.pos;
  const values: Record<number, unknown> = {};
  while (reader.pos < end) {
    const [number, wire] = reader.tag();
    const read = readers[number];
    if (read) values[number] = read(reader);
    else reader.skip(wire);
  }
  return values;
}

function jsonIn(reader: BinaryReader): unknown {
  const raw = numbered(reader, { 1: (inner) => inner.bytes() })[1] as Uint8Array | undefined;
  return raw && raw.length > 0 ? JSON.parse(Buffer.from(raw).toString("utf8")) : undefined;
}

/** Times of zero are absent ones: Go writes an empty message for them. */
function timeText(reader: BinaryReader, fractionDigits: 0 | 6): string | undefined {
  const parts = numbered(reader, { 1: (inner) => Number(inner.int64()), 2: (inner) => Number(inner.int64()) });
  if (parts[1] === undefined && parts[2] === undefined) return undefined;
  const seconds = Number(parts[1] ?? 0);
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  const micros = Math.floor(Number(parts[2] ?? 0) / 1000);
  return fractionDigits === 0 ? `${text}Z` : `${text}.${String(micros).padStart(6, "0")}Z`;
}
