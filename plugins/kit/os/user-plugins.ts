// Loads users' own plugins: files or packages named in the config, each exporting one Plugin or a list of them. A plugin runs with all of
// our rights, so its file must be one that nobody else can write or replace.

import { access } from "node:fs/promises";
import { createRequire } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Fault } from "../base/fault.ts";
import { requireTrustedFile } from "./platform/trusted-file.ts";
import type { AnyPlugin } from "../base/plugin.ts";

/** The plugins that the entries export, in order. Paths are relative to `baseDir`, and packages are looked up from there. */
export async function loadUserPlugins(entries: readonly string[], baseDir: string): Promise<AnyPlugin[]> {
  const seen = new Set<string>();
  const plugins: AnyPlugin[] = [];
  for (const entry of entries) {
    const file = await locate(entry, baseDir);
    if (seen.has(file)) throw new Fault("invalid", `Plugin "${entry}" is listed twice`);
    seen.add(file);
    plugins.push(...(await load(entry, file)));
  }
  return plugins;
}

async function locate(entry: string, baseDir: string): Promise<string> {
  if (entry.startsWith(".") || isAbsolute(entry)) {
    const file = resolve(baseDir, entry);
    try {
      await access(file);
    } catch (error) {
      throw new Fault("not-found", `Cannot load plugin "${entry}": there is no file ${file}`, { cause: error });
    }
    return file;
  }
  try {
    return createRequire(join(resolve(baseDir), "config.js")).resolve(entry);
  } catch (error) {
    throw new Fault(
      "not-found",
      `Cannot load plugin "${entry}": no package of that name is installed for ${baseDir}; a file's path begins with "./" or "/"`,
      { cause: error },
    );
  }
}

async function load(entry: string, file: string): Promise<AnyPlugin[]> {
  requireTrustedFile(file, `Cannot load plugin "${entry}"`);
  let exported: Record<string, unknown>;
  try {
    exported = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault("invalid", `Cannot load plugin "${entry}": ${why}`, { cause: error });
  }
  const candidates = exported["default"] === undefined ? Object.values(exported) : [exported["default"]].flat();
  const plugins = candidates.filter(isPlugin);
  if (plugins.length === 0)
    throw new Fault(
      "invalid",
      `Cannot load plugin "${entry}": ${file} exports no plugin (an object with kind, name and open)`,
    );
  return plugins;
}

function isPlugin(value: unknown): value is AnyPlugin {
  const plugin = value as Partial<AnyPlugin> | null | undefined;
  return (
    typeof plugin === "object" &&
    plugin !== null &&
    typeof plugin.name === "string" &&
    typeof plugin.kind?.name === "string" &&
    typeof plugin.open === "function"
  );
}
