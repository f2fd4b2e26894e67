// Images: found by every name they have, described, removed, pulled.

import * as cri from "../../../cri/api/gen/runtime.js";
import { within } from "../../../plugins/kit/base/call.ts";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

export function images(t: Test, bench: Workbench): void {
  const statusOf = async (image: string, verbose = false) =>
    bench.runtime.image.imageStatus(cri.ImageStatusRequest.create({ image: { image }, verbose }), within(30_000));
  const list = async (image = "") => {
    const filter = image ? { filter: { image: { image } } } : {};
    return (await bench.runtime.image.listImages(cri.ListImagesRequest.create(filter), within(30_000))).images;
  };

  t.test("an image is found by tag and by id, and listed", async (t) => {
    const { image } = await statusOf(bench.setup.image);
    t.ok(image?.id);
    t.ok(image?.repoTags.includes(bench.setup.image));
    t.ok((image?.size ?? 0n) > 0n);
    t.equal((await statusOf(image?.id ?? "")).image?.id, image?.id);
    t.ok((await list()).some(({ id }) => id === image?.id));
    t.same(
      (await list(bench.setup.image)).map(({ id }) => id),
      [image?.id],
    );
    t.same(await list("skiff.test/nobody:0"), []);
    t.ok(Object.keys((await statusOf(bench.setup.image, true)).info).length > 0, "verbose tells more");
  });

  t.test("an image that is not present has no status, and that is no fault", async (t) => {
    t.equal((await statusOf("skiff.test/nobody:0")).image, undefined);
  });

  t.test("an image's user is a number or a name", async (t) => {
    const { namedUser, numberedUser } = bench.setup.images;
    t.match((await statusOf(namedUser)).image, { username: "app", uid: undefined });
    t.match((await statusOf(numberedUser)).image, { username: "", uid: { value: 1000n } });
  });

  t.test("removeImage takes it away, and may be repeated, also at once", async (t) => {
    const { removable } = bench.setup.images;
    t.ok((await statusOf(removable)).image);
    const request = cri.RemoveImageRequest.create({ image: { image: removable } });
    await Promise.all(Array.from({ length: 3 }, () => bench.runtime.image.removeImage(request, within(30_000))));
    await until("it to be gone", async () => !(await statusOf(removable)).image);
    await bench.runtime.image.removeImage(request, within(30_000));
    t.ok((await statusOf(bench.setup.image)).image, "others stay");
  });

  t.test("imageFsInfo tells where images are and how much they take", async (t) => {
    const { imageFilesystems } = await bench.runtime.image.imageFsInfo({}, within(30_000));
    t.ok(imageFilesystems.length > 0);
    for (const { fsId, usedBytes, timestamp } of imageFilesystems) {
      t.match(fsId?.mountpoint, /^\//);
      t.type(usedBytes?.value, "bigint");
      t.ok(timestamp > 1_000_000_000_000_000_000n);
    }
  });

  t.test("a pull that cannot be fails with a Fault and leaves nothing", async (t) => {
    // Port 1 of loopback: nobody is there.
    const image = "127.0.0.1:1/nobody/nothing:1";
    const request = cri.PullImageRequest.create({ image: { image } });
    await t.rejects(bench.runtime.image.pullImage(request, within(30_000)), { name: "Fault" });
    t.equal((await statusOf(image)).image, undefined);
  });

  t.test("a pulled image is there, and pulling it again is cheap", { skip: bench.lacks("pull") }, async (t) => {
    const image = bench.setup.pullable ?? "";
    const request = cri.PullImageRequest.create({ image: { image } });
    const { imageRef } = await bench.runtime.image.pullImage(request, within(60_000));
    t.ok(imageRef);
    t.ok((await statusOf(image)).image);
    t.ok((await statusOf(imageRef)).image, "by what the pull returned");
    t.equal((await bench.runtime.image.pullImage(request, within(60_000))).imageRef, imageRef);
    const pod = await bench.pod();
    t.equal((await bench.ran(pod, "exit 4", { image: { image: imageRef } })).exitCode, 4);
    await bench.removePod(pod.id);
  });
}
