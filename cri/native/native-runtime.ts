// Opens the runtime: finds its programs, reads what it remembers, brings that in line with what is there, and begins to watch exits.

import { accessSync, constants, existsSync, mkdirSync, readFileSync, watch } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Runtime } from "../api/contract.ts";
import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import { cdiFolders } from "./containers/cdi/cdi-devices.ts";
import { attachSession } from "./containers/container-attach.ts";
import { noticeExit } from "./containers/container-end.ts";
import { execSession } from "./containers/container-exec.ts";
import { type ContainerRecord, toContainerStatus } from "./containers/container-record.ts";
import { DiskUsage } from "../../plugins/kit/os/platform/disk-usage.ts";
import { learnHost } from "./containers/host-facts.ts";
import { withFaults } from "../api/with-faults.ts";
import { type Images, openImages } from "./images/image-service.ts";
import { hostPlatform } from "./images/platform.ts";
import type { RegistriesConfig } from "./images/registry-config.ts";
import { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import { Spawner } from "./kernel/spawn.ts";
import { Gate } from "../../plugins/kit/base/gate.ts";
import { KeyedLock } from "../../plugins/kit/base/keyed-lock.ts";
import { type Native, NativePaths, nowNs, type SandboxNetwork } from "./native.ts";
import { RecordStore } from "./record-store.ts";
import { recover } from "./recovery.ts";
import { RuntimeEvents } from "./runtime-events.ts";
import { runtimeService } from "./runtime-service.ts";
import { portForward } from "./sandboxes/port-forward.ts";
import { type SandboxRecord, toPodSandboxStatus } from "./sandboxes/sandbox-record.ts";
import { StartConditions } from "./start-conditions.ts";

export interface NativeRuntimeOptions {
  /** Images, containers and records; survives a reboot. */
  readonly root: string;
  /** Namespaces, sockets and exit codes; best on a tmpfs. Its path must be short, because sockets lie in it. */
  readonly runDir: string;
  readonly network: SandboxNetwork;
  readonly log?: Log;
  readonly clock?: Clock;
  readonly registries?: RegistriesConfig;
  /** Found on PATH where absent: `runc` before `crun`. */
  readonly ociRuntime?: string;
  readonly conmon?: string;
  /** Device specifications (CDI), later ones first; the customary folders where absent. */
  readonly cdiFolders?: readonly string[];
  /** Bounds for one image layer. */
  readonly imageLimits?: { readonly entries: number; readonly bytes: number };
  /** Off only where a power cut does not matter, such as in tests. */
  readonly durable?: boolean;
  readonly version?: string;
}

export interface NativeRuntime extends Runtime {
  /** Imports every image of a `docker save` or OCI layout archive that fits this platform; returns their names. */
  importArchive(path: string, call: Call): Promise<string[]>;
}

const defaultLimits = { entries: 500_000, bytes: 64 * 1024 ** 3 };
/** The safety net under the watch of the exits folder. */
const relistMs = 10_000;

export async function nativeRuntime(options: NativeRuntimeOptions): Promise<NativeRuntime> {
  const programs = {
    oci: program(options.ociRuntime, ["runc", "crun"], "an OCI runtime"),
    conmon: program(options.conmon, ["conmon"], "conmon"),
  };
  const clock = options.clock ?? systemClock;
  const log = options.log ?? noLog;
  const paths = new NativePaths(options.root, options.runDir);
  for (const folder of [
    paths.root,
    paths.runDir,
    paths.exits,
    paths.persist,
    paths.attach,
    paths.ociState,
    join(paths.runDir, "s"),
  ]) {
    mkdirSync(folder, { recursive: true, mode: 0o711 });
  }
  mkdirSync(join(paths.root, "containers"), { recursive: true, mode: 0o711 });
  const containers = new RecordStore<ContainerRecord>(join(paths.root, "state", "containers"), "container");
  const sandboxes = new RecordStore<SandboxRecord>(join(paths.root, "state", "sandboxes"), "sandbox");
  const disk = new DiskUsage(clock);
  const images = await openImages({
    root: paths.root,
    containersDir: join(paths.root, "containers"),
    async containersUsage(call) {
      const all = await Promise.all(
        containers.list().map(({ id }) => disk.of(join(paths.container(id), "upper"), call)),
      );
      return {
        bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
        inodes: all.reduce((sum, { inodes }) => sum + inodes, 0),
      };
    },
    limits: options.imageLimits ?? defaultLimits,
    durable: options.durable ?? true,
    inUse: () => containers.list().flatMap(({ layers }) => layers),
    registries: options.registries ?? {},
    platform: hostPlatform(),
    clock,
    log,
  });
  const cgroups = new Cgroups();
  const native: Native = {
    paths,
    sandboxes,
    containers,
    images,
    disk,
    network: options.network,
    spawner: await Spawner.open(join(paths.runDir, "io.sock")),
    cgroups,
    host: learnHost(cgroups, log),
    events: eventsOf(sandboxes, containers, clock),
    locks: new KeyedLock(),
    launches: new Gate({ width: launchesAtOnce(), clock, patienceMs }),
    making: new Gate({ width: sandboxesAtOnce, clock, patienceMs }),
    clearing: new Gate({ width: sandboxesAtOnce, clock, patienceMs }),
    ownGroups: ownGroups(cgroups.version),
    cdiFolders: options.cdiFolders ?? cdiFolders,
    clock,
    log,
    programs,
    startConditions: new StartConditions({ programs, cgroups, folder: paths.root }),
  };
  if (!cgroups.controllers.has("memory")) {
    log.warn(
      {},
      "memory limits of containers do not hold: this kernel was started without its memory controller (cgroup_enable=memory)",
    );
  }
  await recover(native);
  // What a crash left half unpacked goes before anything is pulled.
  await images.store.collectGarbage();
  const stopWatching = watchExits(native);
  return assemble(native, images, options.version ?? "0.1.0", stopWatching);
}

/** An OCI runtime takes some 30 MB while it makes a container: a small board must not make twenty at once. */
const launchesAtOnce = () => Math.max(2, availableParallelism() * 2);

/** Most of it is work of the kernel on behalf of this thread: more at once would only hold up the event loop. */
const sandboxesAtOnce = 4;
const patienceMs = 3000;

/** As `Cgroups.enter` wants them; none where we are in the root of a hierarchy. */
function ownGroups(version: 1 | 2): string[] {
  const lines = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const isOwn = (head: string) => lines.some((line) => line.includes(head) && !line.endsWith(":/"));
  if (version === 2) return isOwn("0::") ? ["unified"] : [];
  return [...(isOwn(":name=systemd:") ? ["systemd"] : []), ...(isOwn("0::") ? ["unified"] : [])];
}

function assemble(native: Native, images: Images, version: string, stopWatching: () => void): NativeRuntime {
  let closing: Promise<void> | undefined;
  return {
    runtime: withFaults(runtimeService(native, { skiff: version })),
    image: withFaults(images.service),
    sessions: withFaults({
      exec: (session, streams, call) => execSession(native, session, streams, call),
      attach: (session, streams, call) => attachSession(native, session, streams, call),
      portForward: (id, port, connection, call) => portForward(native, id, port, connection, call),
    }),
    pulls: () => images.pulls(),
    importArchive: (path, call) => images.importArchive(path, call),
    close() {
      closing ??= (async () => {
        stopWatching();
        await native.spawner.close();
        // They stay as long as a pod does. Not before: what is being made in them is empty for a moment.
        for (const group of [native.paths.conmonCgroup, native.paths.defaultCgroup])
          native.cgroups.removeIfEmpty(group);
      })();
      return closing;
    },
  };
}

function eventsOf(
  sandboxes: RecordStore<SandboxRecord>,
  containers: RecordStore<ContainerRecord>,
  clock: Clock,
): RuntimeEvents {
  return new RuntimeEvents(({ id, sandboxId, type }) => {
    const sandbox = sandboxes.find(sandboxId);
    const own = containers.list().filter((record) => record.sandboxId === sandboxId && record.phase !== "making");
    return {
      containerId: id,
      containerEventType: type,
      createdAt: nowNs(clock),
      podSandboxStatus: sandbox && toPodSandboxStatus(sandbox),
      containersStatuses: own.map(toContainerStatus),
    };
  });
}

/** Woken by conmon's exit files; looks at everything now and then, because a watch may be lost. */
function watchExits(native: Native): () => void {
  const look = (record: ContainerRecord | undefined) => {
    if (!record) return;
    try {
      noticeExit(native, record);
    } catch (error) {
      native.log.warn({ err: error, container: record.id }, "an exit could not be recorded");
    }
  };
  const watcher = watch(native.paths.exits, (_kind, name) => look(name ? native.containers.find(name) : undefined));
  watcher.on("error", (error) =>
    native.log.warn({ err: error }, "the watch of container exits was lost; looking instead"),
  );
  let cancel = () => {};
  const relist = () => {
    for (const record of native.containers.list()) if (record.phase !== "exited") look(record);
    cancel = native.clock.after(relistMs, relist);
  };
  cancel = native.clock.after(relistMs, relist);
  return () => {
    cancel();
    watcher.close();
  };
}

function program(given: string | undefined, names: readonly string[], what: string): string {
  const folders = (process.env.PATH ?? "")
    .split(":")
    .concat("/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin");
  const candidates = given
    ? [given]
    : names.flatMap((name) => folders.filter(Boolean).map((folder) => join(folder, name)));
  for (const path of candidates) {
    if (!existsSync(path)) continue;
    accessSync(path, constants.X_OK);
    return path;
  }
  throw new Fault(
    "unavailable",
    `Cannot open the native runtime: ${what} is not installed (looked for ${given ?? names.join(", ")})`,
  );
}

/** The reason why this host cannot run it, or undefined. */
export function nativeUnfit(): string | undefined {
  try {
    program(undefined, ["runc", "crun"], "an OCI runtime");
    program(undefined, ["conmon"], "conmon");
  } catch (error) {
    return (error as Error).message;
  }
  return process.getuid?.() === 0 ? undefined : "it needs root";
}
