// Where a registry is really reached: mirrors, plain HTTP and standing credentials, in the shape of k3s's registries.yaml.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { ImageReference } from "./reference.ts";

export interface RegistryCredentials {
  username?: string;
  password?: string;
  /** base64 of `username:password`. */
  auth?: string;
  /** An OAuth refresh token. */
  identityToken?: string;
  /** A bearer token to be sent as it is. */
  registryToken?: string;
}

interface RegistryTls {
  /** PEM files. */
  caFile?: string;
  certFile?: string;
  keyFile?: string;
  insecureSkipVerify?: boolean;
}

export interface RegistriesConfig {
  /** By registry host, or "*" for all: endpoints tried in order before the registry itself. */
  mirrors?: Record<string, { endpoint: string[] }>;
  /** By endpoint host: how to reach it, and credentials that hold where the pull brings none. */
  configs?: Record<string, { auth?: RegistryCredentials; tls?: RegistryTls }>;
}

/** Checks the parsed content of a registries.yaml; throws a Fault `invalid` that names the key. */
export function parseRegistries(raw: unknown): RegistriesConfig {
  const file = objectAt(raw, "registries");
  const config: RegistriesConfig = { mirrors: {}, configs: {} };
  for (const [host, value] of Object.entries(objectAt(file.mirrors, "mirrors"))) {
    const { endpoint } = objectAt(value, `mirrors.${host}`);
    if (!Array.isArray(endpoint) || !endpoint.every((one): one is string => typeof one === "string")) {
      throw new Fault("invalid", `Bad registries settings: mirrors.${host}.endpoint is not a list of addresses`);
    }
    (config.mirrors as NonNullable<typeof config.mirrors>)[host] = { endpoint };
  }
  for (const [host, value] of Object.entries(objectAt(file.configs, "configs"))) {
    const found = objectAt(value, `configs.${host}`);
    const auth = objectAt(found.auth, `configs.${host}.auth`);
    const tls = objectAt(found.tls, `configs.${host}.tls`);
    (config.configs as NonNullable<typeof config.configs>)[host] = {
      auth: texts({
        username: auth.username,
        password: auth.password,
        auth: auth.auth,
        identityToken: auth.identity_token,
      }),
      tls: {
        ...texts({ caFile: tls.ca_file, certFile: tls.cert_file, keyFile: tls.key_file }),
        insecureSkipVerify: tls.insecure_skip_verify === true,
      },
    };
  }
  return config;
}

function objectAt(value: unknown, key: string): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw new Fault("invalid", `Bad registries settings: ${key} is not a map`);
  return value as Record<string, unknown>;
}

function texts<K extends string>(values: Record<K, unknown>): Partial<Record<K, string>> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return Object.fromEntries(given.map(([key, value]) => [key, String(value)])) as Partial<Record<K, string>>;
}

export interface Endpoint {
  /** Origin and path prefix, without `/v2`. */
  readonly url: string;
  readonly host: string;
  readonly isMirror: boolean;
}

const hosts: Record<string, string> = { "docker.io": "registry-1.docker.io" };

/** Loopback registries speak plain HTTP unless told otherwise, as Docker has it. */
function defaultScheme(host: string): string {
  const name = host.replace(/:\d+$/, "");
  return name === "localhost" || name === "[::1]" || name.startsWith("127.") ? "http" : "https";
}

export function endpointsFor(reference: ImageReference, config: RegistriesConfig): Endpoint[] {
  const mirrors = config.mirrors?.[reference.registry] ?? config.mirrors?.["*"];
  const found: Endpoint[] = (mirrors?.endpoint ?? []).map((text) => {
    const url = new URL(text.includes("://") ? text : `${defaultScheme(text)}://${text}`);
    const path = url.pathname.replace(/\/(v2\/?)?$/, "");
    return { url: `${url.origin}${path}`, host: url.host, isMirror: true };
  });
  const host = hosts[reference.registry] ?? reference.registry;
  const own = { url: `${defaultScheme(host)}://${host}`, host, isMirror: false };
  return found.some((endpoint) => endpoint.url === own.url) ? found : [...found, own];
}

/** The `Basic` user and password of credentials in any of their forms. */
export function basicOf(credentials: RegistryCredentials | undefined): string | undefined {
  if (!credentials) return undefined;
  if (credentials.username)
    return Buffer.from(`${credentials.username}:${credentials.password ?? ""}`).toString("base64");
  return credentials.auth || undefined;
}
