// How containers end: noticing an exit, stopping, killing, removing. An exit code is taken from the file that conmon leaves; it is
// there whether or not we were.

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ContainerEventType } from "../../api/gen/runtime.js";
import { type Call, uninterrupted } from "../../../plugins/kit/base/call.ts";
import { mountsBelow, unmount } from "../kernel/mounts.ts";
import { isAlive, signalProcess } from "../../../plugins/kit/os/platform/processes.ts";
import { removeTree } from "../../../plugins/kit/os/safe-files/remove-tree.ts";
import { type Native, nowNs } from "../native.ts";
import type { ContainerRecord } from "./container-record.ts";
import { releaseVolumes } from "./container-volumes.ts";
import { untilExecuted } from "./until-executed.ts";

const killSignal = 9;
/** Conmon needs a moment between the end of a process and its exit file; then it is taken for dead itself. */
const conmonGraceMs = 3000;
const unknownExitCode = 255;
const startErrorExitCode = 128;

/** Who waits for the end of a container. */
const waiting = new WeakMap<ContainerRecord, Set<() => void>>();

/** Whose start is under way and was not told yet: a quick one may end before, and is noticed after. */
const starting = new WeakSet<ContainerRecord>();

/** Runs the start, and looks for the exit only when the start was told. */
export async function beforeExit(native: Native, record: ContainerRecord, start: () => Promise<void>): Promise<void> {
  starting.add(record);
  try {
    await start();
  } finally {
    starting.delete(record);
    noticeExit(native, record);
  }
}

/** Looks whether the container has ended, and if so records how. True when it has. */
export function noticeExit(native: Native, record: ContainerRecord): boolean {
  if (record.phase === "exited") return true;
  if (record.phase === "making" || record.startFailure || starting.has(record)) return false;
  const file = join(native.paths.exits, record.id);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found) {
    recordExit(
      native,
      record,
      Number(readFileSync(file, "utf8").trim()),
      BigInt(Math.round(found.mtimeMs * 1000)) * 1000n,
    );
    return true;
  }
  if (isAlive(record.process) || isAlive(record.conmon)) return false;
  // Both gone and no word: the machine was rebooted, or conmon was killed.
  if (existsSync(file)) return noticeExit(native, record);
  record.reason = "Unknown";
  recordExit(native, record, unknownExitCode, nowNs(native.clock));
  return true;
}

/** A container whose command the OCI runtime could not begin ends with its start, as elsewhere. */
export function failStart(native: Native, record: ContainerRecord): void {
  record.message = record.startFailure ?? "";
  record.reason = "StartError";
  delete record.startFailure;
  record.startedAt = 0n;
  recordExit(native, record, startErrorExitCode, nowNs(native.clock));
}

