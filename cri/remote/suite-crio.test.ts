// The behaviour suite of every runtime, on a real CRI-O that this test starts, where `crio` and `pinns` are on PATH.

import t from "tap";
import { noCrio, startCrio } from "../../test/harness/crio.ts";
import { busyboxImage, busyboxImageName } from "../../test/harness/images.ts";
import { busyboxImage as pulledImage } from "../../test/harness/image-builder.ts";
import { isAtLeast, versionOf } from "../../test/harness/program-version.ts";
import { TestRegistry } from "../../test/harness/registry.ts";
import { without } from "../../test/harness/stock-kubernetes.ts";
import { echoServer, type RuntimeSuite } from "../../test/suites/runtime/setup.ts";
import { type Area, runtimeSuite } from "../../test/suites/runtime/suite.ts";
import { openRemote } from "./open.ts";

const images = {
  namedUser: "skiff.test/named-user:1",
  numberedUser: "skiff.test/numbered-user:1",
  removable: "skiff.test/removable:1",
};

/** What it has and how it differs, as it was seen: 1.32.13. */
function lacksOf(): RuntimeSuite["lacks"] {
  const name = `CRI-O ${versionOf("crio").join(".")}`;
  const noCriu = without("criu");
  return {
    updatePodSandboxResources: `${name} has none`,
    stopSignal: `${name} has none`,
    sizeAtStart: `${name} sets it a moment after`,
    ownTerminal: `${name} puts another in between, which ends lines its own way, and waits for no last words`,
    orderedEvents: `${name} tells them from two sides as they come`,
    metricLabels: `${name} sends more than it describes`,
    podUsage: `${name} knows it only below systemd's slices, and takes lo for the pod's interface`,
    lateCommands: `${name} looks for it when the container is created`,
    takenNames: `${name} answers with the one that has the name`,
    killAtOnce: `${name} sends the stop signal first`,
    burial: `${name} leaves it to the machine's first process`,
    notFoundCode: `${name} often says it in words only`,
    ...(noCriu ? { criu: noCriu } : {}),
    ...(isAtLeast(versionOf("runc"), [1, 2]) ? {} : { idMappedMounts: "needs runc 1.2" }),
  };
}

// `node cri/remote/suite-crio.test.ts logs stats` runs only those areas.
const areas = process.argv.slice(2) as Area[];

if (noCrio) t.test("CRI-O", { skip: noCrio }, async () => {});
else {
  runtimeSuite(
    t,
    {
      name: "CRI-O",
      lacks: lacksOf(),
      async open(t) {
        const registry = await TestRegistry.start();
        t.teardown(() => registry.stop());
        const crio = await startCrio(t, registry, [
          busyboxImage(),
          busyboxImage({ name: images.namedUser, user: "app" }),
          busyboxImage({ name: images.numberedUser, user: "1000" }),
          busyboxImage({ name: images.removable, labels: { made: "to go" } }),
        ]);
        const open = () => openRemote({ socket: crio.socket });
        const runtime = open();
        return {
          runtime,
          dir: crio.dir,
          image: busyboxImageName,
          images,
          echoServer,
          pullable: registry.add("suite/busybox", "4", pulledImage()),
          async restart(meanwhile) {
            await crio.kill();
            await meanwhile?.();
            await crio.start();
            await runtime.close();
            return open();
          },
        };
      },
    },
    ...(areas.length > 0 ? [areas] : []),
  );
}
