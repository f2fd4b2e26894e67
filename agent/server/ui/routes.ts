// The page's paths, the same below `/ui/` of the kubelet's port and on the port of its own: files, state, the cluster, and logs.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Fetch } from "../../../plugins/kit/base/fetch.ts";
import { json } from "../answers.ts";
import { containerLogs } from "../container-logs.ts";
import type { AgentView } from "../contract.ts";
import { unknown } from "../path.ts";
import { clusterState } from "./cluster.ts";
import { PageFiles } from "./files.ts";
import type { PageState, PageWish } from "./state.ts";

export interface PageOptions {
  /** Where the set-up put what `generate.ts` makes. */
  readonly folder: string;
  /** With the points of one container. */
  readonly state: (container: PageWish["container"]) => Promise<PageState>;
  /** Asks the control plane in a user's name: what they may not see there, the page does not show them. */
  readonly fetchAs?: (user: UserInfo) => Fetch;
}

interface PageRequest {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly user?: UserInfo;
}

export interface PageRoutes {
  /** Undefined for a path that is none of the page's. */
  answer(request: PageRequest, call: Call): Response | Promise<Response> | undefined;
  /** The page's static files, which contain no data of the node; all other paths need a token. */
  isOpen(parts: readonly string[]): boolean;
}

export function pageRoutes(view: AgentView, options: PageOptions, clock: Clock): PageRoutes {
  const files = new PageFiles(options.folder);
  const { fetchAs } = options;
  const state = async (query: URLSearchParams) => {
    const [uid, name] = [query.get("pod"), query.get("container")];
    const found = await options.state(uid && name ? { uid, name } : undefined);
    return json({ ...found, hasCluster: fetchAs !== undefined });
  };
  const cluster = async (user: UserInfo | undefined, call: Call) => {
    if (!fetchAs) throw unknown();
    if (!user) throw new Fault("unauthorized", "Unauthorized");
    return json(await clusterState(new ApiClient({ fetch: fetchAs(user), userAgent: "skiff-page" }), call));
  };
  return {
    answer({ parts: [first = "", ...rest], query, user }, call) {
      if (first === "containerLogs") return containerLogs(view, rest, query, clock, call);
      if (rest.length > 0) return undefined;
      if (first === "state") return state(query);
      if (first === "cluster") return cluster(user, call);
      return files.answer(first);
    },
    isOpen: ([first = "", ...rest]) => rest.length === 0 && files.isName(first),
  };
}
