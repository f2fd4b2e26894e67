// The parts of the Container Device Interface (specification 1.0) that this runtime reads, checked as they come from a file.

import { Fault } from "../../../../plugins/kit/base/fault.ts";

export interface CdiDeviceNode {
  readonly path: string;
  readonly hostPath?: string;
  readonly type?: string;
  readonly major?: number;
  readonly minor?: number;
  readonly fileMode?: number;
  readonly permissions?: string;
  readonly uid?: number;
  readonly gid?: number;
}

export interface CdiMount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly type?: string;
  readonly options?: readonly string[];
}

interface CdiHook {
  readonly hookName: string;
  readonly path: string;
  readonly args?: string[];
  readonly env?: string[];
  readonly timeout?: number;
}

export interface CdiEdits {
  readonly env?: readonly string[];
  readonly deviceNodes?: readonly CdiDeviceNode[];
  readonly mounts?: readonly CdiMount[];
  readonly hooks?: readonly CdiHook[];
  readonly additionalGids?: readonly number[];
}

export interface CdiSpec {
  readonly cdiVersion: string;
  /** `vendor/class`. */
  readonly kind: string;
  readonly devices: readonly { readonly name: string; readonly containerEdits?: CdiEdits }[];
  /** Made once for whatever devices of it a container has. */
  readonly containerEdits?: CdiEdits;
}

const kindForm = /^[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?\/[A-Za-z](?:[\w-]*[A-Za-z0-9])?$/;
const hookNames = ["prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"];
const known = ["env", "deviceNodes", "mounts", "hooks", "additionalGids"];

/** Throws a Fault `invalid` that names the file and what is wrong with it. What this runtime could not do is wrong, not passed over. */
export function parseCdiSpec(file: string, raw: unknown): CdiSpec {
  const wrong = (what: string) => new Fault("invalid", `Cannot use CDI specification "${file}": ${what}`);
  if (!isObject(raw)) throw wrong("it is not an object");
  const spec = raw as Partial<CdiSpec>;
  if (typeof spec.cdiVersion !== "string") throw wrong("it has no cdiVersion");
  if (typeof spec.kind !== "string" || !kindForm.test(spec.kind))
    throw wrong("its kind is not of the form vendor/class");
  if (!Array.isArray(spec.devices)) throw wrong("it has no devices");
  for (const device of spec.devices as unknown[]) {
    if (!isObject(device) || typeof device.name !== "string" || !/^[\w.:-]+$/.test(device.name))
      throw wrong("a device has no name, or no good one");
  }
  const all = [spec.containerEdits, ...spec.devices.map(({ containerEdits }) => containerEdits)];
  for (const edits of all) if (edits !== undefined) checkEdits(edits, wrong);
  return spec as CdiSpec;
}

function checkEdits(edits: unknown, wrong: (what: string) => Fault): void {
  if (!isObject(edits)) throw wrong("containerEdits is not an object");
  for (const [key, value] of Object.entries(edits)) {
    if (!known.includes(key)) throw wrong(`containerEdits.${key} is not supported`);
    if (!Array.isArray(value)) throw wrong(`containerEdits.${key} is not a list`);
  }
  const { env = [], deviceNodes = [], mounts = [], hooks = [] } = edits as CdiEdits;
  if (!env.every((text) => typeof text === "string" && text.indexOf("=") > 0))
    throw wrong("an env entry is not of the form NAME=value");
  if (!deviceNodes.every((node) => isObject(node) && isAbsolute(node.path) && isAbsolute(node.hostPath ?? "/")))
    throw wrong("a device node has no absolute path");
  if (!mounts.every((mount) => isObject(mount) && isAbsolute(mount.hostPath) && isAbsolute(mount.containerPath)))
    throw wrong("a mount has no absolute hostPath and containerPath");
  for (const hook of hooks) {
    if (!isObject(hook) || !isAbsolute(hook.path)) throw wrong("a hook has no absolute path");
    if (!hookNames.includes(String(hook.hookName))) throw wrong(`there is no hook "${String(hook.hookName)}"`);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isAbsolute = (path: unknown) => typeof path === "string" && path.startsWith("/");
