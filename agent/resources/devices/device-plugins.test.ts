import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { noLog } from "../../../plugins/kit/base/log.ts";
import { cameraResource, startCameraPlugin } from "../../../test/harness/device-plugin.ts";
import { testPod } from "../../../test/harness/pod-room.ts";
import { until } from "../../../test/harness/until.ts";
import { DeviceManager } from "./device-manager.ts";
import { DevicePlugins } from "./device-plugins.ts";

t.test("DevicePlugins takes a plugin's devices, their health and their end", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-dp-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const devices = new DeviceManager(join(dir, "devices.json"));
  const countOf = () => devices.counts()[cameraResource];
  const clock = new FakeClock();
  const stop = new AbortController();
  const sockets = { use: () => {} };
  const running = new DevicePlugins({ dir, devices, sockets, clock, log: noLog, onChange: () => {} }).run(stop);
  const plugin = await startCameraPlugin(dir);
  t.teardown(() => plugin.stop());

  await until("the registration", () => plugin.register().then(() => true));
  await t.rejects(plugin.register("camera"), /not an extended resource name/);
  await t.rejects(plugin.register(cameraResource, "v2"), /version v2 is not supported/);
  await until("both cameras", () => countOf()?.allocatable === 2);

  const pod = testPod("film", {
    containers: [{ name: "main", image: "x", resources: { limits: { [cameraResource]: "1" } } }],
  });
  const [part] = await devices.allot(pod, pod.spec.containers[0] ?? { name: "main" }, uninterrupted);
  t.equal(part?.environment?.get("CAMERAS"), "cam1", "the one that the plugin prefers");
  t.match(part?.devices, [{ containerPath: "/dev/cam1", hostPath: "/dev/null", permissions: "rw" }]);

  plugin.breakOne();
  await until("one camera", () => countOf()?.allocatable === 1);
  t.equal(countOf()?.capacity, 2, "a broken one is still the node's");
  plugin.stop();
  await until("none that works", () => countOf()?.allocatable === 0);
  t.equal(countOf()?.capacity, 2, "it may come back");
  await clock.advance(300_000);
  t.same(countOf(), { capacity: 0, allocatable: 0 });
  stop.abort();
  await running;
});
