// Which endpoints of a service take traffic from this node: ready ones; where none is, those that still serve while they
// terminate; near ones where hints say so. Pure.

import type { Family } from "../../kit/os/net/address.ts";
import type { EndpointSlice } from "../../kit/kube/objects/types.ts";

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
  readonly isLocal: boolean;
}

export interface EndpointQuestion {
  readonly portName: string;
  /** As in the API: TCP, UDP or SCTP. */
  readonly protocol: string;
  readonly family: Family;
  readonly nodeName: string;
  readonly zone: string | undefined;
}

export interface ChosenEndpoints {
  readonly endpoints: readonly Endpoint[];
  readonly localEndpoints: readonly Endpoint[];
  /** Addresses of this node that are ready: a load balancer counts nothing else, also while others still serve. */
  readonly localReadyIps: readonly string[];
  readonly hasAnyEndpoint: boolean;
}

interface Candidate extends Endpoint {
  readonly isReady: boolean;
  readonly isServingTerminating: boolean;
  readonly zones: readonly string[];
}

export function chooseEndpoints(slices: readonly EndpointSlice[], question: EndpointQuestion): ChosenEndpoints {
  const candidates = collect(slices, question);
  const ready = candidates.filter(({ isReady }) => isReady);
  const near = nearEndpoints(ready, question.zone);
  const endpoints = near.length > 0 ? near : candidates.filter(({ isServingTerminating }) => isServingTerminating);
  const local = candidates.filter(({ isLocal }) => isLocal);
  const localReady = local.filter(({ isReady }) => isReady);
  return {
    endpoints: endpoints.map(plain),
    localEndpoints: (localReady.length > 0
      ? localReady
      : local.filter(({ isServingTerminating }) => isServingTerminating)
    ).map(plain),
    localReadyIps: localReady.map(({ ip }) => ip),
    hasAnyEndpoint: endpoints.length > 0,
  };
}

function plain({ ip, port, isLocal }: Candidate): Endpoint {
  return { ip, port, isLocal };
}

function collect(slices: readonly EndpointSlice[], question: EndpointQuestion): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const slice of slices) {
    if (slice.addressType !== `IPv${question.family}`) continue;
    const port = (slice.ports ?? []).find(
      (port) => (port.name ?? "") === question.portName && (port.protocol ?? "TCP") === question.protocol,
    )?.port;
    if (!port) continue;
    for (const endpoint of slice.endpoints ?? []) {
      const ip = endpoint.addresses[0];
      if (!ip) continue;
      const { ready, serving, terminating } = endpoint.conditions ?? {};
      const isReady = ready !== false;
      found.set(`${ip}:${port}`, {
        ip,
        port,
        isLocal: endpoint.nodeName === question.nodeName,
        isReady,
        isServingTerminating: serving !== false && terminating === true,
        zones: (endpoint.hints?.forZones ?? []).map(({ name }) => name),
      });
    }
  }
  // One order whatever the order of the slices, so that nothing is rewritten for nothing.
  return [...found.values()].sort((a, b) => (a.ip < b.ip ? -1 : a.ip > b.ip ? 1 : a.port - b.port));
}

/** Those meant for our zone, when every endpoint has a hint and one is for us; otherwise all. */
function nearEndpoints(ready: readonly Candidate[], zone: string | undefined): readonly Candidate[] {
  if (!zone || ready.some(({ zones }) => zones.length === 0)) return ready;
  const near = ready.filter(({ zones }) => zones.includes(zone));
  return near.length > 0 ? near : ready;
}
