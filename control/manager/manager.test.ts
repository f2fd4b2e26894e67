import t from "tap";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../test/harness/controllers.ts";
import { until } from "../../test/harness/until.ts";
import { controllerMetrics } from "./metrics.ts";

t.test("ControllerManager counts what its controllers do, and controllerMetrics() tells it", async (t) => {
  const room = await controllerRoom(t, ["service-account-controller"]);
  await room.create(resources.namespaces, { metadata: { name: "more" } });
  await until("the account", () => room.get(resources.serviceaccounts, "default", "more"));
  const text = controllerMetrics(room.manager);
  t.match(text, /^workqueue_depth\{name="service-account"\} 0$/m);
  t.match(text, /^workqueue_adds_total\{name="service-account"\} [1-9]/m);
  t.match(text, /^workqueue_retries_total\{name="service-account"\} 0$/m);
  t.match(text, /^workqueue_work_duration_seconds_count\{name="service-account"\} [1-9]/m);
});
