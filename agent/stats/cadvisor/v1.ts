// Version 1 of cAdvisor's REST API, up to 1.3: machine, containers, subcontainers, docker, events.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { json } from "../../server/answers.ts";
import type { MoreRequest } from "../../server/routes.ts";
import { aliasesOf, childrenOf, type Looked } from "./containers.ts";
import type { Ask } from "./routes.ts";
import type { CadvisorView, Look } from "./view.ts";

const usualCount = 60;

/** A body `{"num_stats": 5}` says how many samples are wanted; upstream's own clients post one. */
export async function countIn(request: MoreRequest): Promise<number> {
  const text = request.method === "POST" ? await request.body() : "";
  if (text.trim() === "") return usualCount;
  try {
    const { num_stats: count } = JSON.parse(text) as { num_stats?: unknown };
    return typeof count === "number" && Number.isInteger(count) && count !== 0 ? count : usualCount;
  } catch {
    throw new Fault("invalid", "unable to decode the json value of the request");
  }
}

export const containersV1: Ask = async ({ view, name, request }, call) => {
  const look = await view.look();
  return json(await view.info(look, view.named(look, name), await countIn(request), call));
};

/** The group itself and those right below, one level after the other. */
export const subcontainersV1: Ask = async ({ view, name, request }, call) => {
  const look = await view.look();
  const count = await countIn(request);
  const infos: object[] = [];
  const visit = async (one: Looked): Promise<void> => {
    infos.push(await view.info(look, one, count, call));
    for (const below of childrenOf(look.all, one.name)) await visit(below);
  };
  await visit(view.named(look, name));
  return json(infos);
};

/** Containers by id or alias, of whatever runtime is in use: users of this path want containers and no other groups. */
export const dockerV1: Ask = async ({ view, rest, request }, call) => {
  const look = await view.look();
  const [wanted = "", ...more] = rest;
  if (more.length > 0) throw new Fault("invalid", `unknown request for container ${rest.join("/")}`);
  return json(await byAlias(view, look, wanted, await countIn(request), call));
};

async function byAlias(view: CadvisorView, look: Look, wanted: string, count: number, call: Call): Promise<object> {
  const found = wanted === "" ? [...look.all.values()].filter(({ container }) => container) : [aliased(look, wanted)];
  const infos: Record<string, object> = {};
  for (const one of found) infos[one.name] = await view.info(look, one, count, call);
  return infos;
}

export function aliased({ all }: Look, wanted: string): Looked {
  const matches = [...all.values()].filter((one) =>
    aliasesOf(one).some((alias) => alias === wanted || (wanted.length >= 8 && alias.startsWith(wanted))),
  );
  const [found] = matches;
  if (!found || matches.length > 1)
    throw new Fault("not-found", `${found ? "several containers are" : "unable to find container"} ${wanted}`);
  return found;
}
