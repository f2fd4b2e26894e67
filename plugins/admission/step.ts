// What every admission step here begins with: its name, what it handles, and the live view it decides by.

import {
  type AdmissionOperation,
  type AdmissionPlugin,
  type AdmissionRequest,
  admissionKind,
} from "../kit/contracts/admission.ts";
import type { Clock } from "../kit/base/clock.ts";
import { type ClusterView, clusterViewKind } from "../kit/kube/cluster-view.ts";
import { Fault } from "../kit/base/fault.ts";
import type { Log } from "../kit/base/log.ts";
import type { Plugin } from "../kit/base/plugin.ts";

export interface Tools {
  readonly view: ClusterView;
  readonly clock: Clock;
  readonly log: Log;
}

/** The plugin of a step that takes no settings. */
export function step(
  name: string,
  make: (tools: Tools) => Omit<AdmissionPlugin, "name">,
): Plugin<AdmissionPlugin, undefined> {
  return {
    kind: admissionKind,
    name,
    needs: [clusterViewKind],
    open(host) {
      const [view] = host.all(clusterViewKind);
      if (!view) throw new Fault("internal", `Admission step "${name}" was opened without a view of the cluster`);
      return { name, ...make({ view, clock: host.clock, log: host.log }) };
    },
  };
}

/** True for a write of the resource itself, none of its subresources. */
export function isWriteOf(
  request: AdmissionRequest,
  group: string,
  resource: string,
  ...operations: AdmissionOperation[]
): boolean {
  return (
    request.resource === resource &&
    request.group === group &&
    request.subresource === "" &&
    operations.includes(request.operation)
  );
}

/** Upstream joins several complaints as `[first, second]` and says a single one plainly. */
export function joined(complaints: readonly string[]): string {
  return complaints.length === 1 ? (complaints[0] ?? "") : `[${complaints.join(", ")}]`;
}

export const isMirrorPod = (request: AdmissionRequest): boolean =>
  request.object?.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined;
