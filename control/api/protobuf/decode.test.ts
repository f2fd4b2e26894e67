import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import t from "tap";
import { decodeProtobuf } from "./decode.ts";
import { fields } from "./fields.ts";
import { messageById, messageOf } from "./schema.ts";

type Part = (writer: BinaryWriter) => void;
const text =
  (number: number, value: string): Part =>
  (writer) =>
    writer.tag(number, WireType.LengthDelimited).string(value);
const whole =
  (number: number, value: number): Part =>
  (writer) =>
    writer.tag(number, WireType.Varint).int64(value);
const message =
  (number: number, ...parts: Part[]): Part =>
  (writer) => {
    writer.tag(number, WireType.LengthDelimited).fork();
    for (const part of parts) part(writer);
    writer.join();
  };

function envelope(apiVersion: string, kind: string, ...parts: Part[]): Uint8Array {
  const raw = new BinaryWriter();
  for (const part of parts) part(raw);
  const outer = new BinaryWriter();
  message(1, text(1, apiVersion), text(2, kind))(outer);
  outer.tag(2, WireType.LengthDelimited).bytes(raw.finish());
  return Buffer.concat([Buffer.from("k8s\0"), outer.finish()]);
}

t.test("decodeProtobuf() gives the JSON form, without the zero values that Go always writes", async (t) => {
  const deployment = envelope(
    "apps/v1",
    "Deployment",
    message(1, text(1, "web"), text(2, ""), whole(7, 0), message(8), message(11, text(1, "app"), text(2, "web"))),
    message(
      2,
      whole(1, 0),
      whole(5, 0),
      message(
        3,
        message(
          2,
          message(
            2,
            text(1, "c"),
            text(2, "img"),
            message(6, text(1, ""), whole(2, 0), whole(3, 80)),
            message(10, message(1, message(2, text(1, "/"), message(2, whole(1, 1), text(3, "http")))), whole(3, 0)),
          ),
        ),
      ),
    ),
    message(3),
  );
  t.same(decodeProtobuf(deployment), {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", labels: { app: "web" } },
    spec: {
      replicas: 0,
      template: {
        spec: {
          containers: [
            {
              name: "c",
              image: "img",
              ports: [{ containerPort: 80 }],
              livenessProbe: { httpGet: { path: "/", port: "http" } },
            },
          ],
        },
      },
    },
    status: {},
  });
});

t.test("decodeProtobuf() reads bytes, quantities, times and lists in messages", async (t) => {
  const secret = envelope(
    "v1",
    "Secret",
    message(1, text(1, "s"), message(8, whole(1, 1_700_000_000))),
    message(2, text(1, "k"), text(2, "v")),
  );
  t.same(decodeProtobuf(secret), {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s", creationTimestamp: "2023-11-14T22:13:20Z" },
    data: { k: Buffer.from("v").toString("base64") },
  });
  const review = envelope(
    "authorization.k8s.io/v1",
    "SubjectAccessReview",
    message(2, message(5, text(1, "scopes"), message(2, text(1, "a"), text(1, "b")))),
  );
  t.match(decodeProtobuf(review), { spec: { extra: { scopes: ["a", "b"] } } });
  t.match(decodeProtobuf(envelope("policy/v1", "DeleteOptions", whole(1, 0))), {
    kind: "DeleteOptions",
    gracePeriodSeconds: 0,
  });
});

t.test("decodeProtobuf() reads definitions of custom resources with their schemas", async (t) => {
  const truth: Part = (writer) => writer.tag(1, WireType.Varint).bool(true);
  const property = (name: string, ...parts: Part[]) => message(29, text(1, name), message(2, ...parts));
  const schema = message(
    1,
    text(5, "object"),
    property("size", text(5, "integer"), message(8, text(1, "3"))),
    property("list", text(5, "array"), message(24, message(1, text(5, "string")))),
    property("any", text(5, "object"), message(30, truth)),
    message(44, text(1, "self.size > 1"), text(2, "")),
  );
  const version = message(7, text(1, "v1"), message(4, schema), message(5, message(1)));
  const definition = envelope(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    message(2, text(1, "a.b"), version),
  );
  t.match(decodeProtobuf(definition), {
    spec: {
      group: "a.b",
      versions: [
        {
          name: "v1",
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                size: { type: "integer", default: 3 },
                list: { type: "array", items: { type: "string" } },
                any: { additionalProperties: true },
              },
              "x-kubernetes-validations": [{ rule: "self.size > 1" }],
            },
          },
        },
      ],
    },
  });
});

t.test("decodeProtobuf() keeps odd keys as data", async (t) => {
  const map = decodeProtobuf(envelope("v1", "ConfigMap", message(2, text(1, "__proto__"), text(2, "x"))));
  t.equal(JSON.stringify(map.data), '{"__proto__":"x"}');
});

t.test("decodeProtobuf() answers every input with an object or a Fault", async (t) => {
  t.throws(() => decodeProtobuf(Buffer.from("{}")), { code: "invalid" });
  t.throws(() => decodeProtobuf(envelope("example.org/v1", "Widget")), { code: "unsupported" });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom("Pod", "Deployment", "ConfigMap"), (bytes, kind) => {
      const raw = new BinaryWriter();
      message(1, text(1, kind === "Deployment" ? "apps/v1" : "v1"), text(2, kind))(raw);
      raw.tag(2, WireType.LengthDelimited).bytes(bytes);
      try {
        decodeProtobuf(Buffer.concat([Buffer.from("k8s\0"), raw.finish()]));
      } catch (error) {
        return (error as { name: string }).name === "Fault";
      }
      return true;
    }),
  );
});

t.test("decodeProtobuf() takes lists as long as a body can hold", async (t) => {
  // A copy of the list for every element made this take minutes.
  const count = 200_000;
  const finalizers: Part = (writer) => {
    for (let left = count; left > 0; left--) text(14, "a")(writer);
  };
  const { metadata } = decodeProtobuf(envelope("v1", "ConfigMap", message(1, finalizers)));
  t.equal((metadata as { finalizers: string[] }).finalizers.length, count);
});

t.test("messageOf() knows every kind a typed client may send", async (t) => {
  for (const [apiVersion, kind] of [
    ["v1", "Binding"],
    ["policy/v1", "Eviction"],
    ["autoscaling/v1", "Scale"],
    ["authentication.k8s.io/v1", "TokenRequest"],
    ["batch/v1", "CronJob"],
    ["apiregistration.k8s.io/v1", "APIService"],
  ]) {
    t.ok(messageOf(apiVersion ?? "", kind ?? ""), `${kind}`);
  }
});

t.test("every message that a field refers to is there", async (t) => {
  const known = new Set<string>();
  const visit = (id: string, message: ReturnType<typeof messageById>) => {
    t.ok(message, id);
    for (const { type } of message?.values() ?? []) {
      if (type.length === 1 || known.has(type)) continue;
      known.add(type);
      visit(type, messageById(type));
    }
  };
  for (const line of fields
    .trim()
    .split("\n")
    .filter((one) => one.startsWith("="))) {
    const [, home = ""] = line.split(" ");
    const own = fields.slice(fields.indexOf(line) + line.length + 1).split("\n= ")[0] ?? "";
    for (const name of own
      .trim()
      .split("\n")
      .map((one) => one.split(":")[0] ?? ""))
      visit(`${home}.${name}`, messageById(`${home}.${name}`));
  }
});
