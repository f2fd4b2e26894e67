import t from "tap";
import { PodSandboxConfig } from "../api/gen/runtime.js";
import type { SystemdManager } from "../../plugins/kit/os/systemd/manager.ts";
import { defaultCgroup } from "./own-cgroups.ts";

t.test("defaultCgroup() is named as the daemon's driver has it", async (t) => {
  const config = PodSandboxConfig.create({ metadata: { name: "web", uid: "1a-2b", namespace: "shop", attempt: 1 } });
  t.equal(defaultCgroup({ instance: "abc", systemd: undefined }, config), "/skiff-docker-abc/1a-2b-1");
  t.equal(defaultCgroup({ instance: "abc", systemd: {} as SystemdManager }, config), "skiff_docker_abc-1a_2b_1.slice");
});
