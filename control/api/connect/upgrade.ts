// Raw connection upgrades (exec, attach, port-forward, proxied WebSockets, logs over one): authenticated, authorized and resolved
// like any request, then handed to the connector. A refusal is an ordinary HTTP answer on the socket.

import { ServedHeaders } from "../../../plugins/kit/os/platform/served-headers.ts";
import type { Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";
import { targetOf } from "../../../plugins/kit/os/platform/served-url.ts";
import type { AuditTrail } from "../../auth/audit/contract.ts";
import { passUpgrade } from "../aggregation/pass.ts";
import { statusAnswer } from "../../machinery/answer.ts";
import { dispatch, type Dispatcher, permit } from "../dispatch.ts";
import { parsePath, type ResourcePath } from "../path.ts";
import type { ApiRequest } from "../../machinery/request.ts";
import { nameProblem, verbOf } from "../request-attributes.ts";
import { statusOf, unknownPath } from "../../machinery/status.ts";
import { admitConnection } from "./admit.ts";
import type { NodeConnector } from "./connector.ts";
import { unreachable } from "./handlers.ts";
import { requireSessionCreate } from "./require-create.ts";
import { answerInstead, refuseUpgrade, refuseWith } from "./refuse-upgrade.ts";
import { fetchLog } from "./pass.ts";
import { resolveLog, resolveTarget } from "./resolve.ts";

// Exactly these: what was authorized must be what is reached, so no look-alike of another group or scope passes.
const upgradable = new Set([
  "pods/exec",
  "pods/attach",
  "pods/log",
  "pods/portforward",
  "pods/proxy",
  "services/proxy",
  "nodes/proxy",
]);

export function acceptUpgrade(dispatcher: Dispatcher, connector: NodeConnector | undefined, upgrade: Upgrade): void {
  const gone = new AbortController();
  upgrade.socket.once("close", () => gone.abort());
  upgrade.socket.on("error", () => gone.abort());
  const request = requestOf(upgrade, gone.signal);
  if (isWatched(dispatcher, upgrade, request)) {
    watch(dispatcher, upgrade, request).catch((error: unknown) => refuseUpgrade(upgrade, statusOf(error)));
    return;
  }
  if (!isPassedOn(dispatcher, upgrade, request)) {
    answerPlainly(dispatcher, upgrade, request).catch(() => upgrade.socket.destroy());
    return;
  }
  const trail = dispatcher.audit?.begin(request);
  passOn(dispatcher, connector, { upgrade, request, trail }).then(
    () => {
      count(dispatcher, request, 101);
      recordConnection(trail, upgrade);
    },
    (error: unknown) => {
      const status = statusOf(error);
      count(dispatcher, request, status.code ?? 500);
      trail?.complete(statusAnswer(status));
      refuseUpgrade(upgrade, status);
    },
  );
}

/** A watch is one over whatever it is sent; those of other servers are passed on as they are. */
function isWatched({ remotes }: Dispatcher, upgrade: Upgrade, request: ApiRequest): boolean {
  const path = readable(request.path);
  if (!path || path.subresource !== "" || remotes.find(path.group, path.version)) return false;
  return isWebSocket(upgrade) && verbOf(request, path) === "watch";
}

function isPassedOn({ remotes }: Dispatcher, upgrade: Upgrade, { path: asked, method }: ApiRequest): boolean {
  const path = readable(asked);
  if (!path) return false;
  if (remotes.find(path.group, path.version)) return path.isRoutable;
  if (path.subresource === "log" && !(method === "GET" && isWebSocket(upgrade))) return false;
  return isUpgradable(path);
}

const isWebSocket = ({ request }: Upgrade) => request.headers.upgrade?.toLowerCase() === "websocket";

/** What cannot be upgraded is a request like any other, as upstream has it: authorized and answered as one. */
async function answerPlainly(dispatcher: Dispatcher, upgrade: Upgrade, request: ApiRequest): Promise<void> {
  await answerInstead(upgrade, await dispatch(dispatcher, request));
}

async function watch(dispatcher: Dispatcher, upgrade: Upgrade, request: ApiRequest): Promise<void> {
  const answer = await dispatch(dispatcher, request);
  answer.sent?.();
  if (answer.status !== 200) return refuseWith(upgrade, answer);
  const { watchOverWebSocket } = await import("./watch-web-socket.ts");
  await watchOverWebSocket(upgrade, answer.body);
}

/** For metrics: those on paths that we know. How long they last is their clients' affair. */
function count({ services }: Dispatcher, request: ApiRequest, code: number): void {
  const path = readable(request.path);
  if (path && isUpgradable(path)) services.metrics.requests.meterOf("get", path, request).record(code, 0, 0);
}

function readable(path: string): ResourcePath | undefined {
  try {
    return parsePath(path);
  } catch {
    return undefined; // what was wrong with it is told by the refusal
  }
}

interface Asked {
  readonly upgrade: Upgrade;
  readonly request: ApiRequest;
  readonly trail: AuditTrail | undefined;
}

/** The audit trail ends when the connection does. */
function recordConnection(trail: AuditTrail | undefined, { socket }: Upgrade): void {
  const { body } = trail?.complete({ status: 101, headers: {}, body: () => {} }) ?? {};
  if (typeof body !== "function") return;
  const onClose = (then: () => void) => {
    if (socket.destroyed) then();
    else socket.once("close", then);
  };
  body({ write() {}, end() {}, buffered: 0, drained: async () => {}, onClose });
}

async function passOn(
  dispatcher: Dispatcher,
  connector: NodeConnector | undefined,
  { upgrade, request, trail }: Asked,
): Promise<void> {
  const call = { signal: request.signal };
  const path = parsePath(request.path);
  const remote = path && dispatcher.remotes.find(path.group, path.version);
  if (!path) throw unknownPath();
  const user = await permit(dispatcher, request, path, call, trail);
  await requireSessionCreate(dispatcher.services, { request, path, user, isUpgrade: true, trail });
  if (remote) return passUpgrade(remote, upgrade, user, call);
  if (path.subresource === "log") return sendLog(dispatcher, connector, path, { upgrade, request, trail });
  // A raw connection has no place for warnings.
  const connection = { path, query: request.query, user, trail, warn() {} };
  await admitConnection(dispatcher.services.admission, connection, call);
  const target = resolveTarget(dispatcher.services, path, request.query);
  if (!connector) throw unreachable();
  connector.upgrade(target, upgrade, call);
}

/** The kubelet knows no WebSockets for logs: it is asked as for any log. */
async function sendLog(
  dispatcher: Dispatcher,
  connector: NodeConnector | undefined,
  path: ResourcePath,
  { upgrade, request }: Asked,
): Promise<void> {
  const target = resolveLog(dispatcher.services, path, request.query);
  if (!connector) throw unreachable();
  const log = target && (await fetchLog(connector, target, { signal: request.signal }));
  const { sendOverWebSocket } = await import("../../../cri/stream/send-web-socket.ts");
  await sendOverWebSocket(upgrade, log?.body ?? new Blob([]).stream());
}

function isUpgradable(path: ResourcePath): boolean {
  const { group, version, plural, name, subresource, namespace, inNamespace } = path;
  if (group !== "" || version !== "v1" || path.prefix !== "" || !path.isRoutable || nameProblem(name)) return false;
  if (!upgradable.has(`${plural}/${subresource}`) || name === "") return false;
  if (subresource !== "proxy" && !/^\/*$/.test(path.rest)) return false;
  return plural === "nodes" ? !inNamespace : inNamespace && namespace !== "";
}

function requestOf({ request, peer }: Upgrade, signal: AbortSignal): ApiRequest {
  const url = targetOf(request);
  const queryAt = url.indexOf("?");
  return {
    method: request.method ?? "GET",
    path: queryAt < 0 ? url : url.slice(0, queryAt),
    query: new URLSearchParams(queryAt < 0 ? "" : url.slice(queryAt + 1)),
    headers: new ServedHeaders(request),
    signal,
    peer,
    body: async () => new Uint8Array(),
    stream: () => null,
  };
}
