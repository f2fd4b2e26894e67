// From a request below a pod, node or service to whom it must be passed on.

import { isTrue } from "../../../plugins/kit/base/query-flag.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { KubeObject, Node, Pod, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { localKey } from "../../storage/keys.ts";
import { inNamespace } from "../../storage/resource-cache.ts";
import type { ResourcePath } from "../path.ts";
import type { Services } from "../scope.ts";
import { badRequest, failure, notFound } from "../../machinery/status.ts";
import type { ConnectTarget } from "./connector.ts";

const kubeletPaths: Record<string, string> = {
  log: "containerLogs",
  exec: "exec",
  attach: "attach",
  portforward: "portForward",
};
const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container";

/** Where the request goes. Faults `not-found` and `invalid` are told to the client as they are. */
export function resolveTarget(services: Services, path: ResourcePath, query: URLSearchParams): ConnectTarget {
  if (path.plural === "nodes") return nodeProxy(services, path, query);
  if (path.plural === "services") return serviceProxy(services, path, query);
  if (path.subresource === "proxy") return podProxy(services, path, query);
  return kubeletTarget(services, path, query);
}

/** The same for a log; undefined for a pod that has no node yet, and therefore no log. */
export function resolveLog(services: Services, path: ResourcePath, query: URLSearchParams): ConnectTarget | undefined {
  const pod = find<Pod>(services, "pods", path.namespace, path.name);
  if (pod.spec?.nodeName) return kubeletTarget(services, path, query);
  containerOf(pod, query.get("container") ?? "");
  return undefined;
}

function kubeletTarget(services: Services, path: ResourcePath, query: URLSearchParams): ConnectTarget {
  const pod = find<Pod>(services, "pods", path.namespace, path.name);
  const isForward = path.subresource === "portforward";
  const container = isForward ? "" : containerOf(pod, query.get("container") ?? "");
  const nodeName = pod.spec?.nodeName ?? "";
  if (nodeName === "") throw badRequest(`pod ${path.name} does not have a host assigned`);
  const node = find<Node>(services, "nodes", "", nodeName);
  const base = `/${kubeletPaths[path.subresource] ?? path.subresource}/${path.namespace}/${path.name}`;
  if (isForward)
    return { kind: "node", node, path: withQuery(base, pick(query, ["ports", "port"], { ports: "port" })) };
  const asked =
    path.subresource === "log"
      ? pick(query, ["follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes"])
      : streams(query);
  return { kind: "node", node, path: withQuery(`${base}/${container}`, asked) };
}

/** Exec and attach are asked with other words at a kubelet. */
function streams(query: URLSearchParams): URLSearchParams {
  const result = new URLSearchParams();
  for (const [ours, theirs] of [
    ["stdin", "input"],
    ["stdout", "output"],
    ["stderr", "error"],
    ["tty", "tty"],
  ] as const)
    if (isTrue(query.get(ours))) result.set(theirs, "1");
  for (const command of query.getAll("command")) result.append("command", command);
  return result;
}

function containerOf(pod: Pod, asked: string): string {
  const all = [
    ...(pod.spec?.initContainers ?? []),
    ...(pod.spec?.containers ?? []),
    ...(pod.spec?.ephemeralContainers ?? []),
  ].map(({ name }) => name);
  const name = pod.metadata.name ?? "";
  if (asked !== "") {
    if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${name}`);
    return asked;
  }
  const names = (pod.spec?.containers ?? []).map((container) => container.name);
  const [only] = names;
  if (names.length === 1 && only) return only;
  const preferred = pod.metadata.annotations?.[defaultContainerAnnotation];
  if (preferred && all.includes(preferred)) return preferred;
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]`);
}

function nodeProxy(services: Services, path: ResourcePath, query: URLSearchParams): ConnectTarget {
  const { scheme, name, port } = splitName("node", path.name);
  // It becomes part of a URL: `80@10.0.0.1` would lead to another host.
  if (!/^\d{0,5}$/.test(port)) throw badRequest(`invalid node request ${JSON.stringify(path.name)}`);
  const node = find<Node>(services, "nodes", "", name);
  const own = String(node.status?.daemonEndpoints?.kubeletEndpoint?.Port || kubeletPort);
  if (port !== "" && port !== own) {
    const address = node.status?.addresses?.find((one) => one.type === "InternalIP")?.address;
    if (!address) throw unavailable(`no address is known for node ${name}`);
    return { kind: "address", url: withQuery(`${scheme}://${hostOf(address)}:${port}${path.rest || "/"}`, query) };
  }
  return { kind: "node", node, path: withQuery(path.rest || "/", query) };
}

