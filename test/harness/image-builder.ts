// Makes container images for tests, byte by byte: tar entries of any kind (hostile ones too), layers, configs, manifests, archives.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync, zstdCompressSync } from "node:zlib";

export interface TestEntry {
  name: string;
  /** ustar type flag: "0" file, "1" hard link, "2" symlink, "3" char, "4" block, "5" folder, "6" FIFO. */
  type?: string;
  content?: string | Uint8Array;
  mode?: number;
  uid?: number;
  gid?: number;
  mtime?: number;
  link?: string;
  major?: number;
  minor?: number;
  /** Pax records, such as `SCHILY.xattr.user.note`. */
  pax?: Record<string, string | Uint8Array>;
  /** A size in the header other than the content's, for broken archives. */
  claimedSize?: number;
}

export function sha256(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function header(entry: Required<Pick<TestEntry, "name" | "type">> & TestEntry, size: number): Buffer {
  const block = Buffer.alloc(512);
  const octal = (value: number, at: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
  block.write(entry.name.slice(0, 100), 0, "utf8");
  octal(entry.mode ?? (entry.type === "5" ? 0o755 : 0o644), 100, 8);
  octal(entry.uid ?? 0, 108, 8);
  octal(entry.gid ?? 0, 116, 8);
  octal(entry.claimedSize ?? size, 124, 12);
  octal(entry.mtime ?? 1_700_000_000, 136, 12);
  block.write(entry.type, 156, "latin1");
  block.write((entry.link ?? "").slice(0, 100), 157, "utf8");
  block.write("ustar\x0000", 257, "latin1");
  octal(entry.major ?? 0, 329, 8);
  octal(entry.minor ?? 0, 337, 8);
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

function paxRecord(key: string, value: string | Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value as Uint8Array), Buffer.from("\n")]);
  let length = body.length + 1;
  while (String(length).length + body.length !== length) length = String(length).length + body.length;
  return Buffer.concat([Buffer.from(String(length)), body]);
}

const padded = (bytes: Uint8Array) => Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);

export function tarOf(entries: readonly TestEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const content = Buffer.from((entry.content ?? "") as Uint8Array);
    const pax = { ...entry.pax };
    if (Buffer.byteLength(entry.name) > 100) pax.path = entry.name;
    if (Buffer.byteLength(entry.link ?? "") > 100) pax.linkpath = entry.link as string;
    if (Object.keys(pax).length > 0) {
      const records = Buffer.concat(Object.entries(pax).map(([key, value]) => paxRecord(key, value)));
      parts.push(header({ name: "pax", type: "x" }, records.length), padded(records));
    }
    parts.push(header({ ...entry, type: entry.type ?? "0" }, content.length), padded(content));
  }
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

export interface TestLayer {
  readonly tar: Buffer;
  readonly diffId: string;
  readonly blob: Buffer;
  readonly digest: string;
  readonly mediaType: string;
}

export function layerOf(
  entries: readonly TestEntry[] | Buffer,
  compression: "gzip" | "zstd" | "none" = "gzip",
): TestLayer {
  const tar = Buffer.isBuffer(entries) ? entries : tarOf(entries);
  const blob = compression === "gzip" ? gzipSync(tar) : compression === "zstd" ? zstdCompressSync(tar) : tar;
  const suffix = compression === "none" ? "" : `+${compression}`;
  const mediaType = `application/vnd.oci.image.layer.v1.tar${suffix}`;
  return { tar, diffId: sha256(tar), blob, digest: sha256(blob), mediaType };
}

export interface TestImage {
  readonly layers: TestLayer[];
  readonly config: Buffer;
  readonly configDigest: string;
  readonly manifest: Buffer;
  readonly digest: string;
}

export function imageOf(
  layers: TestLayer[],
  settings: Record<string, unknown> = {},
  platform: { architecture?: string; variant?: string } = {},
): TestImage {
  const config = Buffer.from(
    JSON.stringify({
      created: "2026-01-01T00:00:00Z",
      os: "linux",
      architecture: platform.architecture ?? (process.arch === "arm64" ? "arm64" : "amd64"),
      ...(platform.variant ? { variant: platform.variant } : {}),
      config: settings,
      rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: sha256(config), size: config.length },
      layers: layers.map(({ mediaType, digest, blob }) => ({ mediaType, digest, size: blob.length })),
    }),
  );
  return { layers, config, configDigest: sha256(config), manifest, digest: sha256(manifest) };
}

/** The entries of a root file system whose every program is the host's static busybox. */
export function busyboxEntries(binary = "/bin/busybox"): TestEntry[] {
  const applets =
    "sh sleep echo cat ls id env printf true false head wc grep ps kill mount hostname touch rm mkdir stat dd nc seq tail date test ip sysctl yes md5sum tr stty tty nslookup wget httpd trap sync find df chmod chown ln mv cp pwd whoami nproc xargs readlink";
  return [
    { name: "bin", type: "5" },
    { name: "bin/busybox", content: readFileSync(binary), mode: 0o755 },
    ...applets.split(" ").map((applet) => ({ name: `bin/${applet}`, type: "2", link: "busybox" })),
    ...["dev", "proc", "sys", "etc", "root", "home", "var"].map((name) => ({ name, type: "5" })),
    { name: "tmp", type: "5", mode: 0o1777 },
    { name: "etc/passwd", content: "root:x:0:0:root:/root:/bin/sh\nweb:x:1000:1001:Web:/home:/bin/sh\n" },
    { name: "etc/group", content: "root:x:0:\nweb:x:1001:\nextra:x:2000:web\nmore:x:2001:web,root\n" },
  ];
}

export function busyboxImage(settings: Record<string, unknown> = {}): TestImage {
  return imageOf([layerOf(busyboxEntries())], { Env: ["PATH=/bin"], Cmd: ["sh"], ...settings });
}

/** As `docker save` writes it. */
export function dockerArchive(image: TestImage, tags: string[]): Buffer {
  const configName = `${image.configDigest.slice(7)}.json`;
  const layerName = ({ diffId }: TestLayer) => `${diffId.slice(7)}/layer.tar`;
  return tarOf([
    { name: configName, content: image.config },
    ...image.layers.map((layer) => ({ name: layerName(layer), content: layer.tar })),
    {
      name: "manifest.json",
      content: JSON.stringify([{ Config: configName, RepoTags: tags, Layers: image.layers.map(layerName) }]),
    },
  ]);
}

/** As an OCI layout in a tar. */
export function ociArchive(image: TestImage, name: string): Buffer {
  const blob = (digest: string, content: Buffer) => ({ name: `blobs/sha256/${digest.slice(7)}`, content });
  const descriptor = {
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    digest: image.digest,
    size: image.manifest.length,
    annotations: { "org.opencontainers.image.ref.name": name },
  };
  return tarOf([
    { name: "oci-layout", content: JSON.stringify({ imageLayoutVersion: "1.0.0" }) },
    { name: "index.json", content: JSON.stringify({ schemaVersion: 2, manifests: [descriptor] }) },
    blob(image.digest, image.manifest),
    blob(image.configDigest, image.config),
    ...image.layers.map((layer) => blob(layer.digest, layer.blob)),
  ]);
}
