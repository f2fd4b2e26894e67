import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials, Server, ServerCredentials } from "@grpc/grpc-js";
import t from "tap";
import { grpcMethod, grpcService } from "../../../cri/api/grpc-service.ts";
import { uninterrupted } from "../../../plugins/kit/call.ts";
import { FakeClock } from "../../../plugins/kit/clock.ts";
import { noLog } from "../../../plugins/kit/log.ts";
import { testPod } from "../../../test/harness/pod-room.ts";
import { until } from "../../../test/harness/until.ts";
import { DeviceManager } from "./device-manager.ts";
import { DevicePlugins } from "./device-plugins.ts";
import { DevicePluginDefinition, RegistrationDefinition } from "./proto/gen/device-plugin.js";

/** A plugin with two cameras, one of which can be broken. */
async function startPlugin(dir: string) {
  const server = new Server();
  let tell: (message: object) => void = () => {};
  const devices = (health: string) => ({
    devices: [
      { ID: "cam0", health: "Healthy" },
      { ID: "cam1", health },
    ],
  });
  server.addService(grpcService(DevicePluginDefinition), {
    getDevicePluginOptions: (_: unknown, answer: (error: null, value: object) => void) => answer(null, {}),
    listAndWatch: (stream: { write(message: object): void }) => {
      tell = (message) => stream.write(message);
      tell(devices("Healthy"));
    },
    getPreferredAllocation: (_: unknown, answer: (error: null, value: object) => void) =>
      answer(null, { containerResponses: [{ deviceIDs: ["cam1"] }] }),
    allocate: (
      asked: { request: { containerRequests: { devicesIds: string[] }[] } },
      answer: (error: null, value: object) => void,
    ) => {
      const ids = asked.request.containerRequests[0]?.devicesIds ?? [];
      const specs = ids.map((id) => ({ containerPath: `/dev/${id}`, hostPath: "/dev/null", permissions: "rw" }));
      answer(null, {
        containerResponses: [
          { envs: { CAMERAS: ids.join(",") }, mounts: [], devices: specs, annotations: {}, cdiDevices: [] },
        ],
      });
    },
    preStartContainer: (_: unknown, answer: (error: null, value: object) => void) => answer(null, {}),
  });
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${join(dir, "cam.sock")}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  return { server, breakOne: () => tell(devices("Unhealthy")) };
}

t.test("DevicePlugins takes a plugin's devices, their health and their end", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-dp-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const devices = new DeviceManager(join(dir, "devices.json"));
  const countOf = () => devices.counts()["example.com/camera"];
  const clock = new FakeClock();
  const stop = new AbortController();
  const sockets = { use: () => {} };
  const running = new DevicePlugins({ dir, devices, sockets, clock, log: noLog, onChange: () => {} }).run({
    signal: stop.signal,
  });
  const plugin = await startPlugin(dir);
  t.teardown(() => plugin.server.forceShutdown());

  const client = new Client(`unix:${join(dir, "kubelet.sock")}`, credentials.createInsecure(), {
    "grpc.default_authority": "localhost",
  });
  const { path, requestSerialize, responseDeserialize } = grpcMethod(
    RegistrationDefinition,
    RegistrationDefinition.methods.register,
  );
  const register = (resourceName: string, version = "v1beta1") =>
    new Promise<void>((resolve, reject) => {
      const options = { preStartRequired: false, getPreferredAllocationAvailable: true };
      const request = { version, endpoint: "cam.sock", resourceName, options };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) =>
        error ? reject(error) : resolve(),
      );
    });
  await until("the registration", () => register("example.com/camera").then(() => true));
  await t.rejects(register("camera"), /not an extended resource name/);
  await t.rejects(register("example.com/camera", "v2"), /version v2 is not supported/);
  await until("both cameras", () => countOf()?.allocatable === 2);

  const pod = testPod("film", {
    containers: [{ name: "main", image: "x", resources: { limits: { "example.com/camera": "1" } } }],
  });
  const [part] = await devices.allot(pod, pod.spec.containers[0] ?? { name: "main" }, uninterrupted);
  t.equal(part?.environment?.get("CAMERAS"), "cam1", "the one that the plugin prefers");
  t.match(part?.devices, [{ containerPath: "/dev/cam1", hostPath: "/dev/null", permissions: "rw" }]);

  plugin.breakOne();
  await until("one camera", () => countOf()?.allocatable === 1);
  t.equal(countOf()?.capacity, 2, "a broken one is still the node's");
  plugin.server.forceShutdown();
  await until("none that works", () => countOf()?.allocatable === 0);
  t.equal(countOf()?.capacity, 2, "it may come back");
  await clock.advance(300_000);
  t.same(countOf(), { capacity: 0, allocatable: 0 });
  client.close();
  stop.abort();
  await running;
});
