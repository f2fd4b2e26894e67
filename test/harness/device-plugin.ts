// A device plugin with two cameras, as a vendor's program would be: a gRPC server beside the agent's socket. One camera can be broken.

import { join } from "node:path";
import { Client, credentials, Server, ServerCredentials } from "@grpc/grpc-js";
import {
  DevicePluginDefinition,
  RegistrationDefinition,
} from "../../agent/resources/devices/proto/gen/device-plugin.js";
import { grpcMethod, grpcService } from "../../cri/api/grpc-service.ts";

type Answer = (error: null, value: object) => void;

export interface CameraPlugin {
  /** Ids that each allocation was asked for. */
  readonly allocations: readonly (readonly string[])[];
  /** The second camera fails. */
  breakOne(): void;
  register(resourceName?: string, version?: string): Promise<void>;
  stop(): void;
}

export const cameraResource = "example.com/camera";

/** Serves in the agent's folder of device plugins; registers when told. */
export async function startCameraPlugin(dir: string): Promise<CameraPlugin> {
  const server = new Server();
  const allocations: string[][] = [];
  let tell: (message: object) => void = () => {};
  const devices = (health: string) => ({
    devices: [
      { ID: "cam0", health: "Healthy" },
      { ID: "cam1", health },
    ],
  });
  server.addService(grpcService(DevicePluginDefinition), {
    getDevicePluginOptions: (_: unknown, answer: Answer) => answer(null, {}),
    listAndWatch: (stream: { write(message: object): void }) => {
      tell = (message) => stream.write(message);
      tell(devices("Healthy"));
    },
    getPreferredAllocation: (_: unknown, answer: Answer) =>
      answer(null, { containerResponses: [{ deviceIDs: ["cam1"] }] }),
    allocate: (asked: { request: { containerRequests: { devicesIds: string[] }[] } }, answer: Answer) => {
      const ids = asked.request.containerRequests[0]?.devicesIds ?? [];
      allocations.push(ids);
      const specs = ids.map((id) => ({ containerPath: `/dev/${id}`, hostPath: "/dev/null", permissions: "rw" }));
      answer(null, {
        containerResponses: [
          { envs: { CAMERAS: ids.join(",") }, mounts: [], devices: specs, annotations: {}, cdiDevices: [] },
        ],
      });
    },
    preStartContainer: (_: unknown, answer: Answer) => answer(null, {}),
  });
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${join(dir, "cam.sock")}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  const client = new Client(`unix:${join(dir, "kubelet.sock")}`, credentials.createInsecure(), {
    "grpc.default_authority": "localhost",
  });
  const { path, requestSerialize, responseDeserialize } = grpcMethod(
    RegistrationDefinition,
    RegistrationDefinition.methods.register,
  );
  return {
    allocations,
    breakOne: () => tell(devices("Unhealthy")),
    register: (resourceName = cameraResource, version = "v1beta1") =>
      new Promise<void>((resolve, reject) => {
        const options = { preStartRequired: false, getPreferredAllocationAvailable: true };
        const request = { version, endpoint: "cam.sock", resourceName, options };
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) =>
          error ? reject(error) : resolve(),
        );
      }),
    stop() {
      client.close();
      server.forceShutdown();
    },
  };
}
