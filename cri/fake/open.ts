// A runtime of no kernel at all, for unit tests and simulations: it keeps the whole CRI contract in memory, time comes
// from the clock it is given, and tests reach in by its hooks.

import type { Call } from "../../plugins/kit/base/call.ts";
import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { ImageService, Runtime, RuntimeService } from "../api/contract.ts";
import { CgroupDriver, type Image, StatusResponse } from "../api/gen/runtime.js";
import { type Exit, exitContainer, fakeContainers } from "./containers.ts";
import { addImage, fakeImages } from "./images.ts";
import type { Program } from "./process.ts";
import { builtinPrograms } from "./programs.ts";
import { fakeSandboxes } from "./sandboxes.ts";
import { fakeExecSync, fakeSessions, type PortHandler } from "./sessions.ts";
import { fakeStats } from "./stats.ts";
import { type FakeContainer, FakeWorld } from "./world.ts";

type FakeMethod = Exclude<keyof RuntimeService, "getContainerEvents"> | keyof ImageService;

/** Runs before a call is carried out: await to delay it, throw to fail it. */
type FakeHook = (request: unknown, call: Call) => void | Promise<void>;

type Condition = "RuntimeReady" | "NetworkReady";

export interface FakeOptions {
  readonly clock?: Clock;
  /** What an earlier fake left; a new one unless told. */
  readonly world?: FakeWorld;
  /** Present from the start. */
  readonly images?: readonly string[];
}

export interface FakeRuntime extends Runtime {
  readonly world: FakeWorld;
  /** What containers and execs can run, by name; add to it freely. */
  readonly programs: Map<string, Program>;
  /** What listens inside every sandbox. */
  readonly ports: Map<number, PortHandler>;
  /** Every call so far, in order, also the failed ones. */
  readonly calls: { method: FakeMethod; request: unknown }[];
  /** What a pull finds; everything unless told. */
  canPull: (name: string) => boolean;
  /** Containers that only SIGKILL ends; none unless told. */
  ignoresTerm: (container: FakeContainer) => boolean;
  /** Conditions that `status` tells as false, with their message. */
  readonly troubles: Map<Condition, string>;
  addImage(name: string, changes?: Partial<Image>): Image;
  /** Ends a container's process from within; resolves when the status and the event are out. */
  exit(containerId: string, exit: Exit): Promise<void>;
  /** Runs the hook before every such call; the returned function takes it back. */
  before(method: FakeMethod, hook: FakeHook): () => void;
  /** Fails the next such call, and only that. */
  failNext(method: FakeMethod, fault?: Fault): void;
}

export function openFake({ clock = systemClock, world = new FakeWorld(), images = [] }: FakeOptions = {}): FakeRuntime {
  const hooks = new Map<FakeMethod, Set<FakeHook>>();
  const programs = builtinPrograms();
  const ports = new Map<number, PortHandler>();
  const sessions = fakeSessions({ world, clock, programs, ports });
  const containers = fakeContainers({
    world,
    clock,
    programs,
    ignoresTerm: (container) => fake.ignoresTerm(container),
  });
  const troubles = new Map<Condition, string>();
  const runtime: Omit<RuntimeService, "getContainerEvents"> = {
    ...fakeIdentity(troubles),
    ...fakeSandboxes({ world, clock, containers, runtimeHandlers: ["fake"] }),
    ...containers,
    ...fakeExecSync(sessions, clock),
    ...fakeStats(world, clock),
  };
  const fake: FakeRuntime = {
    runtime: {
      ...hooked(runtime, before),
      getContainerEvents: (_request, call) => world.events.listen(call),
    },
    image: hooked(fakeImages({ world, clock, canPull: (name) => fake.canPull(name) }), before),
    sessions,
    world,
    programs,
    ports,
    calls: [],
    canPull: () => true,
    ignoresTerm: () => false,
    troubles,
    addImage: (name, changes) => addImage(world, name, changes),
    exit: (containerId, exit) => exitContainer(world.running(containerId).container, exit),
    before(method, hook) {
      const set = hooks.get(method) ?? new Set();
      hooks.set(method, set.add(hook));
      return () => set.delete(hook);
    },
    failNext(method, fault = new Fault("internal", `${method} fails as the test asked`)) {
      const takeBack = fake.before(method, () => {
        takeBack();
        throw fault;
      });
    },
    close: async () => world.events.close(),
  };
  async function before(method: string, request: unknown, call: Call): Promise<void> {
    fake.calls.push({ method: method as FakeMethod, request });
    for (const hook of hooks.get(method as FakeMethod) ?? []) await hook(request, call);
    if (call.signal.aborted) throw new Fault("timeout", `${method}: the call was stopped`);
  }
  for (const name of images) addImage(world, name);
  return fake;
}

/** The same service, with `before` run ahead of every method. */
function hooked<T extends object>(
  service: T,
  before: (method: string, request: unknown, call: Call) => Promise<void>,
): T {
  const methods = Object.entries(service).map(([name, method]) => [
    name,
    async (request: unknown, call: Call): Promise<unknown> => {
      await before(name, request, call);
      return (method as (request: unknown, call: Call) => Promise<unknown>)(request, call);
    },
  ]);
  return Object.fromEntries(methods) as T;
}

function fakeIdentity(troubles: ReadonlyMap<Condition, string>) {
  const identity: Pick<
    RuntimeService,
    "version" | "status" | "runtimeConfig" | "updateRuntimeConfig" | "checkpointContainer"
  > = {
    version: async () => ({
      version: "0.1.0",
      runtimeName: "fake",
      runtimeVersion: "1.0.0",
      runtimeApiVersion: "v1",
    }),
    async status({ verbose }) {
      const conditions = (["RuntimeReady", "NetworkReady"] as const).map((type) => {
        const message = troubles.get(type);
        return { type, status: message === undefined, reason: message ? "Trouble" : "", message: message ?? "" };
      });
      const handler = { features: { recursiveReadOnlyMounts: true, userNamespaces: true } };
      return StatusResponse.create({
        status: { conditions },
        info: verbose ? { config: "{}" } : {},
        runtimeHandlers: [
          { name: "", ...handler },
          { name: "fake", ...handler },
        ],
        features: { supplementalGroupsPolicy: true },
      });
    },
    runtimeConfig: async () => ({ linux: { cgroupDriver: CgroupDriver.CGROUPFS } }),
    updateRuntimeConfig: async () => ({}),
    async checkpointContainer({ containerId }) {
      throw new Fault("unsupported", `Cannot checkpoint container "${containerId}": the fake has no memory to save`);
    },
  };
  return identity;
}
