// Groups as folders that the agent makes itself.

import { join } from "node:path";
import type { CgroupDriver, GroupName } from "./cgroup-driver.ts";
import type { CgroupFiles } from "./cgroup-files.ts";

export function cgroupfsDriver(files: CgroupFiles): CgroupDriver {
  const pathOf = (group: GroupName) => join("/", ...group);
  return {
    name: "cgroupfs",
    parent: pathOf,
    async make(group, limits) {
      files.make(pathOf(group));
      files.limit(pathOf(group), limits);
    },
    async limit(group, limits) {
      files.limit(pathOf(group), limits);
    },
    remove: async (group) => files.remove(pathOf(group)),
    children: (group) => files.children(pathOf(group)),
    kill: (group) => files.kill(pathOf(group)),
    processes: (group) => files.processes(pathOf(group)),
    close() {},
  };
}
