// Text in columns, from the Tables that an API server prints its resources as.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { ObjectMeta } from "../../plugins/kit/kube/objects/types.ts";

export interface TableRow<T> {
  readonly cells: Readonly<Record<string, string>>;
  readonly object: T & { metadata: ObjectMeta };
}

interface Table<T> {
  columnDefinitions?: { name: string }[];
  rows?: { cells: unknown[]; object: T & { metadata: ObjectMeta } }[];
}

/** The rows of a list as the server prints them, cells by the name of their column, each with its object. */
export async function tableRows<T>(client: ApiClient, path: string, call: Call): Promise<TableRow<T>[]> {
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const separator = path.includes("?") ? "&" : "?";
  const response = await client.request(`${path}${separator}includeObject=Object`, { headers: { accept } }, call);
  const { columnDefinitions = [], rows = [] } = (await response.json()) as Table<T>;
  return rows.map(({ cells, object }) => ({
    object,
    cells: Object.fromEntries(columnDefinitions.map(({ name }, index) => [name, String(cells[index] ?? "")])),
  }));
}

/** Lines of padded columns below their upper-case headers. */
export function inColumns(headers: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headers.map((header) => header.toUpperCase()), ...rows];
  const widths = headers.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("   ")
      .trimEnd(),
  );
}
