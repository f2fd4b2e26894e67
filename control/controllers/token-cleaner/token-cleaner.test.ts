import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

t.test("tokenCleaner() takes expired bootstrap tokens away, and nothing else", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, ["token-cleaner"], { clock });
  const namespace = "kube-system";
  const inSeconds = (seconds: number) => new Date(clock.now() + seconds * 1000).toISOString();
  const secret = (name: string, type: string, expiration: string | undefined) =>
    room.create(resources.secrets, {
      metadata: { name, namespace },
      type,
      data: expiration ? { expiration: Buffer.from(expiration).toString("base64") } : {},
    });
  const token = "bootstrap.kubernetes.io/token";
  await secret("bootstrap-token-aaaaaa", token, inSeconds(-10));
  await secret("bootstrap-token-bbbbbb", token, inSeconds(100));
  await secret("bootstrap-token-cccccc", token, undefined);
  await secret("other", "Opaque", inSeconds(-10));
  const has = (name: string) => room.get(resources.secrets, name, namespace) !== undefined;
  await until("the expired one to go", () => !has("bootstrap-token-aaaaaa"));
  t.ok(has("bootstrap-token-bbbbbb"));
  await until("the next one to go in its time", async () => {
    await clock.advance(10_000);
    return !has("bootstrap-token-bbbbbb");
  });
  t.ok(has("bootstrap-token-cccccc"), "one without an end stays");
  t.ok(has("other"));
});
