// The paths by which kubelets once gave out cAdvisor's documents: `/spec/` and those below `/stats/`.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { json } from "../../server/answers.ts";
import type { MoreRequest } from "../../server/routes.ts";
import { familyOf, type Looked } from "./containers.ts";
import { countIn } from "./v1.ts";
import type { CadvisorView } from "./view.ts";

/** The parts behind `/stats/`; undefined for a path that was never one of these. */
export function kubeletStats(
  parts: readonly string[],
  view: CadvisorView,
  request: MoreRequest,
  call: Call,
): Promise<Response> | undefined {
  const names = parts.filter((part) => part !== "");
  const info = async (find: (all: ReadonlyMap<string, Looked>) => Looked | undefined) => {
    const look = await view.look();
    const found = find(look.all);
    if (!found) throw new Fault("not-found", `unknown container ${names.join("/")}`);
    return json(await view.info(look, found, await countIn(request), call));
  };
  if (names.length === 0) return info((all) => all.get("/"));
  if (names.length === 1 && names[0] === "container") return containers(view, request, call);
  const inPod = (pod: string | undefined, container: string | undefined, namespace = "default", uid?: string) =>
    info((all) =>
      [...all.values()].find(
        (one) =>
          one.container?.name === container &&
          one.pod?.metadata.name === pod &&
          one.pod?.metadata.namespace === namespace &&
          (uid === undefined || one.pod?.metadata.uid === uid),
      ),
    );
  if (names.length === 2) return inPod(names[0], names[1]);
  if (names.length === 4) return inPod(names[1], names[3], names[0], names[2]);
  return undefined;
}

/** `{"containerName": "/", "num_stats": 1, "subcontainers": true}` -> a map by name. */
async function containers(view: CadvisorView, request: MoreRequest, call: Call): Promise<Response> {
  const count = await countIn(request);
  const text = request.method === "POST" ? await request.body() : "";
  const asked = (text.trim() === "" ? {} : JSON.parse(text)) as { containerName?: unknown; subcontainers?: unknown };
  const name = typeof asked.containerName === "string" && asked.containerName !== "" ? asked.containerName : "/";
  const look = await view.look();
  const wanted = asked.subcontainers === true ? familyOf(look.all, name) : [view.named(look, name)];
  const found: Record<string, object> = {};
  for (const one of wanted) found[one.name] = await view.info(look, one, count, call);
  return json(found);
}
