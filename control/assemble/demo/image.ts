// An image made of this box's own busybox, with the libraries it is linked to, as an archive that the node imports: no registry is needed.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { arch } from "node:os";
import { dirname } from "node:path";
import { packTar, type TarEntry } from "modern-tar";
import { type Call, within } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { run } from "../../../plugins/kit/os/platform/process.ts";

const places = ["/bin/busybox", "/usr/bin/busybox", "/sbin/busybox"];
const architectures: Record<string, string> = { x64: "amd64", arm64: "arm64" };
const applets = [
  "cat",
  "echo",
  "env",
  "head",
  "hostname",
  "httpd",
  "ls",
  "mkdir",
  "nslookup",
  "ps",
  "seq",
  "sh",
  "sleep",
  "wget",
];

export async function demoImage(name: string, call: Call): Promise<Uint8Array> {
  const busybox = places.find((path) => existsSync(path));
  if (!busybox)
    throw new Fault("not-found", "Cannot make the demo's image: there is no busybox (apt-get install busybox-static)");
  const files = new Map([
    ["bin/busybox", busybox],
    ...(await librariesOf(busybox, call)).map((path) => [path.slice(1), path] as const),
  ]);
  const folders = new Set([...files.keys(), "tmp/x"].flatMap((path) => parents(path)));
  const layer = await packTar([
    ...[...folders].map(
      (path): TarEntry => ({
        header: { name: `${path}/`, type: "directory", mode: path === "tmp" ? 0o1777 : 0o755, size: 0 },
      }),
    ),
    ...[...files].map(([path, source]) => file(path, readFileSync(source), 0o755)),
    ...applets.map(
      (applet): TarEntry => ({ header: { name: `bin/${applet}`, type: "symlink", linkname: "busybox", size: 0 } }),
    ),
  ]);
  const config = Buffer.from(
    JSON.stringify({
      architecture: architectures[arch()] ?? arch(),
      os: "linux",
      config: { Cmd: ["sh"], Env: ["PATH=/bin"] },
      rootfs: { type: "layers", diff_ids: [`sha256:${sha256(layer)}`] },
    }),
  );
  const configName = `${sha256(config)}.json`;
  const manifest = [{ Config: configName, RepoTags: [name], Layers: ["layer.tar"] }];
  return packTar([
    file("manifest.json", Buffer.from(JSON.stringify(manifest))),
    file(configName, config),
    file("layer.tar", layer),
  ]);
}

/** Absolute paths of what a dynamically linked program loads; none for a static one. */
async function librariesOf(program: string, call: Call): Promise<string[]> {
  const { code, stdout } = await run("ldd", [program], {}, within(10_000, call)).catch(() => ({ code: 1, stdout: "" }));
  return code === 0 ? [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1] ?? "") : [];
}

function parents(path: string): string[] {
  const above = dirname(path);
  return above === "." ? [] : [...parents(above), above];
}

function file(name: string, body: Uint8Array, mode = 0o644): TarEntry {
  return { header: { name, type: "file", mode, size: body.length }, body };
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
