// OpenAPI v2 in the protobuf form (gnostic's openapi.v2.Document) that kubectl asks for. Field numbers are the published ones.

type Json = Record<string, unknown>;

/** Protobuf's wire format, only what is needed here. */
class Message {
  readonly #parts: Buffer[] = [];

  text(field: number, value: unknown): this {
    return typeof value === "string" && value !== "" ? this.#bytes(field, Buffer.from(value)) : this;
  }

  texts(field: number, values: unknown): this {
    if (Array.isArray(values)) for (const value of values) this.#bytes(field, Buffer.from(String(value)));
    return this;
  }

  flag(field: number, value: unknown): this {
    if (value === true) this.#parts.push(varint(field << 3), varint(1));
    return this;
  }

  message(field: number, value: Message | undefined): this {
    return value ? this.#bytes(field, value.encoded()) : this;
  }

  #bytes(field: number, value: Buffer): this {
    this.#parts.push(varint((field << 3) | 2), varint(value.length), value);
    return this;
  }

  encoded(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

const yaml = (value: unknown) => new Message().text(2, `${JSON.stringify(value)}\n`);

function extensions(target: Message, field: number, from: Json): void {
  for (const [name, value] of Object.entries(from))
    if (name.startsWith("x-")) target.message(field, new Message().text(1, name).message(2, yaml(value)));
}

function schemaOf(schema: Json): Message {
  const message = new Message().text(1, schema.$ref).text(2, schema.format).text(4, schema.description);
  message.texts(19, schema.required);
  for (const value of (schema.enum as unknown[] | undefined) ?? []) message.message(20, yaml(value));
  if (schema.additionalProperties)
    message.message(21, new Message().message(1, schemaOf(schema.additionalProperties as Json)));
  if (schema.type) message.message(22, new Message().texts(1, [schema.type].flat()));
  if (schema.items) message.message(23, new Message().message(1, schemaOf(schema.items as Json)));
  if (schema.properties) message.message(25, namedSchemas(schema.properties as Record<string, Json>));
  extensions(message, 31, schema);
  return message;
}

function namedSchemas(schemas: Record<string, Json>): Message {
  const message = new Message();
  for (const [name, schema] of Object.entries(schemas))
    message.message(1, new Message().text(1, name).message(2, schemaOf(schema)));
  return message;
}

function parameterItem(parameter: Json): Message {
  if (parameter.in === "body") {
    const body = new Message()
      .text(2, parameter.name)
      .text(3, "body")
      .flag(4, parameter.required)
      .message(5, schemaOf(parameter.schema as Json));
    return new Message().message(1, new Message().message(1, body));
  }
  const inPath = parameter.in === "path";
  // Query and path parameters share their first fields, but a query may also be left empty, which shifts what follows.
  const own = new Message()
    .flag(1, parameter.required)
    .text(2, parameter.in)
    .text(3, parameter.description)
    .text(4, parameter.name);
  own.text(inPath ? 5 : 6, parameter.type);
  return new Message().message(1, new Message().message(2, new Message().message(inPath ? 4 : 3, own)));
}

function operationOf(operation: Json): Message {
  const message = new Message()
    .texts(1, operation.tags)
    .text(3, operation.description)
    .text(5, operation.operationId)
    .texts(6, operation.produces)
    .texts(7, operation.consumes);
  for (const parameter of (operation.parameters as Json[] | undefined) ?? [])
    message.message(8, parameterItem(parameter));
  const responses = new Message();
  for (const [code, response] of Object.entries((operation.responses ?? {}) as Record<string, Json>)) {
    const own = new Message().text(1, response.description);
    if (response.schema) own.message(2, new Message().message(1, schemaOf(response.schema as Json)));
    responses.message(1, new Message().text(1, code).message(2, new Message().message(1, own)));
  }
  message.message(9, responses);
  extensions(message, 13, operation);
  return message;
}

const methodFields: Record<string, number> = { get: 2, put: 3, post: 4, delete: 5, options: 6, head: 7, patch: 8 };

/** A part of a document without an info is one to put behind a whole one: in protobuf, to append is to merge. */
export function encodeV2(document: Json): Buffer {
  const message = new Message();
  if (document.info) {
    const { title, version } = document.info as { title: string; version: string };
    message.text(1, "2.0").message(2, new Message().text(1, title).text(2, version));
  }
  const paths = new Message();
  for (const [path, item] of Object.entries(document.paths as Record<string, Json>)) {
    const value = new Message();
    for (const [method, field] of Object.entries(methodFields))
      if (item[method]) value.message(field, operationOf(item[method] as Json));
    for (const parameter of (item.parameters as Json[] | undefined) ?? []) value.message(9, parameterItem(parameter));
    paths.message(2, new Message().text(1, path).message(2, value));
  }
  message.message(8, paths);
  message.message(9, namedSchemas(document.definitions as Record<string, Json>));
  return message.encoded();
}
