// Keeps the flow schemas and priority levels that every cluster begins with: made when missing, as they should be while
// their annotation asks for it. Says of each schema whether its level is there.

import { randomUUID } from "node:crypto";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { type Settler, settler } from "../../machinery/settler.ts";
import { isSameSpec } from "../../resources/flow-control/mandatory.ts";
import type { Informers } from "../../storage/cache-informer.ts";
import { timestamp } from "../lifecycle.ts";
import type { Services } from "../scope.ts";
import { bootstrapLevels, bootstrapSchemas } from "./bootstrap.ts";
import { type FlowSchema, flowSchemaRef, priorityLevelRef } from "./types.ts";

const autoUpdate = "apf.kubernetes.io/autoupdate-spec";

/** Does so now and after every change. */
export function keepBootstrap(services: Services, informers: Informers, call: Call): Settler {
  const onError = (error: unknown) =>
    services.log.error({ err: error }, "cannot write flow schemas and priority levels");
  const work = settler(() => settle(services, call), onError, call);
  work.again();
  for (const ref of [flowSchemaRef, priorityLevelRef]) informers.for(ref).onEvent(() => work.again());
  return work;
}

async function settle(services: Services, call: Call): Promise<void> {
  await Promise.all([
    ...[...bootstrapLevels].map(([name, spec]) =>
      ensure(services, priorityLevelRef, { kind: "PriorityLevelConfiguration", name, spec }, call),
    ),
    ...[...bootstrapSchemas].map(([name, spec]) =>
      ensure(services, flowSchemaRef, { kind: "FlowSchema", name, spec }, call),
    ),
  ]);
  for (const { name } of services.cache.cache(flowSchemaRef).sorted()) await tellDangling(services, name, call);
}

type Ref = typeof flowSchemaRef;

async function ensure(
  { cache, storage, clock }: Services,
  ref: Ref,
  { kind, name, spec }: { kind: string; name: string; spec: object },
  call: Call,
): Promise<void> {
  const known = cache.cache(ref).get(name)?.object;
  const { priorityLevelConfiguration: level } = spec as Partial<FlowSchema["spec"]>;
  const now = timestamp(clock.now());
  const found = level && { type: "Dangling", ...finding(level.name, true), lastTransitionTime: now };
  if (!known) {
    const object: KubeObject = {
      kind,
      apiVersion: `${ref.group}/v1`,
      metadata: {
        name,
        uid: randomUUID(),
        generation: 1,
        creationTimestamp: now,
        annotations: { [autoUpdate]: "true" },
      },
      spec,
      status: found ? { conditions: [found] } : {},
    };
    await storage.create(ref, "", name, object, call);
    return;
  }
  if (known.metadata.annotations?.[autoUpdate] !== "true" || isSameSpec(known.spec, spec)) return;
  await storage.update(
    ref,
    "",
    name,
    (current) => {
      const next = current.copy();
      next.metadata.generation = (next.metadata.generation ?? 0) + 1;
      return { do: "put", object: { ...next, spec } };
    },
    call,
  );
}

function finding(level: string, isThere: boolean) {
  const object = `the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  return isThere
    ? { status: "False", reason: "Found", message: `This FlowSchema references ${object} and it exists` }
    : {
        status: "True",
        reason: "NotFound",
        message: `This FlowSchema references ${object} but there is no such object`,
      };
}

async function tellDangling({ cache, storage, clock }: Services, name: string, call: Call): Promise<void> {
  await storage.update(
    flowSchemaRef,
    "",
    name,
    (current) => {
      const next = current.copy() as FlowSchema;
      const level = next.spec.priorityLevelConfiguration.name;
      const isThere = cache.cache(priorityLevelRef).get(level) !== undefined;
      const said = finding(level, isThere);
      const conditions = next.status?.conditions ?? [];
      const before = conditions.find(({ type }) => type === "Dangling");
      if (before?.status === said.status && before.message === said.message) return { do: "nothing" };
      const condition = { type: "Dangling", ...said, lastTransitionTime: timestamp(clock.now()) };
      const others = conditions.filter(({ type }) => type !== "Dangling");
      return { do: "put", object: { ...next, status: { ...next.status, conditions: [...others, condition] } } };
    },
    call,
  );
}
