// UpdateContainerResources: a running container's limits are changed by the OCI runtime, which knows in which order the kernel
// accepts them; a created one's too. The record keeps what now holds.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LinuxContainerResources } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Native } from "../native.ts";
import { noticeExit } from "./container-end.ts";
import { mergeResources, toOciResources } from "./container-resources.ts";

export async function updateContainer(
  native: Native,
  id: string,
  change: LinuxContainerResources | undefined,
  call: Call,
): Promise<void> {
  const record = native.containers.get(id);
  if (!change) return;
  await native.locks.run(record.id, async () => {
    const name = record.config.metadata?.name;
    if (noticeExit(native, record)) throw new Fault("conflict", `Cannot update container "${name}": it has exited`);
    const resources = toOciResources(change, native.host);
    // By a file: not every OCI runtime reads its input where that is a socket.
    const file = join(native.paths.container(record.id), "resources.json");
    writeFileSync(file, JSON.stringify(resources), { mode: 0o600 });
    const args = [`--root=${native.paths.ociState}`, "update", "--resources", file, record.id];
    const env = { PATH: process.env.PATH ?? "" };
    const done = await native.spawner.run({ path: native.programs.oci, args, env }, call);
    if (done.exitCode !== 0) {
      throw new Fault("internal", `Cannot update container "${name}": ${done.stderr.toString("utf8").trim()}`);
    }
    record.resources = mergeResources(record.resources, change);
    native.containers.save(record);
  });
}
