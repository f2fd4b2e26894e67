// Finds field names in an expression that the schema does not have, so that a misspelt rule is refused when it is
// written and not when it first fails. Only what can be followed from a variable with a schema is judged.

import { type CelSchema, escapeFieldName } from "./values.ts";

interface Node {
  op: string;
  args: unknown;
  meta: { alternate?: Node; macro?: Record<string, unknown> };
}

type Scope = ReadonlyMap<string, CelSchema | undefined>;

/** Metadata of embedded objects that rules may always read. */
const metadata: CelSchema = {
  type: "object",
  properties: { name: { type: "string" }, generateName: { type: "string" } },
};
const objectFields: Record<string, CelSchema> = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata,
};

/** The first name that does not exist, or undefined. */
export function undefinedField(
  root: unknown,
  variables: Readonly<Record<string, CelSchema | undefined>>,
): string | undefined {
  let wrong: string | undefined;
  const note = (name: string) => {
    wrong ??= name;
  };
  schemaOf(root as Node, new Map(Object.entries(variables)), note);
  return wrong;
}

/** The schema of what a node gives, where that is known; visits everything below on the way. */
function schemaOf(node: Node, scope: Scope, note: (name: string) => void): CelSchema | undefined {
  if (node.meta.alternate) return ofComprehension(node.meta.alternate, scope, note);
  const macro = node.meta.macro;
  if (macro?.var !== undefined) {
    const bound = schemaOf(macro.val as Node, scope, note);
    return schemaOf(macro.exp as Node, new Map([...scope, [String(macro.var), bound]]), note);
  }
  const args = node.args;
  switch (node.op) {
    case "id":
      return scope.get(String(args));
    case ".":
    case ".?": {
      const [left, name] = args as [Node, string];
      return fieldOf(schemaOf(left, scope, note), name, note);
    }
    case "[]":
    case "[?]": {
      const [left, index] = args as [Node, Node];
      schemaOf(index, scope, note);
      const schema = schemaOf(left, scope, note);
      return (
        schema?.items ?? (typeof schema?.additionalProperties === "object" ? schema.additionalProperties : undefined)
      );
    }
    default:
      for (const child of childrenOf(args)) schemaOf(child, scope, note);
      return undefined;
  }
}

function ofComprehension(node: Node, scope: Scope, note: (name: string) => void): CelSchema | undefined {
  const parts = node.args as { iterable: Node; iterVarName: string; step: Node };
  const list = schemaOf(parts.iterable, scope, note);
  schemaOf(parts.step, new Map([...scope, [parts.iterVarName, list?.items]]), note);
  return undefined;
}

function fieldOf(schema: CelSchema | undefined, name: string, note: (name: string) => void): CelSchema | undefined {
  if (!schema || schema.type !== "object") return undefined;
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false) {
    return typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
  }
  const own = Object.entries(schema.properties ?? {}).find(([key]) => escapeFieldName(key) === name)?.[1];
  if (own) return own;
  if (schema["x-kubernetes-embedded-resource"] && objectFields[name]) return objectFields[name];
  if (schema["x-kubernetes-preserve-unknown-fields"]) return undefined;
  note(name);
  return undefined;
}

function childrenOf(args: unknown): Node[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf);
  return typeof args === "object" && args !== null && "op" in args ? [args as Node] : [];
}
