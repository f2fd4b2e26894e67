import t from "tap";
import type { Runtime } from "../../cri/api/contract.ts";
import { CgroupDriver, RuntimeConfigResponse, StatusResponse } from "../../cri/api/gen/runtime.js";
import { openFake } from "../../cri/fake/open.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import { driverName } from "./runtime-driver.ts";

const says = (cgroupDriver: CgroupDriver) => async () => RuntimeConfigResponse.create({ linux: { cgroupDriver } });
const isOld = async () => {
  throw new Fault("unsupported", "unknown method RuntimeConfig");
};
const shows = (config: unknown) => async () => StatusResponse.create({ info: { config: JSON.stringify(config) } });
const containerd = (isSystemd: boolean) =>
  shows({ containerd: { defaultRuntimeName: "runc", runtimes: { runc: { options: { SystemdCgroup: isSystemd } } } } });

const rows: {
  name: string;
  runtime: Partial<Runtime["runtime"]>;
  setting: "auto" | "cgroupfs" | "systemd";
  driver: string;
  warning?: RegExp;
}[] = [
  {
    name: "one that says systemd",
    runtime: { runtimeConfig: says(CgroupDriver.SYSTEMD) },
    setting: "auto",
    driver: "systemd",
  },
  {
    name: "one that says cgroupfs",
    runtime: { runtimeConfig: says(CgroupDriver.CGROUPFS) },
    setting: "auto",
    driver: "cgroupfs",
  },
  {
    name: "one that says otherwise than the setting",
    runtime: { runtimeConfig: says(CgroupDriver.SYSTEMD) },
    setting: "cgroupfs",
    driver: "systemd",
    warning: /cgroup-driver is cgroupfs, but the runtime uses systemd: systemd is taken/,
  },
  {
    name: "an older containerd on systemd",
    runtime: { runtimeConfig: isOld, status: containerd(true) },
    setting: "auto",
    driver: "systemd",
  },
  {
    name: "an older containerd on files",
    runtime: { runtimeConfig: isOld, status: containerd(false) },
    setting: "auto",
    driver: "cgroupfs",
  },
  {
    name: "an older containerd against the setting",
    runtime: { runtimeConfig: isOld, status: containerd(false) },
    setting: "systemd",
    driver: "cgroupfs",
    warning: /cgroup-driver is systemd, but the runtime uses cgroupfs/,
  },
  {
    name: "one that says nothing",
    runtime: { runtimeConfig: isOld, status: shows({}) },
    setting: "systemd",
    driver: "systemd",
  },
  {
    name: "one that says nothing, nor does the setting",
    runtime: { runtimeConfig: isOld, status: shows([]) },
    setting: "auto",
    driver: "cgroupfs",
  },
];

for (const { name, runtime, setting, driver, warning } of rows)
  t.test(`driverName() of ${name}`, async (t) => {
    const warnings: string[] = [];
    const log: Log = { ...noLog, warn: (_facts: unknown, text?: string) => void warnings.push(String(text)) };
    const asked = { ...openFake().runtime, ...runtime };
    t.equal(await driverName(setting, asked, { clock: systemClock, log }, uninterrupted), driver);
    t.equal(warnings.length, warning ? 1 : 0);
    if (warning) t.match(warnings[0], warning);
  });

t.test("driverName() asks a runtime again that is not up yet", async (t) => {
  let asked = 0;
  const runtimeConfig = async () => {
    if (asked++ === 0) throw new Fault("unavailable", "connect ENOENT");
    return RuntimeConfigResponse.create({ linux: { cgroupDriver: CgroupDriver.SYSTEMD } });
  };
  const clock = { ...systemClock, sleep: async () => {} };
  const name = await driverName("auto", { ...openFake().runtime, runtimeConfig }, { clock, log: noLog }, uninterrupted);
  t.equal(name, "systemd");
});
