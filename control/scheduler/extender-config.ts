// The extenders of a kube-scheduler configuration, or of a policy file of the early days: checked, in the order they are asked.

import { readFileSync } from "node:fs";
import * as check from "../../plugins/kit/base/config-check.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { isLabelKey } from "../../plugins/kit/kube/selector.ts";
import { Extender } from "./extender.ts";

const text = check.withDefault(check.string, "");
const flag = check.withDefault(check.boolean, false);

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** As Go writes durations, or nanoseconds as policies of the early days had it. Nothing, or 0, is the usual five seconds. */
const duration: check.Check<number> = (raw, where) => {
  if (raw === undefined || raw === null || raw === 0 || raw === "0") return 5000;
  if (typeof raw === "number") return check.number({ min: 1 })(raw, where) / 1e6;
  const parts = [...check.string(raw, where).matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)];
  const isWhole = parts.map(([part]) => part).join("") === raw && parts.length > 0;
  if (!isWhole) throw new Fault("invalid", `${where} must be a duration such as "5s", not ${JSON.stringify(raw)}`);
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ""] ?? 0), 0) || 5000;
};

/** A name with a domain before the slash that is not Kubernetes' own. */
const isExtended = (name: string) =>
  isLabelKey(name) && name.includes("/") && !name.includes("kubernetes.io/") && !name.startsWith("requests.");

const shape = {
  urlPrefix: check.that(check.string, isUrl, "a URL such as http://127.0.0.1:8888/scheduler"),
  filterVerb: text,
  preemptVerb: text,
  prioritizeVerb: text,
  weight: check.withDefault(check.integer(), 0),
  bindVerb: text,
  enableHTTPS: flag,
  tlsConfig: check.optional(
    check.object({
      insecure: flag,
      serverName: text,
      certFile: text,
      keyFile: text,
      caFile: text,
      certData: text,
      keyData: text,
      caData: text,
    }),
  ),
  httpTimeout: duration,
  nodeCacheCapable: flag,
  managedResources: check.withDefault(
    check.listOf(
      check.object({
        name: check.that(check.string, isExtended, "the name of an extended resource"),
        ignoredByScheduler: flag,
      }),
    ),
    [],
  ),
  ignorable: flag,
};
const extenderShape = check.object(shape);
type Settings = ReturnType<typeof extenderShape>;

export const extendersShape = check.withDefault(check.listOf(extenderShape), []);

function isUrl(raw: string): boolean {
  return URL.canParse(raw) && /^https?:$/.test(new URL(raw).protocol);
}

/** Those that may fail come last, so that they see what the others left; and what others count is named. */
export function extendersFrom(
  settings: readonly Settings[],
  where: string,
): { extenders: Extender[]; ignoredResources: string[] } {
  const seen = new Set<string>();
  for (const [index, { prioritizeVerb, weight, managedResources }] of settings.entries()) {
    if (prioritizeVerb && weight <= 0)
      throw new Fault(
        "invalid",
        `${where}[${index}].weight must be more than 0 where prioritizeVerb is set, not ${weight}`,
      );
    for (const [at, { name }] of managedResources.entries()) {
      if (seen.has(name))
        throw new Fault("invalid", `${where}[${index}].managedResources[${at}].name "${name}" is there already`);
      seen.add(name);
    }
  }
  const binders = settings.filter(({ bindVerb }) => bindVerb).length;
  if (binders > 1)
    throw new Fault("invalid", `${where}: only one extender can bind, and ${binders} of them have a bindVerb`);
  const made = settings.map((one, index) => ({
    isIgnorable: one.ignorable,
    extender: open(one, `${where}[${index}]`),
  }));
  return {
    extenders: [...made.filter((one) => !one.isIgnorable), ...made.filter((one) => one.isIgnorable)].map(
      ({ extender }) => extender,
    ),
    ignoredResources: settings.flatMap(({ managedResources }) =>
      managedResources.filter((resource) => resource.ignoredByScheduler).map(({ name }) => name),
    ),
  };
}

function open({ tlsConfig: tls, ...settings }: Settings, where: string): Extender {
  const pem = (
    file: "caFile" | "certFile" | "keyFile",
    data: "caData" | "certData" | "keyData",
  ): string | undefined => {
    if (tls?.[data]) return Buffer.from(tls[data], "base64").toString("utf8");
    if (!tls?.[file]) return undefined;
    try {
      return readFileSync(tls[file], "utf8");
    } catch (error) {
      const why = (error as Error).message;
      throw new Fault("invalid", `${where}.tlsConfig.${file} cannot be read: ${why}`, { cause: error });
    }
  };
  const ca = pem("caFile", "caData");
  const cert = pem("certFile", "certData");
  const key = pem("keyFile", "keyData");
  if (Boolean(cert) !== Boolean(key))
    throw new Fault("invalid", `${where}.tlsConfig must give a certificate and its key together`);
  if (ca && tls?.insecure)
    throw new Fault("invalid", `${where}.tlsConfig cannot give an authority and be insecure at once`);
  const fetch = httpFetch({
    ca,
    cert,
    key,
    servername: tls?.serverName || undefined,
    insecureSkipVerify: tls?.insecure || (settings.enableHTTPS && !ca),
    connectTimeoutMs: settings.httpTimeout,
  });
  return new Extender({
    fetch,
    url: settings.urlPrefix.replace(/\/+$/, ""),
    verbs: {
      filter: settings.filterVerb,
      prioritize: settings.prioritizeVerb,
      preempt: settings.preemptVerb,
      bind: settings.bindVerb,
    },
    weight: settings.weight,
    timeoutMs: settings.httpTimeout,
    hasNodes: settings.nodeCacheCapable,
    resources: settings.managedResources.map(({ name }) => name),
    isIgnorable: settings.ignorable,
  });
}
