// The behaviour suite of every runtime, on the native one with a real kernel, network and registry.

import { execFileSync } from "node:child_process";
import t from "tap";
import { busyboxImage, busyboxImageName } from "../../test/harness/images.ts";
import { busyboxImage as pulledImage } from "../../test/harness/image-builder.ts";
import { startNative, withoutNative } from "../../test/harness/native.ts";
import { TestRegistry } from "../../test/harness/registry.ts";
import { echoServer, type RuntimeSuite } from "../../test/suites/runtime/setup.ts";
import { type Area, runtimeSuite } from "../../test/suites/runtime/suite.ts";

const unfit = withoutNative();

const variants = {
  namedUser: busyboxImage({ name: "skiff.test/named:1", user: "app" }),
  numberedUser: busyboxImage({ name: "skiff.test/numbered:1", user: "1000" }),
  removable: busyboxImage({ name: "skiff.test/removable:1", env: ["PATH=/bin", "VARIANT=removable"] }),
};

function isInstalled(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

// `node cri/native/suite.test.ts logs stats` runs only those areas.
const areas = process.argv.slice(2) as Area[];

if (unfit) t.test("native", { skip: unfit }, async () => {});
else {
  const suite: RuntimeSuite = {
    name: "native",
    lacks: isInstalled("criu") ? {} : { checkpointContainer: "needs criu" },
    async open(t) {
      const registry = await TestRegistry.start();
      t.teardown(() => registry.stop());
      const native = await startNative(t, { images: [busyboxImage(), ...Object.values(variants)] });
      return {
        runtime: native.current(),
        dir: native.dir,
        image: busyboxImageName,
        images: {
          namedUser: variants.namedUser.name,
          numberedUser: variants.numberedUser.name,
          removable: variants.removable.name,
        },
        echoServer,
        pullable: registry.add("suite/busybox", "1", pulledImage()),
        restart: (meanwhile) => native.reopen(meanwhile),
      };
    },
  };
  runtimeSuite(t, suite, ...(areas.length > 0 ? [areas] : []));
}
