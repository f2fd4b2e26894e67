import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

t.test(
  "endpointSliceMirroringController() mirrors hand-written endpoints by family, and stops when it should",
  async (t) => {
    const room = await controllerRoom(t, ["endpointslicemirroring-controller"]);
    const { endpoints, endpointslices } = resources;
    await room.create(resources.services, { metadata: { name: "db" }, spec: { ports: [{ port: 80 }] } });
    await room.create(endpoints, {
      metadata: { name: "db", labels: { team: "a" } },
      subsets: [
        {
          addresses: [{ ip: "192.0.2.7" }, { ip: "2001:db8::7" }],
          notReadyAddresses: [{ ip: "192.0.2.8" }],
          ports: [{ name: "sql", port: 5432, protocol: "TCP" }],
        },
      ],
    });
    const mirrored = () => room.list(endpointslices);
    const slices = await until("both families", () => (mirrored().length === 2 ? mirrored() : undefined));
    const four = slices.find(({ addressType }) => addressType === "IPv4");
    t.match(four, {
      metadata: {
        labels: {
          team: "a",
          "kubernetes.io/service-name": "db",
          "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
        },
        ownerReferences: [{ kind: "Endpoints", name: "db" }],
      },
      ports: [{ name: "sql", port: 5432 }],
    });
    const ready = (one: Json) =>
      Object.fromEntries(one.endpoints.map((each: Json) => [each.addresses[0], each.conditions.ready]));
    t.same(ready(four), { "192.0.2.7": true, "192.0.2.8": false });

    const subsets = [{ addresses: [{ ip: "192.0.2.9" }], ports: [{ name: "sql", port: 5432, protocol: "TCP" }] }];
    await room.patch(endpoints, "db", { subsets });
    await until("the change", () => mirrored().length === 1 && ready(mirrored()[0])["192.0.2.9"] === true);
    const { name } = mirrored()[0]?.metadata ?? {};
    await room.patch(endpoints, "db", { metadata: { labels: { team: "b" } } });
    await until("the new label", () => mirrored()[0]?.metadata.labels.team === "b");
    t.equal(mirrored()[0]?.metadata.name, name, "the slice stays what it is");
    await room.patch(endpoints, "db", { metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } } });
    await until("no slices", () => mirrored().length === 0);
  },
);
