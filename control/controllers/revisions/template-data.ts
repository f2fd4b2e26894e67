// A pod template as a ControllerRevision keeps it: a patch that brings it back, in the very bytes that Go programs write. Clients
// compare them with what they would write themselves to find the state in use. Pure.

import type { PodTemplate } from "../pods/pod-control.ts";

export interface TemplateData {
  readonly spec?: { readonly template?: PodTemplate & { $patch?: string } };
}

type Fields = Record<string, unknown>;

export function dataOf(template: PodTemplate): TemplateData {
  const { metadata, spec } = template as unknown as { metadata?: Fields; spec?: Fields };
  const whole = {
    $patch: "replace",
    metadata: { creationTimestamp: null, ...metadata },
    spec: {
      ...spec,
      ...each(spec, "containers", withResources),
      ...each(spec, "initContainers", withResources),
      ...each(spec, "volumes", withClaim),
    },
  };
  return inOrder({ spec: { template: whole } }) as TemplateData;
}

export function templateOf(data: TemplateData | undefined): PodTemplate {
  const { $patch: _replace, ...template } = data?.spec?.template ?? {};
  return template;
}

// These Go writes also where they hold nothing.
const withResources = (container: Fields): Fields => ({ ...container, resources: container.resources ?? {} });

function withClaim(volume: Fields): Fields {
  const claim = (volume.ephemeral as { volumeClaimTemplate?: { metadata?: Fields; spec?: Fields } } | undefined)
    ?.volumeClaimTemplate;
  if (!claim) return volume;
  const metadata = { creationTimestamp: null, ...claim.metadata };
  const spec = { ...claim.spec, resources: claim.spec?.resources ?? {} };
  return { ...volume, ephemeral: { ...(volume.ephemeral as Fields), volumeClaimTemplate: { metadata, spec } } };
}

function each(spec: Fields | undefined, name: string, change: (item: Fields) => Fields): Fields {
  const items = spec?.[name];
  return Array.isArray(items) ? { [name]: (items as Fields[]).map(change) } : {};
}

/** With the keys of every object in the order of their characters. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, inOrder(item)]));
}
