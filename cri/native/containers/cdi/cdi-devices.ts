// Devices by name from the Container Device Interface: finds them in the specification files of the host, and edits a container's
// OCI spec as these say. Files are read when a container asks for a device: vendors write them at any time.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault, toFault } from "../../../../plugins/kit/base/fault.ts";
import { readYaml } from "../../../../plugins/kit/base/yaml.ts";
import { deviceAt } from "../host-facts.ts";
import type { OciDevice, OciMount, OciSpec } from "../oci-spec.ts";
import { type CdiDeviceNode, type CdiEdits, type CdiMount, type CdiSpec, parseCdiSpec } from "./cdi-spec.ts";

/** Later ones go before earlier ones. */
export const cdiFolders: readonly string[] = ["/etc/cdi", "/var/run/cdi"];

interface Found {
  readonly spec: CdiSpec;
  readonly edits: CdiEdits;
}

/** The spec with the edits of every named device, and of each of their specification files once. */
export function withCdiDevices(spec: OciSpec, names: readonly string[], folders: readonly string[]): OciSpec {
  if (names.length === 0) return spec;
  const { devices, faults } = readDevices(folders);
  const done = new Set<CdiSpec>();
  let edited = spec;
  for (const name of new Set(names)) {
    const device = devices.get(name);
    if (!device) {
      const why = faults[0]?.message ?? `no specification in ${folders.join(" or ")} has it`;
      throw new Fault("not-found", `Cannot give CDI device "${name}" to the container: ${why}`);
    }
    if (device instanceof Fault) throw device;
    if (!done.has(device.spec)) edited = edit(edited, device.spec.containerEdits ?? {});
    done.add(device.spec);
    edited = edit(edited, device.edits);
  }
  return edited;
}

interface Devices {
  /** By `vendor/class=name`; a Fault where two files of one folder have it. */
  readonly devices: Map<string, Found | Fault>;
  /** What is wrong with files: worth telling only when a device is missing. */
  readonly faults: Fault[];
}

function readDevices(folders: readonly string[]): Devices {
  const devices = new Map<string, Found | Fault>();
  const faults: Fault[] = [];
  for (const folder of folders) {
    const here = new Set<string>();
    for (const file of specFiles(folder)) {
      const spec = readSpec(join(folder, file));
      if (spec instanceof Fault) {
        faults.push(spec);
        continue;
      }
      for (const { name, containerEdits: edits = {} } of spec.devices) {
        const key = `${spec.kind}=${name}`;
        const twice = `Cannot choose CDI device "${key}": it is described twice in "${folder}"`;
        devices.set(key, here.has(key) ? new Fault("conflict", twice) : { spec, edits });
        here.add(key);
      }
    }
  }
  return { devices, faults };
}

function readSpec(path: string): CdiSpec | Fault {
  try {
    return parseCdiSpec(path, readYaml(readFileSync(path, "utf8"), path));
  } catch (error) {
    return toFault(error, `Cannot use CDI specification "${path}"`, "invalid");
  }
}

function specFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.(json|yaml)$/.test(name))
      .sort();
  } catch {
    // Most hosts have none.
    return [];
  }
}

function edit(spec: OciSpec, edits: CdiEdits): OciSpec {
  const { process, linux } = spec;
  const nodes = (edits.deviceNodes ?? []).map((node) => ({ node, device: toOciDevice(node, process.user.uid) }));
  const paths = new Set(nodes.map(({ device }) => device.path));
  const targets = new Set(edits.mounts?.map(({ containerPath }) => containerPath));
  const names = new Set(edits.env?.map(nameOf));
  const groups = edits.additionalGids?.filter((gid) => gid !== 0) ?? [];
  const hooks = { ...spec.hooks };
  for (const { hookName, path, args, env, timeout } of edits.hooks ?? []) {
    const hook = { path, ...(args ? { args } : {}), ...(env ? { env } : {}), ...(timeout ? { timeout } : {}) };
    hooks[hookName] = [...(hooks[hookName] ?? []), hook];
  }
  return {
    ...spec,
    process: {
      ...process,
      user: { ...process.user, additionalGids: [...new Set([...(process.user.additionalGids ?? []), ...groups])] },
      env: [...process.env.filter((text) => !names.has(nameOf(text))), ...(edits.env ?? [])],
    },
    mounts: [
      ...spec.mounts.filter(({ destination }) => !targets.has(destination)),
      ...(edits.mounts ?? []).map(toOciMount),
    ],
    ...(Object.keys(hooks).length > 0 ? { hooks } : {}),
    linux: {
      ...linux,
      devices: [...(linux.devices ?? []).filter(({ path }) => !paths.has(path)), ...nodes.map(({ device }) => device)],
      resources: {
        ...linux.resources,
        devices: [
          ...(linux.resources.devices ?? []),
          ...nodes
            .filter(({ device }) => device.type !== "p")
            .map(({ node, device: { type, major, minor } }) => ({
              allow: true,
              type,
              major,
              minor,
              access: node.permissions || "rwm",
            })),
        ],
      },
    },
  };
}

const nameOf = (text: string) => text.split("=", 1)[0] ?? "";

/** What the file does not say is taken from the host's node; who runs the container owns it. */
function toOciDevice(node: CdiDeviceNode, processUid: number): OciDevice {
  const found = deviceAt(node.hostPath ?? node.path, node.path);
  const type = (node.type === "u" ? "c" : node.type) ?? found?.type;
  const major = node.major ?? found?.major;
  const minor = node.minor ?? found?.minor;
  const isComplete = type === "p" || (major !== undefined && minor !== undefined);
  if ((type !== "c" && type !== "b" && type !== "p") || !isComplete) {
    throw new Fault(
      "invalid",
      `Cannot give device "${node.hostPath ?? node.path}" to the container: it is not a device of this host`,
    );
  }
  const uid = node.uid ?? (processUid > 0 ? processUid : found?.uid);
  const gid = node.gid ?? found?.gid;
  const fileMode = node.fileMode ?? found?.fileMode;
  return {
    path: node.path,
    type,
    major: major ?? 0,
    minor: minor ?? 0,
    ...(fileMode === undefined ? {} : { fileMode }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  };
}

function toOciMount({ hostPath, containerPath, type, options = [] }: CdiMount): OciMount {
  const isBind = !type && !options.some((option) => option === "bind" || option === "rbind");
  return {
    destination: containerPath,
    source: hostPath,
    type: type ?? "bind",
    options: [...(isBind ? ["rbind"] : []), ...options],
  };
}
