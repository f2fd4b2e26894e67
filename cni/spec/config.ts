// Network configurations as they stand in /etc/cni/net.d: a list of plugins, or one plugin, checked once when read.

import { CniFault, cniCode } from "./error.ts";
import { type CniVersion, newestVersion, parseVersion } from "./version.ts";

/** What one plugin is handed on stdin. Everything beyond these keys belongs to the plugin. */
export interface PluginConfig {
  readonly cniVersion: string;
  readonly name: string;
  readonly type: string;
  readonly capabilities?: Readonly<Record<string, boolean>>;
  readonly ipam?: Readonly<Record<string, unknown>>;
  readonly dns?: Readonly<Record<string, unknown>>;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly runtimeConfig?: Readonly<Record<string, unknown>>;
  readonly prevResult?: unknown;
  readonly "cni.dev/valid-attachments"?: readonly { containerID: string; ifname: string }[];
  readonly [key: string]: unknown;
}

export interface NetworkList {
  readonly cniVersion: CniVersion;
  readonly name: string;
  readonly disableCheck: boolean;
  readonly disableGC: boolean;
  readonly plugins: readonly PluginConfig[];
}

const namePattern = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

function bad(what: string): CniFault {
  return new CniFault(cniCode.invalidConfig, `Invalid network configuration: ${what}`);
}

function parseJson(text: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new CniFault(cniCode.decodingFailure, `Cannot read a network configuration: ${(error as Error).message}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw bad("it is not a JSON object");
  return parsed as Record<string, unknown>;
}

/** Reads a `.conflist`, or a `.conf` as a list of one. */
export function parseNetworkList(text: string): NetworkList {
  const body = parseJson(text);
  const name = networkName(body.name);
  const cniVersion = listVersion(body);
  const plugins = "plugins" in body ? body.plugins : [body];
  if (!Array.isArray(plugins) || plugins.length === 0) throw bad(`network "${name}" has no plugins`);
  return {
    cniVersion,
    name,
    disableCheck: isTrue(body.disableCheck),
    disableGC: isTrue(body.disableGC),
    plugins: plugins.map((plugin: unknown, index) => {
      if (typeof plugin !== "object" || plugin === null) throw bad(`plugin ${index} of "${name}" is not an object`);
      const type = (plugin as { type?: unknown }).type;
      if (typeof type !== "string" || !namePattern.test(type))
        throw bad(`plugin ${index} of network "${name}" has no usable type: ${JSON.stringify(type)}`);
      return { ...plugin, cniVersion, name, type };
    }),
  };
}

// `cniVersions` (1.1.0) lets a list name several; the newest we both speak is used.
function listVersion(body: Record<string, unknown>): CniVersion {
  const named = [
    body.cniVersion ?? "0.3.0",
    ...(Array.isArray(body.cniVersions) ? (body.cniVersions as unknown[]) : []),
  ];
  const known = named.flatMap((version) => {
    try {
      return [parseVersion(version)];
    } catch {
      // Some version of the list may be newer than we know; one that we know is enough.
      return [];
    }
  });
  return known.sort().at(-1) ?? parseVersion(body.cniVersion ?? newestVersion);
}

/** A field whatever the case of its name: runtimes written in Go send `HostPort` where the specification says `hostPort`. */
export function fieldOf(object: Readonly<Record<string, unknown>>, name: string): unknown {
  if (object[name] !== undefined) return object[name];
  const lower = name.toLowerCase();
  const key = Object.keys(object).find((key) => key.toLowerCase() === lower);
  return key === undefined ? undefined : object[key];
}

function isTrue(value: unknown): boolean {
  return value === true || value === "true";
}

export function networkName(name: unknown): string {
  if (typeof name !== "string" || !namePattern.test(name))
    throw bad(`the network name ${JSON.stringify(name)} must be letters, digits, "_", "." and "-"`);
  return name;
}

/** Reads what a program gets on stdin. The version is checked by whoever knows the verb. */
export function parsePluginConfig(text: string): PluginConfig {
  const body = parseJson(text);
  return {
    ...body,
    cniVersion: String(body.cniVersion ?? "0.3.0"),
    name: String(body.name ?? ""),
    type: String(body.type ?? ""),
  };
}
