// The behaviour that every runtime must have, whatever it is made of. One call runs all of it; a part that a runtime
// cannot have is skipped with the reason that its setup gives.

import type tap from "tap";
import { checkpoint } from "./checkpoint.ts";
import { errors } from "./errors.ts";
import { events } from "./events.ts";
import { execSync } from "./exec-sync.ts";
import { images } from "./images.ts";
import { lifecycle } from "./lifecycle.ts";
import { lists } from "./lists.ts";
import { logs } from "./logs.ts";
import { mounts } from "./mounts.ts";
import { namespaces } from "./namespaces.ts";
import { recovery } from "./recovery.ts";
import { resources } from "./resources.ts";
import { security } from "./security.ts";
import type { RuntimeSuite } from "./setup.ts";
import { stats } from "./stats.ts";
import { streaming } from "./streaming.ts";
import { Workbench } from "./workbench.ts";

export type Test = Pick<typeof tap, "test" | "teardown" | "setTimeout">;

const areas = {
  lifecycle,
  lists,
  errors,
  events,
  logs,
  execSync,
  streaming,
  images,
  stats,
  resources,
  namespaces,
  security,
  mounts,
  recovery,
  checkpoint,
};

export type Area = keyof typeof areas;

/** Opens the runtime once and runs every area on it, or those named. */
export function runtimeSuite(t: Test, suite: RuntimeSuite, only: readonly Area[] = Object.keys(areas) as Area[]): void {
  // Some two hundred containers, one after another, on what may be a busy machine.
  t.setTimeout(600_000);
  t.test(suite.name, { timeout: 600_000 }, async (t) => {
    const bench = new Workbench(await suite.open(t), suite);
    t.teardown(() => bench.close());
    for (const area of only) t.test(area, { timeout: 600_000 }, async (t) => areas[area](t, bench));
  });
}
