import t from "tap";
import { PullBoard } from "../../api/pull-board.ts";
import { RemoveImageRequest } from "../../api/gen/runtime.js";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Engine } from "../engine/engine.ts";
import { imageService } from "./image-service.ts";

t.test("removeImage() answers nobody before the image is gone, although the daemon does", async (t) => {
  const removal = Promise.withResolvers<void>();
  let [isThere, asked] = [true, 0];
  const engine = {
    async get() {
      if (!isThere) throw new Fault("not-found", "no such image");
      return { Id: "sha256:1", RepoTags: ["a:1"], RepoDigests: [], Config: {} };
    },
    async call() {
      if (++asked > 1) throw new Fault("not-found", "no such image");
      await removal.promise;
      isThere = false;
    },
  } as unknown as Engine;
  const service = imageService({
    engine,
    info: { now: () => t.fail("not asked") as never },
    clock: new FakeClock(),
    sandboxImage: "pause:1",
    board: new PullBoard(),
  });
  const request = RemoveImageRequest.create({ image: { image: "sha256:1" } });
  const wasThere = Array.from({ length: 3 }, () => service.removeImage(request, uninterrupted).then(() => isThere));
  await new Promise((resolve) => setImmediate(resolve));
  removal.resolve();
  t.same(await Promise.all(wasThere), [false, false, false]);
});
