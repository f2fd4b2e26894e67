// The host ports that a pod takes on its node while it runs.

import type { Pod } from "./objects/types.ts";
import { isRestartableInit } from "./pod-quantities.ts";

export interface HostPort {
  readonly protocol: string;
  readonly address: string;
  readonly port: number;
}

export const anyAddress = "0.0.0.0";

/** Of containers that run at the same time: init containers that end before the others start do not count. */
export function hostPortsOf({ spec }: Pod): HostPort[] {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isRestartableInit)];
  return containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ protocol = "TCP", hostIP, hostPort }) =>
      hostPort ? [{ protocol, address: hostIP || anyAddress, port: hostPort }] : [],
    ),
  );
}
