// Opens admission steps on a view that a test fills, and makes the requests they are asked about.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMutating, runValidating } from "../../control/admission/run.ts";
import { type AdmissionPlugin, type AdmissionRequest, admissionKind } from "../../plugins/kit/contracts/admission.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { type Clock, FakeClock } from "../../plugins/kit/base/clock.ts";
import { clusterViewKind } from "../../plugins/kit/kube/cluster-view.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { AnyPlugin, Plugin } from "../../plugins/kit/base/plugin.ts";
import { openPlugins } from "../../plugins/kit/base/registry.ts";
import { MemoryClusterView } from "./memory-cluster-view.ts";

export interface OpenedAdmission {
  readonly view: MemoryClusterView;
  readonly steps: readonly AdmissionPlugin[];
  /** Runs both phases; gives the object as it would be stored, with the warnings and audit annotations. */
  admit(
    request: AdmissionRequest,
  ): Promise<{ object: KubeObject | undefined; warnings: string[]; notes: Record<string, string> }>;
  close(): Promise<void>;
}

export async function openAdmission(
  plugins: readonly unknown[],
  options: { settings?: Record<string, unknown>; clock?: Clock } = {},
): Promise<OpenedAdmission> {
  const view = new MemoryClusterView();
  const stateDir = mkdtempSync(join(tmpdir(), "skiff-admission-"));
  const viewPlugin: Plugin = { kind: clusterViewKind, name: "test", open: () => view };
  const opened = await openPlugins(
    {
      plugins: [viewPlugin, ...plugins] as AnyPlugin[],
      ...(options.settings ? { settings: options.settings } : {}),
      log: noLog,
      clock: options.clock ?? new FakeClock(),
      stateDir,
    },
    uninterrupted,
  ).catch((error: unknown) => {
    rmSync(stateDir, { recursive: true, force: true });
    throw error;
  });
  const steps = opened.all(admissionKind);
  return {
    view,
    steps,
    async admit(request) {
      const warnings: string[] = [];
      const notes: Record<string, string> = {};
      const whole: AdmissionRequest = {
        ...request,
        warn: (text) => warnings.push(text),
        annotate: (key, value) => {
          notes[key] = value;
        },
      };
      await runMutating(steps, whole, uninterrupted);
      await runValidating(steps, whole, uninterrupted);
      return { object: whole.object, warnings, notes };
    },
    async close() {
      await opened.close();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** A create of the object by an ordinary user; anything may be said otherwise. */
export function createRequest(
  object: object,
  over: Partial<AdmissionRequest> & { resource: string },
): AdmissionRequest {
  const whole = structuredClone(object) as KubeObject;
  return {
    operation: "CREATE",
    group: "",
    version: "v1",
    subresource: "",
    kind: whole.kind,
    namespace: whole.metadata.namespace ?? "",
    name: whole.metadata.name ?? "",
    user: { name: "ann", groups: ["system:authenticated"] },
    dryRun: false,
    object: whole,
    warn() {},
    ...over,
  };
}

export function podOf(spec: object, metadata: object = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", ...metadata },
    spec: { containers: [{ name: "a", image: "i" }], ...spec },
  } as KubeObject;
}
