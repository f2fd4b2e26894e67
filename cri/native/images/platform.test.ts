import t from "tap";
import { choosePlatform, hostPlatform } from "./platform.ts";

const entry = (architecture: string, variant?: string) => ({
  mediaType: "",
  digest: `${architecture}${variant ?? ""}`,
  size: 1,
  platform: { os: "linux", architecture, ...(variant ? { variant } : {}) },
});

t.test("choosePlatform() takes the best that the machine can run", async (t) => {
  const all = [entry("amd64"), entry("arm", "v6"), entry("arm", "v7"), entry("arm64"), entry("386")];
  const rows: [arch: string, from: ReturnType<typeof entry>[], chosen: string][] = [
    ["x64", all, "amd64"],
    ["arm64", all, "arm64"],
    ["arm64", [entry("arm", "v6"), entry("arm", "v7")], "armv7"],
    ["arm", [entry("arm", "v6"), entry("arm", "v5"), entry("arm64")], "armv6"],
    ["arm", [entry("arm")], "arm"],
    ["x64", [entry("386"), entry("arm64")], "386"],
  ];
  for (const [arch, from, chosen] of rows) t.equal(choosePlatform(from, hostPlatform(arch), "x").digest, chosen, arch);
});

t.test("choosePlatform() names what the image offers when nothing fits", async (t) => {
  t.throws(() => choosePlatform([entry("arm64"), entry("s390x")], hostPlatform("x64"), "web:1"), {
    code: "not-found",
    message: /web:1 on linux\/amd64: it offers linux\/arm64, linux\/s390x/,
  });
});
