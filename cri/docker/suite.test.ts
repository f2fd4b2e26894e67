// The behaviour suite of every runtime, on a real Docker daemon that this test starts.

import t from "tap";
import { startDocker, withoutDocker } from "../../test/harness/docker.ts";
import { busyboxImage, busyboxImageName } from "../../test/harness/images.ts";
import { busyboxImage as pulledImage } from "../../test/harness/image-builder.ts";
import { TestRegistry } from "../../test/harness/registry.ts";
import { echoServer } from "../../test/suites/runtime/setup.ts";
import { type Area, runtimeSuite } from "../../test/suites/runtime/suite.ts";

const unfit = withoutDocker();

const variants = {
  namedUser: busyboxImage({ name: "skiff.test/named:1", user: "app" }),
  numberedUser: busyboxImage({ name: "skiff.test/numbered:1", user: "1000" }),
  removable: busyboxImage({ name: "skiff.test/removable:1", env: ["PATH=/bin", "VARIANT=removable"] }),
};

// `node cri/docker/suite.test.ts logs stats` runs only those areas.
const areas = process.argv.slice(2) as Area[];

if (unfit) t.test("docker", { skip: unfit }, async () => {});
else {
  runtimeSuite(
    t,
    {
      name: "docker",
      lacks: {
        checkpointContainer: "Docker has it only as an experiment, without an archive",
        userNamespaces: "Docker has one for all containers of a daemon, not one per pod",
        recursiveReadOnly: "Docker has it from API 1.44 on",
        imageVolumes: "Docker mounts no images",
        sizeAtStart: "Docker has it from API 1.42 on",
      },
      async open(t) {
        const registry = await TestRegistry.start();
        t.teardown(() => registry.stop());
        const docker = await startDocker(t, { images: [busyboxImage(), ...Object.values(variants)] });
        return {
          runtime: docker.current(),
          dir: docker.dir,
          image: busyboxImageName,
          images: {
            namedUser: variants.namedUser.name,
            numberedUser: variants.numberedUser.name,
            removable: variants.removable.name,
          },
          echoServer,
          pullable: registry.add("suite/busybox", "3", pulledImage()),
          restart: (meanwhile) => docker.reopen(meanwhile),
        };
      },
    },
    ...(areas.length > 0 ? [areas] : []),
  );
}
