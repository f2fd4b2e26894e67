import t from "tap";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { formatReference, parseReference } from "./reference.ts";

const digest = `sha256:${"a".repeat(64)}`;

t.test("parseReference() completes what people leave out", async (t) => {
  const rows: [text: string, full: string][] = [
    ["busybox", "docker.io/library/busybox:latest"],
    ["busybox:1.36", "docker.io/library/busybox:1.36"],
    ["foo/bar", "docker.io/foo/bar:latest"],
    ["index.docker.io/foo/bar", "docker.io/foo/bar:latest"],
    ["registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"],
    ["localhost/x", "localhost/x:latest"],
    ["localhost:5000/x/y:1", "localhost:5000/x/y:1"],
    ["127.0.0.1:5000/a__b-c.d", "127.0.0.1:5000/a__b-c.d:latest"],
    [`busybox@${digest}`, `docker.io/library/busybox@${digest}`],
    [`busybox:1@${digest}`, `docker.io/library/busybox:1@${digest}`],
  ];
  for (const [text, full] of rows) t.equal(formatReference(parseReference(text)), full, text);
});

t.test("parseReference() refuses what is no reference", async (t) => {
  for (const text of ["", "UPPER", "a b", "x:", "x@sha256:1", "../etc", "x/../y", "x:a/b", "host.io/", "a//b", "-x"]) {
    t.throws(() => parseReference(text), { code: "invalid" }, JSON.stringify(text));
    try {
      parseReference(text);
    } catch (error) {
      t.ok(isFault(error, "invalid"));
    }
  }
});
