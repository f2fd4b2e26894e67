// Sessions that run something in a container need `create` whatever carries them. A WebSocket begins as a GET, so the verb of the
// method alone would let someone who may only read open a shell (upstream: AuthorizePodWebsocketUpgradeCreatePermission). On nodes/proxy
// this is stricter than upstream: every upgrade, and every request for a session of the kubelet, needs `create` there.

import { posix } from "node:path";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { AuditTrail } from "../../auth/audit/contract.ts";
import type { ResourcePath } from "../path.ts";
import type { ApiRequest } from "../../machinery/request.ts";
import { attributesOf, verbOf } from "../request-attributes.ts";
import { requireAllowed } from "../require-allowed.ts";
import type { Services } from "../scope.ts";

export interface Session {
  readonly request: ApiRequest;
  readonly path: ResourcePath;
  readonly user: UserInfo;
  readonly isUpgrade: boolean;
  readonly trail?: AuditTrail | undefined;
}

const podSessions: ReadonlySet<string> = new Set(["exec", "attach", "portforward"]);
const kubeletSessions: ReadonlySet<string> = new Set(["exec", "attach", "run", "portforward", "cri"]);

/** Fault `forbidden` where the session needs `create` and the user may not. What the request's own verb needs was asked before. */
export async function requireSessionCreate(
  services: Services,
  { request, path, user, isUpgrade, trail }: Session,
): Promise<void> {
  if (!needsCreate(path, isUpgrade) || verbOf(request, path) === "create") return;
  await requireAllowed(services, { ...attributesOf(user, request, path), verb: "create" }, request, trail);
}

function needsCreate({ group, plural, subresource, rest }: ResourcePath, isUpgrade: boolean): boolean {
  if (group !== "") return false;
  if (plural === "pods") return podSessions.has(subresource);
  return plural === "nodes" && subresource === "proxy" && (isUpgrade || isKubeletSession(rest));
}

/** However the path is spelled: a kubelet may decode it, collapse dot segments or merge slashes. */
function isKubeletSession(rest: string): boolean {
  if (rest === "") return false;
  let path = rest;
  try {
    path = decodeURIComponent(rest);
  } catch {
    // Not UTF-8: the part that names a session is, or it names none.
  }
  const [first = "", second = ""] = posix.normalize(`/${path.toLowerCase()}`).slice(1).split("/");
  return kubeletSessions.has(first === "ui" ? second : first);
}
