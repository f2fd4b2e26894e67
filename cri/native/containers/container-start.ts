// StartContainer: lets a created container go on. The OCI runtime's init waits in opening a FIFO for writing until someone reads
// it, which is all that `runc start` does; doing it here saves a process. Other runtimes are asked by command: crun has a FIFO of
// that name too, but reads it where runc writes.

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ContainerEventType } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { bind, libc, openFlags } from "../kernel/libc.ts";
import { isAlive } from "../../../plugins/kit/os/platform/processes.ts";
import { type Native, nowNs } from "../native.ts";
import { beforeExit, failStart } from "./container-end.ts";
import type { ContainerRecord } from "./container-record.ts";

const nonBlocking = 0o4000;

export async function startContainer(native: Native, id: string, call: Call): Promise<void> {
  const record = native.containers.get(id);
  await native.locks.run(record.id, async () => {
    const name = record.config.metadata?.name;
    if (record.phase !== "created")
      throw new Fault("conflict", `Cannot start container "${name}": it is ${record.phase}`);
    if (native.sandboxes.find(record.sandboxId)?.phase !== "ready") {
      throw new Fault("conflict", `Cannot start container "${name}": its sandbox is not ready`);
    }
    if (record.startFailure) {
      failStart(native, record);
      throw new Fault("internal", `Cannot start container "${name}": ${record.message}`);
    }
    const fifo = join(native.paths.ociState, record.id, "exec.fifo");
    // Only runc keeps its state in a file of this name.
    const isRunc = existsSync(join(native.paths.ociState, record.id, "state.json"));
    // Said before the deed: after a crash in between, an exit is looked for, not a start.
    const before = { phase: record.phase, startedAt: record.startedAt };
    record.phase = "running";
    record.startedAt = nowNs(native.clock);
    native.containers.save(record);
    await beforeExit(native, record, async () => {
      try {
        if (isRunc && existsSync(fifo)) await passFifo(fifo, record);
        else await startByCommand(native, record, call);
      } catch (error) {
        if (isAlive(record.process)) Object.assign(record, before);
        native.containers.save(record);
        throw error;
      }
      native.events.emit({
        id: record.id,
        sandboxId: record.sandboxId,
        type: ContainerEventType.CONTAINER_STARTED_EVENT,
      });
    });
  });
}

async function passFifo(fifo: string, record: ContainerRecord): Promise<void> {
  const fd = libc.open(fifo, openFlags.readOnly | nonBlocking);
  try {
    const byte = Buffer.alloc(1);
    for (let delayMs = 0; ; delayMs = Math.min(delayMs + 1, 20)) {
      // Nothing yet and nobody there look alike, so ask first whether the writer lives: a quick one may write and end in between.
      const isOnItsWay = isAlive(record.process);
      if (bind("int64_t read(int fd, void *into, size_t size)")(fd, byte, 1) === 1) break;
      if (!isOnItsWay) {
        throw new Fault(
          "internal",
          `Cannot start container "${record.config.metadata?.name}": its process ended before it began`,
        );
      }
      await new Promise((resolve) => (delayMs === 0 ? setImmediate(resolve) : setTimeout(resolve, delayMs)));
    }
  } finally {
    libc.close(fd);
  }
  rmSync(fifo, { force: true });
}

async function startByCommand(native: Native, record: ContainerRecord, call: Call): Promise<void> {
  const args = [`--root=${native.paths.ociState}`, "start", record.id];
  const done = await native.spawner.run(
    { path: native.programs.oci, args, env: { PATH: process.env.PATH ?? "" } },
    call,
  );
  if (done.exitCode === 0) return;
  throw new Fault(
    "internal",
    `Cannot start container "${record.config.metadata?.name}": ${done.stderr.toString("utf8").trim()}`,
  );
}
