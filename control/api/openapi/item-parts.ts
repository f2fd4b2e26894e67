// The pieces that path items are put together from.

export type Json = Record<string, unknown>;

export const refTo = (name: string | undefined): Json =>
  name ? { $ref: `#/components/schemas/${name}` } : { type: "object" };

export const query = (name: string, type: string, description: string): Json => ({
  name,
  in: "query",
  description,
  schema: { type, uniqueItems: true },
});

export const inPath = (name: string, description: string): Json => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string", uniqueItems: true },
});

export const jsonAnd = (schema: Json, ...types: readonly string[]): Json =>
  Object.fromEntries(types.map((type) => [type, { schema }]));

export const answers = (schema: Json, ...codes: readonly string[]): Json => ({
  ...Object.fromEntries(
    codes.map((code) => [
      code,
      {
        description: code === "201" ? "Created" : code === "202" ? "Accepted" : "OK",
        content: jsonAnd(schema, "application/json", "application/yaml"),
      },
    ]),
  ),
  "401": { description: "Unauthorized" },
});

export const body = (name: string | undefined, types: readonly string[]): Json => ({
  content: jsonAnd(refTo(name), ...types),
});
