import { decodeProtobuf } from "../../../control/api/protobuf/decode.ts";
import { attempt, check, type Target } from "../target.ts";

const field = (number: number, content: Uint8Array | string): Buffer => {
  const bytes = Buffer.from(content as Uint8Array);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
};

function envelope(apiVersion: string, kind: string, ...parts: Buffer[]): Buffer {
  const type = field(1, Buffer.concat([field(1, apiVersion), field(2, kind)]));
  return Buffer.concat([Buffer.from("k8s\0"), type, field(2, Buffer.concat(parts))]);
}

const meta = field(
  1,
  Buffer.concat([
    field(1, "a"),
    field(3, "ns"),
    field(11, Buffer.concat([field(1, "k"), field(2, "v")])),
    field(14, "f"),
  ]),
);

export const protobuf: Target = {
  name: "protobuf",
  corpus: [
    envelope("v1", "ConfigMap", meta, field(2, Buffer.concat([field(1, "__proto__"), field(2, "x")]))),
    envelope(
      "v1",
      "Pod",
      meta,
      field(2, field(2, Buffer.concat([field(1, "c"), field(2, "i"), field(6, Buffer.from([0x18, 80]))]))),
    ),
    envelope("v1", "Event", meta, field(6, Buffer.from([8, 1, 16, 2])), field(4, "m")),
    envelope("apps/v1", "Deployment", meta, field(2, Buffer.from([8, 3]))),
    envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", meta, field(2, field(1, "g"))),
    envelope(
      "coordination.k8s.io/v1",
      "Lease",
      meta,
      field(2, Buffer.concat([field(1, "h"), Buffer.from([16, 15]), field(4, Buffer.from([8, 1]))])),
    ),
    envelope("v1", "Nothing"),
  ],
  words: [
    "\x0a\0",
    "\x12\x02",
    "\x1a\x7f",
    "\x08\xff\xff\xff\xff\x0f",
    "\x72\0",
    "k8s\0",
    "\x0b",
    "\x0c",
    "\x5a\x04\x0a\0\x12\0",
  ],
  run: (input) =>
    attempt(
      () => decodeProtobuf(input),
      (object) => {
        const size = JSON.stringify(object).length;
        check(size < 4096 + 64 * input.length, `${input.length} bytes become ${size} characters of JSON`);
        return `${String(object["kind"])} ${Object.keys(object).join()}`.slice(0, 80);
      },
    ),
};
