import t from "tap";
import { startContainerd, withoutContainerd } from "../../test/harness/containerd.ts";
import { busyboxImage, busyboxImageName } from "../../test/harness/images.ts";
import { busyboxImage as pulledImage } from "../../test/harness/image-builder.ts";
import { isAtLeast, type Version, versionOf } from "../../test/harness/program-version.ts";
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

function withoutCriu(): RuntimeSuite["lacks"] {
  const reason = without("criu");
  return reason ? { criu: reason } : {};
}

/** What each line of containerd has, as it was seen: 1.6.20, 1.7.24 and 2.1.9. */
function lacksOf(version: Version): RuntimeSuite["lacks"] {
  const name = `containerd ${version.join(".")}`;
  const isTwo = isAtLeast(version, [2, 0]);
  const hasUsers = isTwo && isAtLeast(versionOf("runc"), [1, 2]);
  return {
    metrics: `${name} has none`,
    stopSignal: `${name} has none`,
    sizeAtStart: `${name} sets it a moment after`,
    updatePodSandboxResources: `${name} has none`,
    ...(hasUsers ? {} : { userNamespaces: `${name} has none, or its runc has not` }),
    ...(isAtLeast(version, [2, 1]) ? {} : { imageVolumes: `${name} has none` }),
    ...(isAtLeast(version, [1, 7]) ? { exitsWhileAway: `${name} tells 255 for them` } : {}),
    ...(isTwo ? {} : { recursiveReadOnly: `${name} has none` }),
    ...(isTwo ? {} : { runtimeConfig: `${name} does not tell its cgroup driver` }),
    ...(isTwo ? { lateUpdates: `${name} takes them` } : {}),
    ...(isTwo ? {} : { containerUser: `${name} has none` }),
    // From 2.0 on it has checkpoints, where criu is installed.
    ...(isTwo ? withoutCriu() : { checkpointContainer: `${name} has none` }),
  };
}

const unfit = withoutContainerd();
// `node cri/remote/suite.test.ts logs stats` runs only those areas.
const areas = process.argv.slice(2) as Area[];

if (unfit) t.pass("containerd", { skip: unfit });
else {
  const suite: RuntimeSuite = {
    name: "containerd",
    lacks: lacksOf(versionOf("containerd")),
    async open(t) {
      const containerd = await startContainerd(t, {
        images: [
          busyboxImage(),
          busyboxImage({ name: images.namedUser, user: "app" }),
          busyboxImage({ name: images.numberedUser, user: "1000" }),
          busyboxImage({ name: images.removable, labels: { made: "to go" } }),
        ],
      });
      const registry = await TestRegistry.start();
      t.teardown(() => registry.stop());
      const open = () => openRemote({ socket: containerd.socket });
      const runtime = open();
      return {
        runtime,
        dir: containerd.dir,
        image: busyboxImageName,
        images,
        echoServer,
        pullable: registry.add("suite/busybox", "2", pulledImage()),
        async restart(meanwhile) {
          await containerd.kill();
          await meanwhile?.();
          await containerd.start();
          await runtime.close();
          return open();
        },
      };
    },
  };
  runtimeSuite(t, suite, ...(areas.length > 0 ? [areas] : []));
}
