// Secret.

import { warnOfPair } from "./warn-of-pair.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid, required, tooLong } from "../../machinery/field-error.ts";
import { configKey } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { immutableErrors } from "./config-map.ts";

const maximumBytes = 1024 * 1024;
const dataOf = (object: KubeObject) => (object.data ?? {}) as Record<string, string>;

/** Which keys a secret of a known type must have. */
const keysByType: Record<string, readonly string[]> = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
};

export const secrets: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "secrets",
  singular: "secret",
  kind: "Secret",
  namespaced: true,
  selectable: { type: (object) => String(object.type ?? "") },
  columns: [
    nameColumn,
    column("Type", "What the secret is for."),
    column("Data", "How many entries it holds."),
    ageColumn,
  ],
  cells: (object, now) => [
    object.metadata.name,
    object.type ?? "",
    Object.keys(dataOf(object)).length,
    age(object.metadata.creationTimestamp, now),
  ],
  defaults(object) {
    if (!object.type) object.type = "Opaque";
    // Plain text is a convenience of writing: it is never kept or shown as such.
    const plain = object.stringData as Record<string, string> | undefined;
    if (plain && typeof plain === "object") {
      const encoded = Object.entries(plain).map(([key, value]) => [key, Buffer.from(String(value)).toString("base64")]);
      object.data = { ...dataOf(object), ...Object.fromEntries(encoded) };
    }
    delete object.stringData;
  },
  warnings(object) {
    const { type, data } = object as { type?: string; data?: Record<string, string> };
    return type === "kubernetes.io/tls" ? warnOfPair(data?.["tls.crt"], data?.["tls.key"]) : [];
  },
  validate(object, previous) {
    const errors: FieldErrors = [];
    let bytes = 0;
    for (const [key, value] of Object.entries(dataOf(object))) {
      for (const problem of configKey(key)) errors.push(invalid(`data[${key}]`, key, problem));
      bytes += Math.floor(((value ?? "").length * 3) / 4);
    }
    if (bytes > maximumBytes) errors.push(tooLong("data", maximumBytes));
    const type = String(object.type ?? "");
    for (const key of keysByType[type] ?? [])
      if (!Object.hasOwn(dataOf(object), key) || (key === "ssh-privatekey" && dataOf(object)[key] === ""))
        errors.push(required(`data[${key}]`));
    for (const [kind, key] of Object.entries(dockerKeys)) {
      const text = dataOf(object)[key];
      if (type === kind && text !== undefined && !isJsonObject(text))
        errors.push(invalid(`data[${key}]`, "<secret contents redacted>", "must be a JSON object"));
    }
    if (type === "kubernetes.io/basic-auth" && !("username" in dataOf(object)) && !("password" in dataOf(object)))
      errors.push(required("data[username]"), required("data[password]"));
    if (
      type === "kubernetes.io/service-account-token" &&
      !object.metadata.annotations?.["kubernetes.io/service-account.name"]
    )
      errors.push(required("metadata.annotations[kubernetes.io/service-account.name]"));
    if (previous) {
      if (previous.type !== object.type) errors.push(invalid("type", object.type, "field is immutable"));
      if (previous.immutable === true) errors.push(...immutableErrors(object, previous, ["data"]));
    }
    return errors;
  },
};

const dockerKeys = {
  "kubernetes.io/dockercfg": ".dockercfg",
  "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
};

function isJsonObject(base64: string): boolean {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64, "base64").toString("utf8"));
    return typeof value === "object" && !Array.isArray(value);
  } catch {
    // Whatever it is, no client can read it.
    return false;
  }
}
