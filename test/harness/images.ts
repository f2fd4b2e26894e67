// Images for tests, made from what the machine has: no registry, no compiler. One archive is an OCI layout and a
// `docker save` at once, so that ctr, docker load and our own importer all take it.

import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { packTar, type TarEntry } from "modern-tar";
import { holderProgram } from "../../plugins/kit/os/platform/holder-program.ts";
import { imageOf, layerOf, type TestImage as BuiltImage } from "./image-builder.ts";

interface ImageFile {
  readonly path: string;
  readonly data?: Uint8Array | string;
  readonly mode?: number;
  /** A symbolic link to this instead of a file. */
  readonly link?: string;
  readonly uid?: number;
  readonly gid?: number;
}

export interface TestImage {
  /** With registry and tag: `skiff.test/busybox:1`. */
  readonly name: string;
  /** Folders are made by themselves; a path that ends with `/` is an empty folder. */
  readonly files: readonly ImageFile[];
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: readonly string[];
  readonly user?: string;
  readonly workingDir?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly stopSignal?: string;
}

export const pauseImageName = "skiff.test/pause:1";
export const busyboxImageName = "skiff.test/busybox:1";

const platform = { architecture: process.arch === "arm64" ? "arm64" : "amd64", os: "linux" };

/** Holds a sandbox's namespaces: a program of a few dozen bytes that sleeps for ever, and so must be killed. */
export function pauseImage(): TestImage {
  return {
    name: pauseImageName,
    files: [{ path: "pause", data: holderProgram() ?? "", mode: 0o755 }],
    entrypoint: ["/pause"],
    stopSignal: "SIGKILL",
  };
}

/** The machine's static busybox with a link per applet, users `root`, `daemon` (1) and `app` (1000, also in group 2000). */
export function busyboxImage(changes: Partial<TestImage> = {}): TestImage {
  const applets = execFileSync("/bin/busybox", ["--list"], { encoding: "utf8" }).trim().split("\n");
  return {
    name: busyboxImageName,
    cmd: ["sh"],
    env: ["PATH=/bin"],
    ...changes,
    files: [
      { path: "bin/busybox", data: readFileSync("/bin/busybox"), mode: 0o755 },
      ...applets.filter((name) => name !== "busybox").map((name) => ({ path: `bin/${name}`, link: "busybox" })),
      { path: "etc/passwd", data: passwd },
      { path: "etc/group", data: "root:x:0:\ndaemon:x:1:\napp:x:1000:\nextra:x:2000:app\n" },
      { path: "tmp/", mode: 0o1777 },
      { path: "root/", mode: 0o700 },
      ...(changes.files ?? []),
    ],
  };
}

const passwd = [
  "root:x:0:0:root:/root:/bin/sh",
  "daemon:x:1:1:daemon:/:/bin/false",
  "app:x:1000:1000:app:/tmp:/bin/sh",
  "",
].join("\n");

/** The archive of one or more images, to be written to a file ending with `.tar`. */
export async function imageArchive(...images: TestImage[]): Promise<Uint8Array> {
  const blobs = new Map<string, Uint8Array>();
  const add = (data: Uint8Array | string) => {
    const bytes = Buffer.from(data);
    const hex = createHash("sha256").update(bytes).digest("hex");
    blobs.set(`blobs/sha256/${hex}`, bytes);
    return { digest: `sha256:${hex}`, size: bytes.length, path: `blobs/sha256/${hex}` };
  };
  const manifests = [];
  const saved = [];
  for (const image of images) {
    const layer = add(await packTar(layerEntries(image.files)));
    const config = add(JSON.stringify(configOf(image, layer.digest)));
    const manifest = add(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: config.digest, size: config.size },
        layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", digest: layer.digest, size: layer.size }],
      }),
    );
    manifests.push({
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      digest: manifest.digest,
      size: manifest.size,
      platform,
      annotations: {
        "io.containerd.image.name": image.name,
        "org.opencontainers.image.ref.name": image.name.slice(image.name.lastIndexOf(":") + 1),
      },
    });
    saved.push({ Config: config.path, RepoTags: [image.name], Layers: [layer.path] });
  }
  const index = { schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests };
  return packTar([
    file("oci-layout", JSON.stringify({ imageLayoutVersion: "1.0.0" })),
    file("index.json", JSON.stringify(index)),
    file("manifest.json", JSON.stringify(saved)),
    ...[...blobs].map(([path, bytes]) => file(path, bytes)),
  ]);
}

/** The same image for a registry. */
export async function builtImage(image: TestImage): Promise<BuiltImage> {
  return imageOf([layerOf(Buffer.from(await packTar(layerEntries(image.files))))], settingsOf(image));
}

function configOf(image: TestImage, layerDigest: string) {
  return {
    ...platform,
    created: "2026-01-01T00:00:00Z",
    config: settingsOf(image),
    rootfs: { type: "layers", diff_ids: [layerDigest] },
    history: [{ created: "2026-01-01T00:00:00Z", created_by: "skiff tests" }],
  };
}

function settingsOf(image: TestImage) {
  return {
    Entrypoint: image.entrypoint,
    Cmd: image.cmd,
    Env: image.env,
    User: image.user,
    WorkingDir: image.workingDir,
    Labels: image.labels,
    Volumes: image.volumes && Object.fromEntries(image.volumes.map((path) => [path, {}])),
    StopSignal: image.stopSignal,
  };
}

function layerEntries(files: readonly ImageFile[]): TarEntry[] {
  const entries: TarEntry[] = [];
  const folders = new Set<string>();
  const folder = (name: string, mode: number) => {
    if (folders.has(name)) return;
    folders.add(name);
    entries.push({ header: { name, size: 0, type: "directory", mode, mtime } });
  };
  for (const { path, data = "", mode = 0o644, link, uid = 0, gid = 0 } of files) {
    const parents = path.split("/").slice(0, -1);
    if (path.endsWith("/")) folder(path, mode);
    for (const [depth] of parents.entries()) folder(`${parents.slice(0, depth + 1).join("/")}/`, 0o755);
    if (path.endsWith("/")) continue;
    if (link) entries.push({ header: { name: path, size: 0, type: "symlink", linkname: link, mode: 0o777, mtime } });
    else entries.push(file(path, data, { mode, uid, gid }));
  }
  return entries;
}

// A fixed stamp, so that the same content always has the same digest.
const mtime = new Date("2026-01-01T00:00:00Z");

function file(name: string, data: Uint8Array | string, header: Partial<TarEntry["header"]> = {}): TarEntry {
  const body = typeof data === "string" ? Buffer.from(data) : data;
  return { header: { name, size: body.byteLength, type: "file", mode: 0o644, mtime, ...header }, body };
}
