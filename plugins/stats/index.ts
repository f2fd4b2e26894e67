// Every built-in source of stats, in the order in which they are asked.

import { existsSync } from "node:fs";
import { Cgroups } from "../kit/os/platform/cgroups.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { statsKind, type StatsSource } from "../kit/contracts/stats-source.ts";
import { cgroupV1Source } from "./cgroup-v1.ts";
import { cgroupV2Source } from "./cgroup-v2.ts";

const cgroupV2: Plugin<StatsSource> = {
  kind: statsKind,
  name: "cgroup-v2",
  open: ({ clock }) => cgroupV2Source(new Cgroups(), clock, existsSync("/proc/pressure")),
};

const cgroupV1: Plugin<StatsSource> = {
  kind: statsKind,
  name: "cgroup-v1",
  open: ({ clock }) => cgroupV1Source(new Cgroups(), clock),
};

export const statsSources = [cgroupV2, cgroupV1];
