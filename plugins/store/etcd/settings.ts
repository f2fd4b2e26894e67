// The etcd store's settings out of a config file's raw values.

import { Fault } from "../../kit/base/fault.ts";
import type { EtcdStoreOptions } from "../etcd.ts";
import { readCount, readSettings, readString, readStrings } from "../settings.ts";
import type { Expiry } from "./expiring.ts";

const known = ["endpoints", "caFile", "certFile", "keyFile", "prefix", "expirySeconds", "historySeconds"] as const;

export function readEtcdSettings(raw: unknown): EtcdStoreOptions {
  const settings = readSettings(raw, known);
  const endpoints = readStrings(settings, "endpoints") ?? [];
  if (endpoints.length === 0) throw invalid(`"endpoints" is empty`);
  for (const endpoint of endpoints) checkEndpoint(endpoint);
  const [caFile, certFile, keyFile, prefix] = (["caFile", "certFile", "keyFile", "prefix"] as const).map((key) =>
    readString(settings, key),
  );
  if ((certFile === undefined) !== (keyFile === undefined)) throw invalid(`"certFile" and "keyFile" go together`);
  const historySeconds = readCount(settings, "historySeconds");
  return {
    endpoints,
    expirySeconds: readExpiry(settings["expirySeconds"]),
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(historySeconds === undefined ? {} : { historyMs: historySeconds * 1000 }),
  };
}

function checkEndpoint(endpoint: string): void {
  const url = URL.parse(endpoint);
  if (url && /^https?:$/.test(url.protocol) && url.host !== "") return;
  throw invalid(`endpoint "${endpoint}" is not of the form https://host:port`);
}

function readExpiry(raw: unknown): Expiry {
  if (raw === undefined) return {};
  const isMapping = typeof raw === "object" && raw !== null && !Array.isArray(raw);
  if (isMapping && Object.values(raw).every((value) => Number.isSafeInteger(value) && value >= 1)) return raw as Expiry;
  throw invalid(`"expirySeconds" is not a mapping of prefixes to whole seconds`);
}

function invalid(what: string): Fault {
  return new Fault("invalid", what);
}
