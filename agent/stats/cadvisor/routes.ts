// cAdvisor's REST API, read-only: `/api/{version}/{what}/{container…}`.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { json, streamed, text } from "../../server/answers.ts";
import { isTrue } from "../../../plugins/kit/base/query-flag.ts";
import type { MoreRequest } from "../../server/routes.ts";
import type { CadvisorEvents, EventQuery, EventType } from "./events.ts";
import { containersV1, dockerV1, subcontainersV1 } from "./v1.ts";
import {
  attributesV2,
  machineStatsV21,
  processesV2,
  specV2,
  statsV20,
  statsV21,
  storageV2,
  summaryV2,
  versionV2,
} from "./v2.ts";
import type { CadvisorView } from "./view.ts";

export interface Asked {
  readonly view: CadvisorView;
  readonly events: CadvisorEvents;
  readonly request: MoreRequest;
  /** The path behind what is asked for: as a container's name, and in parts. */
  readonly name: string;
  readonly rest: readonly string[];
}

export type Ask = (asked: Asked, call: Call) => Promise<Response>;

const machine: Ask = async ({ view }) => json(await view.machine());
/** Application metrics are gone upstream too; the path answers that there are none. */
const appMetrics: Ask = async ({ name }) => json({ [name]: {} });

const v10 = { machine, containers: containersV1 };
const v11 = { ...v10, subcontainers: subcontainersV1 };
const v12 = { ...v11, docker: dockerV1 };
const v13 = { ...v12, events: eventsOf };
const v20 = {
  version: versionV2,
  attributes: attributesV2,
  events: eventsOf,
  machine,
  summary: summaryV2,
  stats: statsV20,
  spec: specV2,
  storage: storageV2,
  ps: processesV2,
  appmetrics: appMetrics,
};
const v21 = { ...v20, machinestats: machineStatsV21, stats: statsV21 };

const versions: Readonly<Record<string, Readonly<Record<string, Ask>>>> = {
  "v1.0": v10,
  "v1.1": v11,
  "v1.2": v12,
  "v1.3": v13,
  "v2.0": v20,
  "v2.1": v21,
};

/** The parts behind `/api/`. A GET, or a POST that carries a query in its body: nothing is changed by either. */
export async function cadvisorApi(
  parts: readonly string[],
  from: Omit<Asked, "name" | "rest">,
  call: Call,
): Promise<Response> {
  const [version = "", what = "", ...behind] = parts;
  if (version === "") return text(`Supported API versions: ${Object.keys(versions).join(",")}\n`, 400);
  const asks = Object.hasOwn(versions, version) ? versions[version] : undefined;
  if (!asks) throw new Fault("not-found", `unsupported API version "${version}"`);
  if (what === "") return text(`Supported request types: "${Object.keys(asks).sort().join(",")}"\n`, 400);
  const ask = Object.hasOwn(asks, what) ? asks[what] : undefined;
  if (!ask) throw new Fault("not-found", `unknown request type "${what}"`);
  const rest = behind.filter((part) => part !== "");
  return ask({ ...from, rest, name: `/${rest.join("/")}` }, call);
}

const eventTypes: Readonly<Record<string, EventType>> = {
  oom_events: "oom",
  oom_kill_events: "oomKill",
  creation_events: "containerCreation",
  deletion_events: "containerDeletion",
};

async function eventsOf({ view, events, request: { query }, name }: Asked, call: Call): Promise<Response> {
  const isAll = isTrue(query.get("all_events"));
  const types = Object.entries(eventTypes).filter(([option]) => isAll || isTrue(query.get(option)));
  const time = (option: string, usual: number) => {
    const at = Date.parse(query.get(option) ?? "");
    return Number.isNaN(at) ? usual : at;
  };
  const most = Number(query.get("max_events") ?? 10);
  const wanted: EventQuery = {
    name,
    isWithBelow: isTrue(query.get("subcontainers")),
    types: new Set(types.map(([, type]) => type)),
    most: Number.isInteger(most) && most > 0 ? most : 10,
    from: time("start_time", 0),
    until: time("end_time", Number.POSITIVE_INFINITY),
  };
  if (!isTrue(query.get("stream"))) {
    await view.look();
    return json(events.past(wanted));
  }
  const left = new AbortController();
  const signal = AbortSignal.any([call.signal, left.signal]);
  return streamed(events.stream(wanted, { signal }), () => left.abort(), "application/json");
}