const kubeletPort = 10250;
const schemes: ReadonlySet<string> = new Set(["", "http", "https"]);

/** `name`, `name:port` or `scheme:name:port`. */
function splitName(what: string, text: string): { scheme: string; name: string; port: string } {
  const parts = text.split(":");
  const [scheme = "", name = "", port = ""] = parts.length > 2 ? parts : ["", ...parts];
  if (parts.length > 3 || name === "" || !schemes.has(scheme))
    throw badRequest(`invalid ${what} request ${JSON.stringify(text)}`);
  return { scheme: scheme || "http", name, port };
}

function podProxy(services: Services, path: ResourcePath, query: URLSearchParams): ConnectTarget {
  const { scheme, name, port } = splitName("pod", path.name);
  const pod = find<Pod>(services, "pods", path.namespace, name);
  const address = pod.status?.podIP;
  if (!address) throw badRequest("address not allowed");
  const named = pod.spec?.containers.flatMap((container) => container.ports ?? []);
  const number = /^\d+$/.test(port)
    ? port
    : String(named?.find((one) => port === "" || one.name === port)?.containerPort ?? 80);
  return { kind: "address", url: withQuery(`${scheme}://${hostOf(address)}:${number}${path.rest || "/"}`, query) };
}

interface Slice extends KubeObject {
  ports?: { name?: string; port?: number }[];
  endpoints?: Endpoint[];
}

interface Endpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: { readonly ready?: boolean };
  readonly targetRef?: { readonly kind?: string; readonly namespace?: string; readonly name?: string };
}

/** Whoever may write endpoints could lead us anywhere: we go to pods alone, where they really are. */
function isPod(services: Services, namespace: string, { addresses, targetRef }: Endpoint): boolean {
  if (targetRef?.kind !== "Pod" || targetRef.namespace !== namespace) return false;
  const entry = services.cache.cache({ group: "", plural: "pods" }).get(localKey(namespace, targetRef.name ?? ""));
  const { podIP, podIPs = [] } = (entry?.object as Pod | undefined)?.status ?? {};
  return [podIP, ...podIPs.map(({ ip }) => ip)].some((ip) => ip !== undefined && ip === addresses?.[0]);
}

function serviceProxy(services: Services, path: ResourcePath, query: URLSearchParams): ConnectTarget {
  const { scheme, name, port } = splitName("service", path.name);
  const service = find<Service>(services, "services", path.namespace, name);
  const ports = service.spec?.ports ?? [];
  const wanted = ports.find((one) =>
    port === "" ? ports.length === 1 : one.name === port || String(one.port) === port,
  );
  if (!wanted) throw unavailable(`no service port ${JSON.stringify(port)} found for service ${JSON.stringify(name)}`);
  const slices = inNamespace(
    services.cache.cache({ group: "discovery.k8s.io", plural: "endpointslices" }).sorted(),
    path.namespace,
  );
  const ready = slices.flatMap((entry) => {
    const slice = entry.object as Slice;
    if (slice.metadata.labels?.["kubernetes.io/service-name"] !== name) return [];
    const number = slice.ports?.find((one) => (one.name ?? "") === (wanted.name ?? ""))?.port;
    const addresses = (slice.endpoints ?? [])
      .filter((one) => one.conditions?.ready !== false && isPod(services, path.namespace, one))
      .flatMap((one) => one.addresses?.[0] ?? []);
    return number ? addresses.map((address) => `${hostOf(address)}:${number}`) : [];
  });
  // Every endpoint has the same chance, in whichever slice it stands.
  const chosen = ready[Math.floor(Math.random() * ready.length)];
  if (chosen) return { kind: "address", url: withQuery(`${scheme}://${chosen}${path.rest || "/"}`, query) };
  throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`);
}

function find<T>(services: Services, plural: string, namespace: string, name: string): T {
  const entry = services.cache.cache({ group: "", plural }).get(localKey(namespace, name));
  if (!entry) throw notFound({ group: "", plural }, name);
  return entry.object as unknown as T;
}

function unavailable(message: string): Fault {
  return new Fault("unavailable", message, { details: failure(503, "ServiceUnavailable", message) });
}

function hostOf(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

function pick(query: URLSearchParams, names: readonly string[], renamed: Record<string, string> = {}): URLSearchParams {
  const result = new URLSearchParams();
  for (const name of names) for (const value of query.getAll(name)) result.append(renamed[name] ?? name, value);
  return result;
}

function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}