function recordExit(native: Native, record: ContainerRecord, exitCode: number, finishedAt: bigint): void {
  const isOutOfMemory =
    existsSync(join(native.paths.persist, record.id, "oom")) || native.cgroups.oomKills(record.cgroup) > 0;
  if (isOutOfMemory && exitCode !== 0) record.reason = "OOMKilled";
  record.exitCode = exitCode;
  record.finishedAt = finishedAt > record.startedAt ? finishedAt : record.startedAt;
  record.phase = "exited";
  native.containers.save(record);
  for (const wake of waiting.get(record) ?? []) wake();
  native.events.emit({ id: record.id, sandboxId: record.sandboxId, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
  // The record is written; what is left is not worth waiting for. Removing the container does it again.
  void cleanUp(native, record).catch((error: unknown) =>
    native.log.warn({ err: error, container: record.id }, "clean-up failed"),
  );
}

/** True when the container has exited, false after the time. Woken by the exits folder; looks by itself as a safety net. */
async function waitForExit(native: Native, record: ContainerRecord, timeoutMs: number, call: Call): Promise<boolean> {
  const until = native.clock.monotonic() + timeoutMs;
  for (let stepMs = 20; !noticeExit(native, record); stepMs = Math.min(stepMs * 2, 1000)) {
    const left = until - native.clock.monotonic();
    if (left <= 0) return false;
    await exitOr(native, record, Math.min(stepMs, left), call);
  }
  return true;
}

/** Calls back once when the container's exit is recorded; returns how to stop waiting. */
export function onExit(record: ContainerRecord, wake: () => void): () => void {
  const wakers = waiting.get(record) ?? new Set();
  waiting.set(record, wakers);
  wakers.add(wake);
  return () => wakers.delete(wake);
}

function exitOr(native: Native, record: ContainerRecord, delayMs: number, call: Call): Promise<void> {
  call.signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const done = () => {
      cancel();
      stopWaiting();
      call.signal.removeEventListener("abort", onAbort);
      resolve();
    };
    const onAbort = () => {
      reject(call.signal.reason);
      done();
    };
    const cancel = native.clock.after(delayMs, done);
    const stopWaiting = onExit(record, done);
    call.signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Asks it to stop, and kills it after the grace. Idempotent: an unknown container is stopped already. */
export async function stopContainer(native: Native, id: string, graceMs: number, call: Call): Promise<void> {
  const record = native.containers.find(id);
  if (!record || noticeExit(native, record)) return;
  if (record.phase === "running" && graceMs > 0) {
    if (record.process) await untilExecuted(record.process.pid, native.clock);
    signalProcess(record.process, record.stopSignal);
    if (await waitForExit(native, record, graceMs, call)) return;
  }
  await killContainer(native, record, call);
}

export async function killContainer(native: Native, record: ContainerRecord, call: Call): Promise<void> {
  if (record.phase === "making" || noticeExit(native, record)) return;
  if (record.startFailure) return failStart(native, record);
  signalProcess(record.process, killSignal);
  native.cgroups.kill(record.cgroup);
  if (await waitForExit(native, record, conmonGraceMs, call)) return;
  // Its process is gone but conmon hangs on a stream that someone keeps open.
  signalProcess(record.conmon, killSignal);
  native.cgroups.kill(record.cgroup);
  await waitForExit(native, record, conmonGraceMs, call);
}

/** Removes it by force. Idempotent. Leaves the log file to the caller. */
export async function removeContainer(native: Native, id: string, call: Call): Promise<void> {
  const record = native.containers.find(id);
  if (!record) return;
  await native.locks.run(record.id, async () => {
    if (!native.containers.find(record.id)) return;
    await killContainer(native, record, call);
    await discardContainer(native, record);
    native.events.emit({
      id: record.id,
      sandboxId: record.sandboxId,
      type: ContainerEventType.CONTAINER_DELETED_EVENT,
    });
  });
}

/** Takes away all that was made for it, and forgets it. */
export async function discardContainer(native: Native, record: ContainerRecord): Promise<void> {
  await cleanUp(native, record);
  const folder = native.paths.container(record.id);
  for (const point of mountsBelow(folder)) unmount(point);
  await removeTree(folder);
  await native.containers.forget(record.id);
  // Its image may have been removed while it stood on it.
  if (!native.images.store.find(record.imageId)) await native.images.store.collectGarbage();
}

/** Frees what an ended container holds of the kernel. Its files stay until it is removed. */
function cleanUp(native: Native, record: ContainerRecord): Promise<void> {
  return native.clearing.run(() => clear(native, record));
}

async function clear(native: Native, record: ContainerRecord): Promise<void> {
  const { paths, cgroups } = native;
  if (record.hasLastHook && existsSync(join(paths.ociState, record.id))) await runLastHook(native, record);
  for (let tries = 0; !cgroups.remove(record.cgroup) && tries < 100; tries++) {
    cgroups.kill(record.cgroup);
    await new Promise((resolve) => setTimeout(resolve, Math.min(1 + tries, 50)));
  }
  unmount(paths.rootfs(record.id));
  releaseVolumes(paths.container(record.id));
  for (const folder of [paths.ociState, paths.persist, paths.attach, paths.exits]) {
    await removeTree(join(folder, record.id));
  }
}

/** All else is taken down here; only the OCI runtime knows what a hook is told. */
async function runLastHook(native: Native, { id }: ContainerRecord): Promise<void> {
  const args = [`--root=${native.paths.ociState}`, "delete", "--force", id];
  const env = { PATH: process.env.PATH ?? "" };
  const { exitCode, stderr } = await native.spawner.run({ path: native.programs.oci, args, env }, uninterrupted);
  if (exitCode !== 0) native.log.warn({ container: id, said: stderr.toString("utf8").trim() }, "a last hook failed");
}
