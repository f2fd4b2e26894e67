// The subresources that are passed on: logs and proxies as requests, exec, attach and port-forward as raw connections.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import { badRequest, failure } from "../../machinery/status.ts";
import type { SubresourceHandler } from "../subresources.ts";
import { admitConnection } from "./admit.ts";
import type { NodeConnector } from "./connector.ts";
import { passLog, passProxy } from "./pass.ts";
import { requireSessionCreate } from "./require-create.ts";

const everyVerb = ["create", "delete", "get", "patch", "update"];

/** By `group/plural/subresource`; without a connector they answer that no node can be reached. */
export function connectSubresources(connector: NodeConnector | undefined): Map<string, SubresourceHandler> {
  const shows = (kind: string) => ({ group: "", version: "v1", kind });
  const passOn = (verbs: readonly string[], kind: string): SubresourceHandler => ({
    verbs,
    shows: shows(kind),
    async answer(_verb, path, scope) {
      if (!connector) throw unreachable();
      if (path.subresource === "log") return passLog(connector, path, scope);
      const { user, trail, request, warnings } = scope;
      await requireSessionCreate(scope.services, { request, path, user, isUpgrade: false, trail });
      const connection = { path, query: request.query, user, trail, warn: (text: string) => warnings.push(text) };
      await admitConnection(scope.services.admission, connection, scope.call);
      return passProxy(connector, path, scope);
    },
  });
  const upgradeOnly = (kind: string): SubresourceHandler => ({
    verbs: ["create", "get"],
    shows: shows(kind),
    async answer(_verb, path, { services, request, user, trail }) {
      await requireSessionCreate(services, { request, path, user, isUpgrade: false, trail });
      throw badRequest("Upgrade request required");
    },
  });
  return new Map([
    ["/pods/log", passOn(["get"], "Pod")],
    ["/pods/exec", upgradeOnly("PodExecOptions")],
    ["/pods/attach", upgradeOnly("PodAttachOptions")],
    ["/pods/portforward", upgradeOnly("PodPortForwardOptions")],
    ["/pods/proxy", passOn(everyVerb, "PodProxyOptions")],
    ["/services/proxy", passOn(everyVerb, "ServiceProxyOptions")],
    ["/nodes/proxy", passOn(everyVerb, "NodeProxyOptions")],
  ]);
}

export function unreachable(): Fault {
  const message = "no connection to nodes is set up in this server";
  return new Fault("unavailable", message, { details: failure(503, "ServiceUnavailable", message) });
}
