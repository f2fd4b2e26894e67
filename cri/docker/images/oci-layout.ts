// Older daemons load only what `docker save` writes. An OCI layout lacks one file of that: this writes it, from the layout's own index.

import { Readable } from "node:stream";
import { createTarDecoder, packTar, type ParsedTarEntry } from "modern-tar";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";

interface Descriptor {
  readonly digest: string;
  readonly platform?: { readonly architecture?: string; readonly os?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Document {
  readonly manifests?: readonly Descriptor[];
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[];
}

const smallBytes = 256 * 1024;
const maxHeldBytes = 16 * 1024 * 1024;

/** The missing file as the beginning of an archive, to be sent before the layout itself; undefined where nothing is missing. */
export async function missingManifest(archive: Readable, call: Call): Promise<Uint8Array | undefined> {
  const documents = await readDocuments(archive, call);
  if (!documents) return undefined;
  const index = documents.get("index.json");
  if (!index) throw new Fault("invalid", "it is neither what `docker save` writes nor an OCI layout");
  const images = (index.manifests ?? []).flatMap((descriptor) => savedImage(descriptor, documents));
  if (images.length === 0) throw new Fault("invalid", `it has no image for ${architecture()} processors`);
  const body = Buffer.from(JSON.stringify(images));
  const packed = await packTar([
    { header: { name: "manifest.json", size: body.length, type: "file", mode: 0o644 }, body },
  ]);
  // Header and padded content, without the blocks that would end the archive here.
  return packed.subarray(0, 512 + Math.ceil(body.length / 512) * 512);
}

/** Every small JSON file by its path; undefined as soon as the file of `docker save` is seen. */
async function readDocuments(archive: Readable, call: Call): Promise<Map<string, Document> | undefined> {
  const documents = new Map<string, Document>();
  let heldBytes = 0;
  const entries = (Readable.toWeb(archive) as ReadableStream<Uint8Array>).pipeThrough(createTarDecoder());
  for await (const { header, body } of entries as unknown as AsyncIterable<ParsedTarEntry>) {
    call.signal.throwIfAborted();
    const name = header.name.replace(/^\.\//, "");
    if (name === "manifest.json") return undefined;
    const isWanted = header.type === "file" && header.size <= smallBytes && heldBytes + header.size <= maxHeldBytes;
    if (!isWanted) {
      await body.cancel();
      continue;
    }
    heldBytes += header.size;
    const text = await new Response(body).text();
    if (!text.trimStart().startsWith("{")) continue;
    try {
      documents.set(name, JSON.parse(text) as Document);
    } catch {
      // A small layer may begin with a brace, too.
    }
  }
  return documents;
}

const blobPath = (digest: string) => `blobs/${digest.replace(":", "/")}`;
const architecture = () => (process.arch === "arm64" ? "arm64" : "amd64");

/** An index of platforms is looked into; images of other platforms are left out. */
function savedImage(descriptor: Descriptor, documents: ReadonlyMap<string, Document>): object[] {
  const { platform, annotations = {}, digest } = descriptor;
  if (platform && (platform.os !== "linux" || platform.architecture !== architecture())) return [];
  const document = documents.get(blobPath(digest));
  if (document?.manifests) {
    return document.manifests.flatMap((inner) =>
      savedImage({ ...inner, annotations: { ...annotations, ...inner.annotations } }, documents),
    );
  }
  if (!document?.config || !document.layers) return [];
  const name = annotations["io.containerd.image.name"] ?? annotations["org.opencontainers.image.ref.name"] ?? "";
  return [
    {
      Config: blobPath(document.config.digest),
      // A bare tag names nothing.
      RepoTags: /[/:]/.test(name) ? [name] : [],
      Layers: document.layers.map((layer) => blobPath(layer.digest)),
    },
  ];
}
