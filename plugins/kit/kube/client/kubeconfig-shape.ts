// The types of what a kubeconfig file may say. Everything below trusts them, so that a typing error in a file is a message about the
// field and not a failure somewhere else.

import { Fault } from "../../base/fault.ts";

type Check = (value: unknown) => string | undefined;

const text: Check = (value) => (typeof value === "string" ? undefined : "a string");
const flag: Check = (value) => (typeof value === "boolean" ? undefined : "true or false");
const anything: Check = () => undefined;
const texts = (value: unknown) => (Array.isArray(value) && !value.some(text) ? undefined : "a list of strings");
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const variables = (value: unknown) =>
  Array.isArray(value) && value.every((each) => isObject(each) && !text(each["name"]) && !text(each["value"]))
    ? undefined
    : "a list of names and values";

type Shape = { readonly [field: string]: Check | Shape };

const cluster: Shape = {
  server: text,
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": flag,
  "tls-server-name": text,
  "proxy-url": text,
};
const user: Shape = {
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  "as-uid": text,
  "as-groups": texts,
  exec: {
    apiVersion: text,
    command: text,
    args: texts,
    env: variables,
    installHint: text,
    provideClusterInfo: flag,
  },
  "auth-provider": anything,
};
const context: Shape = { cluster: text, user: text, namespace: text };
const lists: Readonly<Record<string, Shape>> = {
  clusters: { name: text, cluster },
  users: { name: text, user },
  contexts: { name: text, context },
};

/** Fault `invalid` names the first field of another type. Fields that are not known here are left alone. */
export function checkKubeconfig(file: unknown, path: string): void {
  if (file === undefined) return;
  checkShape(file, { "current-context": text }, "the file", path);
  for (const [list, shape] of Object.entries(lists)) {
    const entries = (file as Record<string, unknown>)[list] ?? [];
    if (!Array.isArray(entries)) throw wrong(path, list, "a list");
    for (const [index, entry] of entries.entries()) checkShape(entry, shape, `${list}[${index}]`, path);
  }
}

function checkShape(value: unknown, shape: Shape, at: string, path: string): void {
  if (!isObject(value)) throw wrong(path, at, "an object");
  for (const [field, rule] of Object.entries(shape)) {
    const said = Object.hasOwn(value, field) ? value[field] : undefined;
    if (said === undefined || said === null) continue;
    if (typeof rule !== "function") checkShape(said, rule, `${at}.${field}`, path);
    else {
      const wanted = rule(said);
      if (wanted) throw wrong(path, `${at}.${field}`, wanted);
    }
  }
}

function wrong(path: string, field: string, wanted: string): Fault {
  return new Fault("invalid", `Cannot use ${path}: ${field} must be ${wanted}`);
}
