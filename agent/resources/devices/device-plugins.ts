// Device plugins behind sockets: the registration service that they call, and one client for each that registered. A plugin that goes away
// may come back for a while: until then none of its devices is offered. Containers that have one keep it.

import { mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { type Client, type handleUnaryCall, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { ask, socketClient } from "../../../cri/api/grpc-ask.ts";
import { grpcMethod, grpcService, type MethodTable } from "../../../cri/api/grpc-service.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Log } from "../../../plugins/kit/base/log.ts";
import type { PluginSockets } from "../../../plugins/kit/contracts/plugin-sockets.ts";
import type { DeviceProvider, DeviceState } from "./contract.ts";
import type { DeviceManager } from "./device-manager.ts";
import {
  AllocateRequest,
  type AllocateResponse,
  DevicePluginDefinition,
  type DevicePluginOptions,
  type ListAndWatchResponse,
  PreferredAllocationRequest,
  type PreferredAllocationResponse,
  PreStartContainerRequest,
  RegistrationDefinition,
  type RegisterRequest,
} from "./proto/gen/device-plugin.js";

const version = "v1beta1";

/** How long the devices of a plugin that went away still count as the node's, as upstream has it. */
const missedMs = 300_000;

export interface DevicePluginsOptions {
  readonly dir: string;
  readonly devices: DeviceManager;
  /** The other way to register: by a socket in the folder of all plugins. */
  readonly sockets: PluginSockets;
  readonly clock: Clock;
  readonly log: Log;
  /** The count of some resource changed. */
  readonly onChange: () => void;
}

export class DevicePlugins {
  readonly #options: DevicePluginsOptions;
  readonly #open = new Map<string, RemoteDevices>();
  readonly #waits = new Set<() => void>();

  constructor(options: DevicePluginsOptions) {
    this.#options = options;
  }

  /** Takes registrations until stopped. Making the socket anew tells plugins of an earlier agent to register again. */
  async run(call: Call): Promise<void> {
    const socket = join(this.#options.dir, "kubelet.sock");
    mkdirSync(this.#options.dir, { recursive: true, mode: 0o750 });
    rmSync(socket, { force: true });
    const server = new Server();
    const register: handleUnaryCall<RegisterRequest, object> = ({ request }, answer) => {
      const wrong = this.#register(request);
      if (wrong) answer({ code: status.INVALID_ARGUMENT, details: wrong });
      else answer(null, {});
    };
    server.addService(grpcService(RegistrationDefinition), { register });
    await listen(server, socket);
    this.#options.sockets.use("DevicePlugin", {
      register: async ({ name, endpoint, versions }, inner) => {
        if (!versions.includes(version))
          throw new Fault("unsupported", `versions ${versions.join(", ")} are not supported: ${version} is`);
        this.#add(name, endpoint, await optionsOf(endpoint, name, inner));
      },
      gone: (name) => this.#open.get(name)?.end("its socket is gone"),
    });
    await new Promise<void>((resolve) => {
      if (call.signal.aborted) resolve();
      call.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    for (const remote of this.#open.values()) remote.close();
    for (const cancel of this.#waits) cancel();
    server.forceShutdown();
    rmSync(socket, { force: true });
  }

  #register(request: RegisterRequest): string | undefined {
    const { dir } = this.#options;
    const { resourceName, endpoint } = request;
    if (request.version !== version) return `version ${request.version} is not supported: ${version} is`;
    if (endpoint !== basename(endpoint)) return `the endpoint must be a name in ${dir}`;
    try {
      this.#add(resourceName, join(dir, endpoint), request.options);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #add(resourceName: string, socket: string, pluginOptions: DevicePluginOptions | undefined): void {
    const { devices, clock, log, onChange } = this.#options;
    if (!/^[^/]+\/[^/]+$/.test(resourceName))
      throw new Fault("invalid", `"${resourceName}" is not an extended resource name`);
    this.#open.get(resourceName)?.close();
    const remote = new RemoteDevices(socket, resourceName, pluginOptions, {
      onDevices: onChange,
      onEnd: (why) => {
        if (this.#open.get(resourceName) !== remote) return;
        log.warn({ resource: resourceName, why }, "a device plugin went away");
        this.#open.delete(resourceName);
        remote.close();
        remote.miss();
        const cancel = clock.after(missedMs, () => {
          this.#waits.delete(cancel);
          remote.forget();
          onChange();
        });
        this.#waits.add(cancel);
        onChange();
      },
    });
    this.#open.set(resourceName, remote);
    devices.add(remote);
    log.info({ resource: resourceName, socket }, "a device plugin registered");
  }
}

/** A plugin of the folder does not send them along: it is asked. */
async function optionsOf(socket: string, resource: string, call: Call): Promise<DevicePluginOptions> {
  const client = socketClient(socket);
  const { getDevicePluginOptions: method } = DevicePluginDefinition.methods;
  const question = { service: DevicePluginDefinition, method, message: {}, of: `device plugin of ${resource}` };
  try {
    return (await ask(client, question, call)) as DevicePluginOptions;
  } finally {
    client.close();
  }
}

function listen(server: Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

class RemoteDevices implements DeviceProvider {
  readonly resource: string;
  /** Takes it out of use. */
  readonly end: (why: string) => void;
  readonly #client: Client;
  readonly #options: DevicePluginOptions;
  #devices: readonly DeviceState[] = [];

  constructor(
    socket: string,
    resource: string,
    options: DevicePluginOptions | undefined,
    told: { onDevices: () => void; onEnd: (why: string) => void },
  ) {
    this.resource = resource;
    this.#options = options ?? { preStartRequired: false, getPreferredAllocationAvailable: false };
    this.#client = socketClient(socket);
    const { path, requestSerialize, responseDeserialize } = grpcMethod(
      DevicePluginDefinition,
      DevicePluginDefinition.methods.listAndWatch,
    );
    const stream = this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {});
    stream.on("data", (message: unknown) => {
      const { devices } = message as ListAndWatchResponse;
      this.#devices = devices.map(({ ID, health }) => ({ id: ID, isHealthy: health === "Healthy" }));
      told.onDevices();
    });
    this.end = told.onEnd;
    stream.on("error", (error) => told.onEnd(error.message));
    stream.on("end", () => told.onEnd("its stream ended"));
  }

  devices(): readonly DeviceState[] {
    return this.#devices;
  }

  async prefer(available: readonly string[], count: number, call: Call): Promise<readonly string[]> {
    if (!this.#options.getPreferredAllocationAvailable) return [];
    const request = PreferredAllocationRequest.create({
      containerRequests: [{ availableDeviceIDs: [...available], mustIncludeDeviceIDs: [], allocationSize: count }],
    });
    const { getPreferredAllocation } = DevicePluginDefinition.methods;
    const answer = (await this.#ask(getPreferredAllocation, request, call)) as PreferredAllocationResponse;
    return answer.containerResponses[0]?.deviceIDs ?? [];
  }

  async allocate(ids: readonly string[], call: Call) {
    const devicesIds = [...ids];
    const request = AllocateRequest.create({ containerRequests: [{ devicesIds }] });
    const answer = (await this.#ask(DevicePluginDefinition.methods.allocate, request, call)) as AllocateResponse;
    const {
      envs = {},
      mounts = [],
      devices = [],
      annotations = {},
      cdiDevices = [],
    } = answer.containerResponses[0] ?? {};
    return {
      environment: new Map(Object.entries(envs)),
      mounts,
      devices,
      annotations,
      cdiDevices: cdiDevices.map(({ name }) => name),
    };
  }

  async prepare(ids: readonly string[], call: Call): Promise<void> {
    if (!this.#options.preStartRequired) return;
    const { preStartContainer } = DevicePluginDefinition.methods;
    await this.#ask(preStartContainer, PreStartContainerRequest.create({ devicesIds: [...ids] }), call);
  }

  /** Its plugin is away: nobody can tell how its devices are. */
  miss(): void {
    this.#devices = this.#devices.map(({ id }) => ({ id, isHealthy: false }));
  }

  forget(): void {
    this.#devices = [];
  }

  close(): void {
    this.#client.close();
  }

  #ask(method: MethodTable, message: object, call: Call): Promise<unknown> {
    const question = { service: DevicePluginDefinition, method, message, of: `device plugin of ${this.resource}` };
    return ask(this.#client, question, call);
  }
}
