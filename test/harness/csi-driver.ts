// A small storage driver for tests, served over its sockets: a volume is a folder, staged and published by bind mounts. It keeps the calls it
// got, and may be told to fail.

import { mkdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import { RegistrationDefinition } from "../../agent/plugin-sockets/gen/plugin-registration.js";
import { grpcService } from "../../cri/api/grpc-service.ts";
import { isMountPoint, mount, mountFlags, unmount } from "../../plugins/kit/os/platform/mount.ts";
import { NodeDefinition } from "../../plugins/volume/csi/gen/csi.js";

interface CsiCall {
  readonly method: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly request: any;
}

export interface TestCsiDriver {
  readonly name: string;
  readonly calls: CsiCall[];
  /** The folder behind a volume. */
  folder(volumeId: string): string;
  /** The method that fails until it is cleared. */
  failing: string | undefined;
  /** The gRPC status that it fails with; INTERNAL unless set. */
  failingCode: number;
  /** What the node said to the registration. */
  readonly told: { pluginRegistered: boolean; error: string }[];
  close(): void;
}

export interface CsiDriverOptions {
  readonly name: string;
  /** Free for the driver's own files. */
  readonly dir: string;
  readonly registryDir: string;
  /** Numbers of NodeServiceCapability.RPC.Type. */
  readonly capabilities?: readonly number[];
}

export async function startCsiDriver(options: CsiDriverOptions): Promise<TestCsiDriver> {
  const { name, dir, registryDir, capabilities = [1, 2] } = options;
  const calls: CsiCall[] = [];
  const folder = (volumeId: string) => join(dir, "volumes", volumeId);
  const endpoint = join(dir, "csi.sock");
  const driver: TestCsiDriver = { name, calls, folder, failing: undefined, failingCode: 13, told: [], close };
  // oxlint-disable-next-line typescript/no-explicit-any
  const serve = (method: string, answer: (request: any) => object): handleUnaryCall<unknown, object> => {
    return ({ request }, done) => {
      calls.push({ method, request });
      try {
        if (driver.failing === method) throw new Error("the driver was told to fail");
        done(null, answer(request));
      } catch (error) {
        done({ code: driver.failingCode, details: (error as Error).message });
      }
    };
  };
  const bind = (from: string, to: string) => {
    mkdirSync(from, { recursive: true });
    mkdirSync(to, { recursive: true });
    if (!isMountPoint(to)) mount(from, to, null, mountFlags.bind);
    return {};
  };
  const release = (path: string) => {
    unmount(path);
    // Drivers remove what they made; somebody else may have done so before.
    try {
      rmdirSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    return {};
  };
  const server = new Server();
  server.addService(grpcService(NodeDefinition), {
    nodeGetInfo: serve("info", () => ({
      nodeId: `id-of-${name}`,
      maxVolumesPerNode: 7n,
      accessibleTopology: { segments: { [`${name}/zone`]: "shed" } },
    })),
    nodeGetCapabilities: serve("capabilities", () => ({
      capabilities: capabilities.map((type) => ({ rpc: { type } })),
    })),
    nodeStageVolume: serve("stage", ({ volumeId, stagingTargetPath }) => bind(folder(volumeId), stagingTargetPath)),
    nodeUnstageVolume: serve("unstage", ({ stagingTargetPath }) => release(stagingTargetPath)),
    nodePublishVolume: serve("publish", ({ volumeId, stagingTargetPath, targetPath }) =>
      bind(stagingTargetPath || folder(volumeId), targetPath),
    ),
    nodeUnpublishVolume: serve("unpublish", ({ targetPath }) => release(targetPath)),
    nodeExpandVolume: serve("expand", ({ capacityRange }) => ({ capacityBytes: capacityRange.requiredBytes })),
    nodeGetVolumeStats: serve("stats", () => ({
      usage: [
        { unit: 1, total: 1000n, used: 300n, available: 700n },
        { unit: 2, total: 10n, used: 3n, available: 7n },
      ],
    })),
  });
  const registration = new Server();
  registration.addService(grpcService(RegistrationDefinition), {
    getInfo: serve("register", () => ({ type: "CSIPlugin", name, endpoint, supportedVersions: ["1.0.0"] })),
    notifyRegistrationStatus: serve("registered", (status) => {
      driver.told.push(status);
      return {};
    }),
  });
  const registrationSocket = join(registryDir, `${name}-reg.sock`);
  mkdirSync(registryDir, { recursive: true });
  mkdirSync(dir, { recursive: true });
  await listen(server, endpoint);
  await listen(registration, registrationSocket);

  function close(): void {
    for (const socket of [registrationSocket, endpoint]) rmSync(socket, { force: true });
    registration.forceShutdown();
    server.forceShutdown();
  }
  return driver;
}

function listen(server: Server, socket: string): Promise<void> {
  rmSync(socket, { force: true });
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}
