import t from "tap";
import type { PodTemplate } from "../pods/pod-control.ts";
import { dataOf, templateOf } from "./template-data.ts";

const template = {
  spec: {
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "own", ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"] } } } },
    ],
    containers: [{ name: "app", image: "web:1", ports: [{ protocol: "TCP", containerPort: 80 }] }],
  },
  metadata: { labels: { b: "2", a: "1" } },
} as unknown as PodTemplate;

t.test("dataOf() writes a template in the bytes that Go programs write", async (t) => {
  t.equal(
    JSON.stringify(dataOf(template)),
    [
      '{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"a":"1","b":"2"}},',
      '"spec":{"containers":[{"image":"web:1","name":"app","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{}}],',
      '"volumes":[{"emptyDir":{},"name":"scratch"},{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},',
      '"spec":{"accessModes":["ReadWriteOnce"],"resources":{}}}},"name":"own"}]}}}}',
    ].join(""),
  );
});

t.test("templateOf() gives it back, also from the form of before", async (t) => {
  const plain = { spec: { template: { ...template, $patch: "replace" } } };
  t.same(dataOf(templateOf(plain)), dataOf(template));
  t.same(dataOf(templateOf(dataOf(template))), dataOf(template));
});
