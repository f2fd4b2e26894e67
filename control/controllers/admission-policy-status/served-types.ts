// Asks the API which kinds there are and what their schemas declare, as any client may: so custom resources and those of other
// servers are known like the built-in ones. Remembers what it was told; made anew for each check.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { CelSchema } from "../../../plugins/kit/kube/cel.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { GroupVersion, GroupVersionKind } from "./objects.ts";

interface ApiResource {
  name: string;
  singularName?: string;
  kind: string;
}

interface Schema extends Omit<CelSchema, "properties" | "items" | "additionalProperties"> {
  $ref?: string;
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  "x-kubernetes-group-version-kind"?: GroupVersionKind[];
}

type Schemas = Readonly<Record<string, Schema>>;

const pathOf = ({ group, version }: GroupVersion) => (group === "" ? `api/${version}` : `apis/${group}/${version}`);

export class ServedTypes {
  readonly #client: ApiClient;
  readonly #call: Call;
  readonly #answers = new Map<string, Promise<unknown>>();

  constructor(client: ApiClient, call: Call) {
    this.#client = client;
    this.#call = call;
  }

  /** The kind of a resource, named by its plural or singular; undefined where it is not served. */
  async kindOf(at: GroupVersion, resource: string): Promise<string | undefined> {
    const list = await this.#ask<{ resources?: ApiResource[] }>(`/${pathOf(at)}`);
    return list?.resources?.find(({ name, singularName }) => name === resource || singularName === resource)?.kind;
  }

  /** What is told of a kind, without references; undefined where nothing is. */
  async schemaOf(asked: GroupVersionKind): Promise<CelSchema | undefined> {
    const document = await this.#ask<{ components?: { schemas?: Schemas } }>(`/openapi/v3/${pathOf(asked)}`);
    const schemas = document?.components?.schemas ?? {};
    const isAsked = ({ group, version, kind }: GroupVersionKind) =>
      group === asked.group && version === asked.version && kind === asked.kind;
    const name = Object.keys(schemas).find((each) => schemas[each]?.["x-kubernetes-group-version-kind"]?.some(isAsked));
    return name === undefined ? undefined : withoutReferences({ $ref: name }, schemas, new Set());
  }

  #ask<T>(path: string): Promise<T | undefined> {
    let answer = this.#answers.get(path);
    if (!answer) {
      answer = this.#read(path);
      this.#answers.set(path, answer);
    }
    return answer as Promise<T | undefined>;
  }

  async #read(path: string): Promise<unknown> {
    try {
      const response = await this.#client.request(path, {}, this.#call);
      return await response.json();
    } catch (error) {
      if (isFault(error, "not-found")) return undefined;
      throw error;
    }
  }
}

/** A type that holds itself is an object of no known fields where it does, as upstream has it. */
function withoutReferences(schema: Schema, schemas: Schemas, within: Set<string>): CelSchema {
  const name = referenceIn(schema)?.replace(/^.*\//, "");
  if (name === undefined) return withParts(schema, schemas, within);
  if (within.has(name)) return { type: "object" };
  within.add(name);
  const found = withParts(schemas[name] ?? {}, schemas, within);
  within.delete(name);
  return found;
}

const referenceIn = ({ $ref, allOf }: Schema): string | undefined =>
  $ref ?? allOf?.map(referenceIn).find((each) => each !== undefined);

function withParts(schema: Schema, schemas: Schemas, within: Set<string>): CelSchema {
  const { properties, items, additionalProperties, ...own } = schema;
  const each = (part: Schema) => withoutReferences(part, schemas, within);
  return {
    ...own,
    ...(own.format === "int-or-string" ? { "x-kubernetes-int-or-string": true } : {}),
    ...(properties
      ? { properties: Object.fromEntries(Object.entries(properties).map(([field, part]) => [field, each(part)])) }
      : {}),
    ...(items ? { items: each(items) } : {}),
    ...(typeof additionalProperties === "object" ? { additionalProperties: each(additionalProperties) } : {}),
  };
}
