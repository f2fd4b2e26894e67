// Opens the runtime: reaches the daemon, sees to the sandbox image, finds what is ours, and begins to follow logs and events.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import { KeyedLock } from "../../plugins/kit/base/keyed-lock.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import { DiskUsage } from "../../plugins/kit/os/platform/disk-usage.ts";
import { systemdManager } from "../../plugins/kit/os/systemd/manager.ts";
import { CpuRates } from "../api/cgroup-usage.ts";
import type { Runtime } from "../api/contract.ts";
import { EventFeed } from "../api/event-feed.ts";
import { PullBoard } from "../api/pull-board.ts";
import { withFaults } from "../api/with-faults.ts";
import { attachSession } from "./containers/container-attach.ts";
import { execSession } from "./containers/container-exec.ts";
import type { Docker, SandboxNetwork } from "./docker.ts";
import { Engine } from "./engine/engine.ts";
import { EngineInfoCache } from "./engine/engine-info.ts";
import { learnHost } from "./host-facts.ts";
import { importArchive } from "./images/image-import.ts";
import { imageService } from "./images/image-service.ts";
import { Inventory } from "./inventory.ts";
import { instanceName } from "./labels.ts";
import { LogPumps } from "./logs/log-pumps.ts";
import { removeInstanceCgroup } from "./own-cgroups.ts";
import { ensurePauseImage, pauseImageName } from "./pause-image.ts";
import { recover } from "./recovery.ts";
import { followEvents } from "./runtime-events.ts";
import { runtimeService } from "./runtime-service.ts";
import { portForward } from "./sandboxes/port-forward.ts";

export interface DockerRuntimeOptions {
  /** The daemon's socket; found where absent. */
  readonly socket?: string;
  /** Little is kept here: where logs were when they were last rotated. Its path is the mark of what is ours on the daemon. */
  readonly root: string;
  readonly network: SandboxNetwork;
  /** Holds a pod's namespaces; made here where absent. */
  readonly sandboxImage?: string;
  readonly log?: Log;
  readonly clock?: Clock;
}

export interface DockerRuntime extends Runtime {
  /** Loads every image of a `docker save` archive; returns their names. */
  importArchive(path: string, call: Call): Promise<string[]>;
}

const sockets = ["/run/docker.sock", "/var/run/docker.sock"];
const openMs = 60_000;
const closeMs = 5_000;

/** The daemon's socket on this host: the one that `DOCKER_HOST` names, as Docker's own client has it, else the usual; or undefined. */
export function dockerSocket(): string | undefined {
  const named = /^unix:\/\/(.+)$/.exec(process.env.DOCKER_HOST ?? "")?.[1];
  return [...(named ? [named] : []), ...sockets].find((path) => existsSync(path));
}

export async function dockerRuntime(options: DockerRuntimeOptions): Promise<DockerRuntime> {
  const { root, network, sandboxImage = pauseImageName, log = noLog, clock = systemClock } = options;
  const engine = new Engine(options.socket ?? dockerSocket() ?? (sockets[0] as string));
  const opening = within(openMs);
  const instance = instanceName(root);
  try {
    const info = await EngineInfoCache.open(engine, clock, opening);
    const { SecurityOptions, CgroupDriver } = info.now();
    await ensurePauseImage(engine, sandboxImage, opening);
    const docker: Docker = {
      engine,
      info,
      inventory: new Inventory(engine, instance),
      instance,
      sandboxImage,
      network,
      logs: new LogPumps(engine, join(root, "logs"), clock, log),
      events: new EventFeed(),
      host: learnHost(SecurityOptions ?? []),
      cgroups: new Cgroups(),
      systemd: CgroupDriver === "systemd" ? systemdManager() : undefined,
      rates: new CpuRates(),
      disk: new DiskUsage(clock),
      locks: new KeyedLock(),
      clock,
      log,
      unfinished: new Set(),
      addresses: new Map(),
    };
    await recover(docker, opening);
    return assemble(docker);
  } catch (error) {
    engine.close();
    throw error;
  }
}

function assemble(docker: Docker): DockerRuntime {
  const { engine, info, clock, sandboxImage } = docker;
  const stop = new AbortController();
  const following = followEvents(docker, stop);
  const board = new PullBoard();
  let closing: Promise<void> | undefined;
  return {
    runtime: withFaults(runtimeService(docker)),
    image: withFaults(imageService({ engine, info, clock, sandboxImage, board })),
    pulls: () => board.list(),
    sessions: withFaults({
      exec: (session, streams, call) => execSession(docker, session, streams, call),
      attach: (session, streams, call) => attachSession(docker, session, streams, call),
      portForward: (id, port, connection, call) => portForward(docker, id, port, connection, call),
    }),
    importArchive: (path, call) => importArchive(engine, path, call),
    close() {
      closing ??= (async () => {
        stop.abort();
        await following;
        docker.events.close();
        await docker.logs.close();
        engine.close();
        // What is left of it is an empty group.
        await removeInstanceCgroup(docker, within(closeMs)).catch(() => {});
        docker.systemd?.close();
      })();
      return closing;
    },
  };
}
