// CheckpointContainer: the OCI runtime freezes the container through criu, lets it go on, and what was written becomes one archive in
// the layout that checkpoint tools read: `checkpoint/` (memory), config.dump, spec.dump, rootfs-diff.tar, deleted.files, dump.log.

import { copyFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CheckpointContainerRequest } from "../../api/gen/runtime.js";
import { type Call, within } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { removeTree } from "../../../plugins/kit/os/safe-files/remove-tree.ts";
import type { Native } from "../native.ts";
import { environment, findProgram, pack, packChanges } from "./checkpoint-archive.ts";
import { noticeExit } from "./container-end.ts";
import type { ContainerRecord } from "./container-record.ts";

const unaskedTimeoutMs = 120_000;

export async function checkpointContainer(
  native: Native,
  request: CheckpointContainerRequest,
  call: Call,
): Promise<void> {
  const record = native.containers.get(request.containerId);
  const name = record.config.metadata?.name;
  const doing = `Cannot checkpoint container "${name}"`;
  if (noticeExit(native, record) || record.phase !== "running")
    throw new Fault("conflict", `${doing}: it is ${record.phase}, not running`);
  if (!request.location.startsWith("/")) throw new Fault("invalid", `${doing}: its archive needs an absolute path`);
  if (!findProgram("criu")) throw new Fault("unsupported", `${doing}: criu, which freezes processes, is not installed`);
  if (!findProgram("tar")) throw new Fault("unsupported", `${doing}: tar, which packs the archive, is not installed`);
  const version = await native.spawner.run(
    { path: native.programs.oci, args: ["--version"], env: environment() },
    call,
  );
  if (!canCheckpoint(version.stdout.toString("utf8")))
    throw new Fault("unsupported", `${doing}: ${native.programs.oci} is built without criu`);
  const limited = within(Number(request.timeout) * 1000 || unaskedTimeoutMs, call);
  await native.locks.run(record.id, async () => {
    const folder = join(native.paths.container(record.id), "frozen");
    try {
      await removeTree(folder);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      await freeze(native, record, folder, limited);
      await describe(native, record, folder, limited);
      mkdirSync(dirname(request.location), { recursive: true, mode: 0o700 });
      const half = `${request.location}.part`;
      await pack(native.spawner, ["-C", folder, "."], half, limited);
      renameSync(half, request.location);
    } finally {
      await removeTree(folder);
    }
  });
}

/** By what it says of its version: crun names what it was built with, and Debian's has no criu; runc always has. */
export function canCheckpoint(version: string): boolean {
  return !version.startsWith("crun ") || version.includes("+CRIU");
}

async function freeze(native: Native, record: ContainerRecord, folder: string, call: Call): Promise<void> {
  const args = [`--root=${native.paths.ociState}`, "checkpoint", "--leave-running", "--file-locks"];
  args.push(`--image-path=${join(folder, "checkpoint")}`, `--work-path=${folder}`, record.id);
  const done = await native.spawner.run({ path: native.programs.oci, args, env: environment() }, call);
  if (done.exitCode === 0) return;
  const said = done.stderr.toString("utf8").trim().split("\n").at(-1) ?? "";
  throw new Fault("internal", `Cannot checkpoint container "${record.config.metadata?.name}": ${said}`);
}

async function describe(native: Native, record: ContainerRecord, folder: string, call: Call): Promise<void> {
  const bundle = native.paths.container(record.id);
  copyFileSync(join(bundle, "config.json"), join(folder, "spec.dump"));
  const time = (nanoseconds: bigint) => new Date(Number(nanoseconds / 1_000_000n)).toISOString();
  const config = {
    id: record.id,
    name: record.config.metadata?.name ?? "",
    rootfsImage: record.config.image?.image ?? "",
    rootfsImageRef: record.imageRef,
    rootfsImageName: record.config.image?.userSpecifiedImage || (record.config.image?.image ?? ""),
    runtime: native.programs.oci,
    createdTime: time(record.createdAt),
    checkpointedTime: new Date(native.clock.now()).toISOString(),
    restored: false,
  };
  writeFileSync(join(folder, "config.dump"), JSON.stringify(config));
  await packChanges(native.spawner, { upper: join(bundle, "upper"), folder }, call);
}
