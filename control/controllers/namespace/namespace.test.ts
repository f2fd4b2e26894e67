import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Namespace } from "../../../plugins/kit/kube/objects/types.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";
import { conditionsFor } from "./reconciler.ts";

const namespace = "shop";

t.test("namespaceController() empties a namespace in order, says what holds it, and lets it go", async (t) => {
  let mayGo = false;
  const room = await controllerRoom(t, ["namespace-controller"], { mayGo: () => mayGo });
  await room.create(resources.namespaces, { metadata: { name: namespace } });
  await room.create(resources.customresourcedefinitions, {
    metadata: { name: "boats.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "boats", singular: "boat", kind: "Boat", listKind: "BoatList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  });
  const boats = { group: "example.com", version: "v1", plural: "boats", kind: "Boat", namespaced: true };
  await until("the custom resource", async () => {
    await room.create(boats, { metadata: { namespace, name: "ark", finalizers: ["example.com/keep"] } });
    return true;
  });
  await room.create(resources.configmaps, { metadata: { namespace, name: "settings" } });
  await room.create(resources.pods, { ...podTemplate({}), metadata: { namespace, name: "web" } });
  await until("the pod runs", () => room.get(resources.pods, "web", namespace)?.status?.phase === "Running");

  await room.delete(resources.namespaces, namespace);
  const condition = (type: string) =>
    room.get(resources.namespaces, namespace)?.status?.conditions?.find((one: Json) => one.type === type);
  await until("the pod is told of", () => /pods\. has 1/.test(condition("NamespaceContentRemaining")?.message ?? ""));
  t.ok(room.get(resources.configmaps, "settings", namespace), "what the pod uses stays as long as the pod");
  mayGo = true;
  room.kubelet.lookAgain();
  await until("the finalizer is told of", () => condition("NamespaceFinalizersRemaining")?.status === "True");
  t.match(condition("NamespaceFinalizersRemaining"), {
    reason: "SomeFinalizersRemain",
    message: /example.com\/keep in 1 resource instances/,
  });
  t.notOk(room.get(resources.configmaps, "settings", namespace), "the rest is gone by now");
  await room.patch(boats, "ark", { metadata: { finalizers: null } }, undefined, namespace);
  await until("the namespace to go", () => !room.get(resources.namespaces, namespace));
});

t.test("conditionsFor() keeps the time of a condition whose answer is the same", async (t) => {
  const before = "2026-01-01T00:00:00Z";
  const known = { type: "NamespaceContentRemaining", status: "True", lastTransitionTime: before };
  const object = { metadata: { name: namespace }, status: { conditions: [known] } } as unknown as Namespace;
  const remaining = [{ ref: resources.pods, count: 2, finalizers: new Map() }];
  const rows = conditionsFor(object, remaining, ["secrets: refused"], Date.UTC(2026, 1, 1));
  const find = (type: string) => rows.find((row) => row.type === type);
  t.match(find("NamespaceContentRemaining"), { status: "True", lastTransitionTime: before });
  t.match(find("NamespaceDeletionContentFailure"), { status: "True", message: /secrets: refused/ });
  t.match(find("NamespaceFinalizersRemaining"), { status: "False", lastTransitionTime: "2026-02-01T00:00:00Z" });
});
